"""Messages of conditions: the size of a fault, and whether that is still a fault."""

import re
from collections.abc import Callable
from typing import NamedTuple

from components.making.told import Told
from schemas.facts.site import Site
from schemas.model.accelerators import AcceleratorModel
from schemas.model.remediation import Detector
from schemas.model.site_file import Pool


class Reading(NamedTuple):
    """A message in our words, and whether it is a fault by the new settings; None: unsaid."""

    words: str
    faulty: bool | None


class _Limits(NamedTuple):
    """The settings by which a value is judged."""

    detector: Detector
    cards: int
    record: AcceleratorModel | None


_Judge = Callable[[re.Match[str], _Limits], bool | None]


def reading(site: Site, pool: Pool, fault: str, message: str) -> Reading:
    """The reading of a condition's message by the settings of ``site``. It is empty where the
    message has another form than the checks' own (components/remediation/checks)."""
    settings = site.file.remediation
    known = fault if fault in _TABLE else "others"
    match = _PATTERNS[known].search(message)
    if settings is None or match is None:
        return Reading("", None)
    accelerators = site.profile(pool).accelerators
    record = site.accelerators.get(site.model(pool) or "")
    limits = _Limits(settings.detector, accelerators.count if accelerators else 0, record)
    judge: _Judge | None = globals().get(_TABLE[known].get("judge"))
    words = _TABLE[known]["words"].format(*match.groups())
    return Reading(words, judge(match, limits) if judge else None)


def _missing(match: re.Match[str], limits: _Limits) -> bool | None:
    """The bus is counted first, and the host's command only where that finds all."""
    if int(match[1]) < limits.cards:
        return True
    on_bus = "bus" in match[3]
    return None if on_bus and limits.record and limits.record.health else False


def _too_few_lanes(match: re.Match[str], limits: _Limits) -> bool | None:
    """The message reports the first device with too few lanes; it does not report the others."""
    width = limits.record.pci.link_width if limits.record else None
    return True if width and int(match[2]) < width else None


def _full(match: re.Match[str], limits: _Limits) -> bool | None:
    """The fullest is told, space before inodes."""
    if not _holds(match[1], limits):
        return None
    full = int(match[2]) >= limits.detector.disk_full_percent
    return full or (None if match[3] == "space" else False)


def _blocks_longer(match: re.Match[str], limits: _Limits) -> bool | None:
    """It has been blocked for longer meanwhile."""
    return True if int(match[1]) >= limits.detector.blocked_seconds else None


def _error(match: re.Match[str], limits: _Limits) -> bool | None:
    if int(match[1]) in limits.detector.xids.reboot:
        return True
    return None if match[2] else False


def _read_only(match: re.Match[str], limits: _Limits) -> bool | None:
    return True if _holds(match[1], limits) else None


def _holds(mount: str, limits: _Limits) -> bool:
    """True if a reported file system may be one of a folder that is looked at."""
    return any(f"{each}/".startswith(f"{mount.rstrip('/')}/") for each in limits.detector.disks)


_TABLE = Told(__file__).table("messages")
"""Of each fault: the form of its messages, what is said of them, and how its values are judged."""
_PATTERNS = {fault: re.compile(row["form"]) for fault, row in _TABLE.items()}
