"""Whom a change of an object concerns: the hosts of its pool, of its zone, or of the site."""

import re
from typing import Any

from components.effects.vocabulary import ABSENT, ObjectChange, Path, Side, SiteChange
from components.making.manifest import Manifest
from schemas.model.site_file import Pool

_OF_A_POOL = (
    "MachineDeployment",
    "MachineHealthCheck",
    "Metal3RemediationTemplate",
    "KubeadmConfigTemplate",
    "Metal3DataTemplate",
    "Metal3MachineTemplate",
)
"""Kinds whose logical names say their pool, and their zone where zones are kept apart."""
_WORD = re.compile(r"[A-Za-z][A-Za-z0-9_-]*")


def place(change: ObjectChange) -> tuple[str, str]:
    """The pool and the zone ("" for all) of an object, from ``<kind>/<pool>[/<zone>]``."""
    _, pool, *zone = change.one.name.split("/")
    return pool, zone[0] if zone else ""


def hosts_in(side: Side | None, pool: str, zone: str = "") -> tuple[str, ...]:
    """The hosts of a pool (in one zone) on one side, in the order of the host list."""
    hosts = side.site.by_pool.get(pool, ()) if side else ()
    return tuple(host.name for host in hosts if zone in ("", host.zone))


def members(side: Side | None, change: ObjectChange) -> tuple[str, ...]:
    """The hosts that an object is about on one side; all, where it is about the whole site."""
    if side is None:
        return ()
    if change.kind == "BareMetalHost":
        return (change.one.key[3],) if change.name in side.objects else ()
    if change.kind == "KubeadmControlPlane":
        return hosts_in(side, side.site.control_plane.name)
    if change.kind in _OF_A_POOL:
        return hosts_in(side, *place(change))
    return tuple(host.name for host in side.site.hosts)


def staying(site: SiteChange, change: ObjectChange) -> tuple[str, ...]:
    """The hosts that an object is about on both sides: those that may run a machine of it."""
    later = set(members(site.after, change))
    return tuple(name for name in members(site.before, change) if name in later)


def either(site: SiteChange, change: ObjectChange) -> tuple[str, ...]:
    """The hosts that an object is about on at least one side, the earlier side's first."""
    return tuple(dict.fromkeys((*members(site.before, change), *members(site.after, change))))


def pool_named(side: Side | None, name: str) -> Pool | None:
    """A pool of one side; None where there is none of that name."""
    pools = side.site.file.pools if side else ()
    return next((pool for pool in pools if pool.name == name), None)


def value(manifest: Manifest | None, *steps: str | int) -> Any:
    """What stands at a path of an object; ``ABSENT`` where nothing does."""
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


def capped(hosts: tuple[str, ...], count: int) -> int | None:
    """``count`` where it is less than all the hosts, as an effect's ``at_most`` wants it."""
    return count if count < len(hosts) else None


def dotted(path: Path) -> str:
    """A path for a person: ``spec.files[0].content``; what is no plain word is in brackets."""
    steps = (
        f".{step}" if isinstance(step, str) and _WORD.fullmatch(step) else f"[{step}]"
        for step in path
    )
    return "".join(steps).removeprefix(".")


def many(count: int, what: str) -> str:
    """``1 Machine``, ``2 Machines``."""
    return f"{count} {what}" if count == 1 else f"{count} {what}s"
