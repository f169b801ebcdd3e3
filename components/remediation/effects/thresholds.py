"""Shifts of checks: whether a change makes a check find more faults than before, or fewer.

Compares the settings of both sides, and not the texts that are made of them: an argument of a
script says nothing of which way is the stricter one. What differs in a check and in no setting
that is listed here is another check: whom it finds, nobody knows.
"""

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from components.remediation.checks import Check, checks
from components.remediation.names import find_pool
from schemas.facts.resets import reset_first
from schemas.facts.site import Site
from schemas.model.accelerators import AcceleratorModel
from schemas.model.remediation import Detector
from schemas.model.site_file import Pool
from schemas.model.vocabulary import Fault


class Shift(NamedTuple):
    """The settings that make a check find ``more``, or ``fewer``; ``other`` may do either.
    ``longer`` lets a condition that is True stay so for longer, and makes none True. ``told``
    changes only a message. Each is a few words: ``bad_after 3 → 1``."""

    more: tuple[str, ...] = ()
    fewer: tuple[str, ...] = ()
    other: tuple[str, ...] = ()
    longer: tuple[str, ...] = ()
    told: tuple[str, ...] = ()


Words = Iterator[tuple[str, str]]
"""Words on settings, each with the field of a Shift that it belongs to."""

_HIGHER = ("good_after", "accelerators of the hardware profile", "gbps of ", "link_width")
"""Numbers (or the beginnings of their names) of which a higher one finds more; of others fewer."""
_DAMPING = ("good_after", "interval_seconds")
"""Settings that, when higher, need more time of good readings until a fault is gone
(components/remediation/checks/settled.sh)."""
_SILENCING = "health.silent_codes"
"""A set of which more makes a check answer unknown (exit code 2) where it was good or bad."""


class _Looked(NamedTuple):
    """How a fault is looked for: settings by their names. ``damping`` is the same for all checks.
    Of ``sets`` a larger one finds more; of ``plain`` ones any other value is another check, and one
    that comes finds more."""

    damping: Mapping[str, int]
    numbers: Mapping[str, int]
    sets: Mapping[str, frozenset[str]]
    plain: Mapping[str, Any]


def shift(before: Site, after: Site, pool: str, fault: str) -> Shift | None:
    """How a check of a pool differs; None where a side does not look for the fault there."""
    sides = [_look(site, pool, fault) for site in (before, after)]
    old, new = sides
    if old is None or new is None:
        return None
    mine = [*_numbers(old.numbers, new.numbers), *_sets(old, new), *_plain(old, new)]
    found = [*_numbers(old.damping, new.damping), *mine]
    more, fewer, other = (
        tuple(word for way, word in found if way == each) for each in ("more", "fewer", "other")
    )
    if not mine and _check(before, pool, fault) != _check(after, pool, fault):
        other = ("list of arguments",)
    told = _message_changes(before, after, pool, fault)
    return Shift(more, fewer, other, _longer(old, new), told)


def _longer(old: _Looked, new: _Looked) -> tuple[str, ...]:
    pairs = ((name, old.damping[name], new.damping[name]) for name in _DAMPING)
    return tuple(f"{name} {was} → {now}" for name, was, now in pairs if now > was)


def _message_changes(before: Site, after: Site, name: str, fault: str) -> tuple[str, ...]:
    """Device taints and resets read from the message what to do, so it is renewed."""
    pools = [(site, find_pool(site, name)) for site in (before, after)]
    if fault == Fault.ACCELERATOR_ERROR:
        was, now = (bool(pool and reset_first(site, pool)) for site, pool in pools)
    elif fault == Fault.PCIE_LINK_DEGRADED:
        was, now = (bool(pool and site.taints_devices(pool)) for site, pool in pools)
    else:
        return ()
    changed = f"the condition's message is {'' if now else 'no longer '}renewed when it changes"
    return (changed,) if was != now else ()


def _numbers(old: Mapping[str, int], new: Mapping[str, int]) -> Words:
    for name, now in new.items():
        was = old.get(name, now)
        if was != now and not (name == "good_after" and now > was):  # that is ``longer``
            yield (
                "more" if (now > was) is name.startswith(_HIGHER) else "fewer",
                f"{name} {was} → {now}",
            )


def _sets(old: _Looked, new: _Looked) -> Words:
    for name, now in new.sets.items():
        was = old.sets.get(name, now)
        grown, shrunk = ("fewer", "more") if name == _SILENCING else ("more", "fewer")
        if now - was:
            yield grown, f"{name} with {', '.join(sorted(now - was))}"
        if was - now:
            yield shrunk, f"{name} without {', '.join(sorted(was - now))}"


def _plain(old: _Looked, new: _Looked) -> Words:
    for name in dict.fromkeys((*old.plain, *new.plain)):
        was, now = old.plain.get(name), new.plain.get(name)
        if was != now:
            yield "more" if was is None else "fewer" if now is None else "other", name


def _check(site: Site, name: str, fault: str) -> Check | None:
    pool = find_pool(site, name)
    found = checks(site, pool) if pool else ()
    check = next((each for each in found if each.fault == fault), None)
    if check and fault == Fault.ACCELERATOR_ERROR:
        # What follows is for the message alone: errors that a reset recovers.
        return check._replace(arguments=check.arguments[:3])
    return check


def _look(site: Site, name: str, fault: str) -> _Looked | None:
    pool, settings = find_pool(site, name), site.file.remediation
    if pool is None or settings is None or fault not in site.faults(pool):
        return None
    detector = settings.detector
    damping = {name: getattr(detector, name) for name in ("bad_after", *_DAMPING)}
    record = site.accelerators.get(site.model(pool) or "")
    own = next((each for each in detector.checks if each.name == fault), None)
    if own:
        numbers = {} if own.threshold is None else {"threshold": own.threshold}
        plain = own.model_dump(include={"command", "root", "timeout_seconds"})
        return _Looked(damping, numbers, {}, {**plain, "kind of answer": own.threshold is None})
    plain = _device_settings(record, fault) if record else {}
    numbers = _own_numbers(site, pool, detector, record).get(fault, {})
    return _Looked(damping, numbers, _own_sets(detector, record, pool).get(fault, {}), plain)


def _own_numbers(
    site: Site, pool: Pool, detector: Detector, record: AcceleratorModel | None
) -> dict[str, dict[str, int]]:
    accelerators = site.profile(pool).accelerators
    count = accelerators.count if accelerators else 0
    width = (record.pci.link_width if record else None) or 0
    missing = {"accelerators of the hardware profile": count}
    if record and record.health:
        missing["health.timeout_seconds"] = record.health.timeout_seconds
    rates = {name: rate for name, (_, rate) in pool.network_devices.links().items()}
    rises = detector.link_errors
    return {
        Fault.FABRIC_DOWN: {name: each for name, each in missing.items() if "health" not in name},
        Fault.NETWORK_LINK_DOWN: {f"gbps of {name}": n for name, n in rates.items()},
        Fault.NETWORK_LINK_ERRORS: {f"link_errors.{n}": m for n, m in rises.items()},
        Fault.ACCELERATOR_MISSING: missing,
        Fault.PCIE_LINK_DEGRADED: {"link_width": width},
        Fault.DISK_FULL: {"disk_full_percent": detector.disk_full_percent},
        Fault.KERNEL_DEADLOCK: {"blocked_seconds": detector.blocked_seconds},
    }


def _own_sets(
    detector: Detector, record: AcceleratorModel | None, pool: Pool
) -> dict[str, dict[str, frozenset[str]]]:
    disks = {"disks": frozenset(detector.disks)}
    xids = frozenset(str(each) for each in detector.xids.reboot)
    messages = frozenset(record.kernel_log if record else ())
    interfaces = {"interfaces": frozenset(pool.network_devices.links())}
    health = record.health if record else None
    codes = {_SILENCING: frozenset(map(str, health.silent_codes))} if health else {}
    return {
        Fault.ACCELERATOR_MISSING: codes,
        Fault.ACCELERATOR_ERROR: {"kernel_log": messages} if messages else {"xids.reboot": xids},
        Fault.NETWORK_LINK_DOWN: interfaces,
        Fault.NETWORK_LINK_ERRORS: {**interfaces, "link_errors": frozenset(detector.link_errors)},
        Fault.DISK_FULL: disks,
        Fault.READ_ONLY_FILESYSTEM: disks,
    }


def _device_settings(record: AcceleratorModel, fault: str) -> dict[str, Any]:
    """How a model's devices are told from other devices, and how a host counts those that work."""
    pci = {"pci": record.pci.model_dump(exclude={"link_width"})}
    if fault == Fault.PCIE_LINK_DEGRADED:
        return pci
    if fault == Fault.FABRIC_DOWN:
        return {"fabric": record.fabric.model_dump() if record.fabric else None}
    if fault != Fault.ACCELERATOR_MISSING:
        return {}
    health = record.health
    apart = {"timeout_seconds", "silent_codes"}
    counted = health.model_dump(exclude=apart) if health else None
    return {**pci, "health": counted}
