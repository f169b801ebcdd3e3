"""The effect of a change on a site that ends, is at its end, or comes back from it.

Rules on fields say what controllers make of objects of a cluster that runs; of one that goes as a
whole, or of which only registered hosts are left, other things are true. Sources are named with
each; how a site ends is foresite/delivery/stack/release.py.
"""

from collections.abc import Iterator
from dataclasses import replace

from components.effects.rules import judge_object
from components.effects.vocabulary import (
    Action,
    Effect,
    Impact,
    Name,
    ObjectChange,
    Side,
    SiteChange,
)
from components.machines.effects import kinds
from components.machines.names import POOL_LABEL, ZONE_LABEL
from components.making.manifest import Target
from components.site import COMPONENTS
from preview.differences import connections
from preview.result import State
from schemas.kubernetes.tables import read_table

CLUSTER: Name = ("machines", "Cluster")
NAMESPACE: Name = ("machines", "Namespace")
_LABELS = (("metadata", "labels", POOL_LABEL), ("metadata", "labels", ZONE_LABEL))
_SAID = read_table(__file__)


def is_decommissioned(side: Side | None) -> bool:
    """True if a side has the site, and it is decommissioned there."""
    return side is not None and side.fleet.decommissioned


def state(site: SiteChange) -> State:
    """The state of the site as a whole."""
    if site.after is None:
        return State.REMOVED if is_decommissioned(site.before) else State.VANISHED
    if site.before is None:
        return State.ADDED
    ends = is_decommissioned(site.after) and not is_decommissioned(site.before)
    return State.DECOMMISSIONED if ends else State.CHANGED


def special(site: SiteChange) -> bool:
    """True if the rules of fields alone would give a wrong verdict."""
    return site.after is None or is_decommissioned(site.before) or is_decommissioned(site.after)


def effects(site: SiteChange) -> Iterator[Effect]:
    """The effects of the change on a site for which :func:`special` holds."""
    if site.after is None:
        said = "over" if is_decommissioned(site.before) else "vanished"
        yield _effect(said, NAMESPACE, Action.LEFT, site.side.fleet.names)
    elif not is_decommissioned(site.after):
        yield from _returning(site)
    elif is_decommissioned(site.before) or site.before is None:
        for change in site.changes.values():
            yield from _registration(site, change)
    else:
        for change in site.changes.values():
            yield from _ending(site, change)


def _ending(site: SiteChange, change: ObjectChange) -> Iterator[Effect]:
    """A site that runs ends."""
    if change.after is not None or change.group_kind == kinds.HOST:
        yield from _registration(site, change)
        return
    gone = Action.DELETED
    context = site.before.fleet.context if site.before else None
    if change.name == CLUSTER:
        yield _effect("ends", change.name, gone, site.sides[0].fleet.names)
    elif not connections.is_applied(context, change.one):
        yield _effect("never_applied", change.name, gone)
    else:
        said = "with_cluster" if change.one.target is Target.SITE else "after_cluster"
        yield _effect(said, change.name, gone)


def _effect(
    said: str,
    name: Name,
    action: Action | None,
    hosts: tuple[str, ...] = (),
    path: tuple[str | int, ...] = (),
) -> Effect:
    """An effect with its words in decommission.toml."""
    row = _SAID[said]
    impact = Impact(row.get("impact", "none"))
    return Effect(impact, name, path, row["why"], row["source"], hosts, action=action)


def _registration(site: SiteChange, change: ObjectChange) -> Iterator[Effect]:
    """A change to the remains of a site: no Machine is there that could notice."""
    hosts = (change.one.key[3],) if change.group_kind == kinds.HOST else ()
    if change.before is not None and change.after is not None:
        moved = [each for each in change.fields if each.path in _LABELS and hosts]
        for each in moved:
            yield _effect("idle", change.name, None, hosts, each.path)
        rest = tuple(each for each in change.fields if each not in moved)
        yield from judge_object(
            COMPONENTS[change.component].effects(), site, change._replace(fields=rest)
        )
    else:
        action = Action.ADDED if change.before is None else Action.DELETED
        said = "registered" if change.before is None else "unregistered"
        yield _effect(said if hosts else "unused", change.name, action, hosts)


def _returning(site: SiteChange) -> Iterator[Effect]:
    """The end is taken back: as a site that is created again, on hosts that are registered."""
    fresh = replace(site, before=None)
    for change in site.changes.values():
        if change.before is not None:
            yield from _registration(site, change)
        elif change.name == CLUSTER:
            yield _effect("back", change.name, Action.ADDED)
        else:
            yield from judge_object(COMPONENTS[change.component].effects(), fresh, change)
