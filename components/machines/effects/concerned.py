"""Whom a change of an object concerns: the hosts of its pool, of its zone, or of the site."""

import re
from typing import Any

from components.effects import ABSENT, ObjectChange, Path, Side, SiteChange
from components.effects.fleet import Group
from components.machines.effects import kinds
from components.making.manifest import Manifest

_WORD = re.compile(r"[A-Za-z][A-Za-z0-9_-]*")


def groups(side: Side | None, change: ObjectChange) -> tuple[Group, ...]:
    """The groups of machines on one side that an object makes, looks after or is a template of."""
    return side.fleet.about.get(change.name, ()) if side else ()


def members(side: Side | None, change: ObjectChange) -> tuple[str, ...]:
    """The hosts that an object is about on one side; all, where it is about the whole site."""
    if side is None:
        return ()
    if change.group_kind == kinds.HOST:
        return (change.one.key[3],) if change.name in side.objects else ()
    if change.group_kind not in kinds.OF_GROUPS:
        return side.fleet.names
    found = groups(side, change)
    if len(found) == 1:
        return tuple(host.name for host in found[0].hosts)
    mine = {host.name for group in found for host in group.hosts}
    return tuple(name for name in side.fleet.names if name in mine)


def staying(site: SiteChange, change: ObjectChange) -> tuple[str, ...]:
    """The hosts that an object is about on both sides: those that may run a machine of it."""
    later = set(members(site.after, change))
    return tuple(name for name in members(site.before, change) if name in later)


def either(site: SiteChange, change: ObjectChange) -> tuple[str, ...]:
    """The hosts that an object is about on at least one side, the earlier side's first."""
    return tuple(dict.fromkeys((*members(site.before, change), *members(site.after, change))))


def value(manifest: Manifest | None, *steps: str | int) -> Any:
    """The value at a path of an object; ``ABSENT`` where there is none."""
    found: Any = manifest.body if manifest else ABSENT
    for step in steps:
        if isinstance(found, dict):
            found = found.get(step, ABSENT)
        elif isinstance(found, list) and isinstance(step, int) and step < len(found):
            found = found[step]
        else:
            return ABSENT
    return found


def number(manifest: Manifest | None, *steps: str | int) -> int:
    """The whole number at a path; 0 where there is none."""
    found = value(manifest, *steps)
    return found if isinstance(found, int) else 0


def limit_below(hosts: tuple[str, ...], count: int) -> int | None:
    """``count`` where it is less than all the hosts, as an effect's ``at_most`` wants it."""
    return count if count < len(hosts) else None


def format_path(path: Path) -> str:
    """A path for a person: ``spec.files[0].content``; steps that are no plain word in brackets."""
    plain = (isinstance(step, str) and _WORD.fullmatch(step) for step in path)
    steps = (f".{step}" if word else f"[{step}]" for step, word in zip(path, plain, strict=True))
    return "".join(steps).removeprefix(".")


def many(count: int, what: str) -> str:
    """``1 Machine``, ``2 Machines``."""
    return f"{count} {what}" if count == 1 else f"{count} {what}s"
