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

CLUSTER: Name = ("machines", "Cluster")
NAMESPACE: Name = ("machines", "Namespace")
_CAPI = "Cluster API 1.13.6, internal/controllers"
_ENDING = (
    f"{_CAPI}/cluster/cluster_controller.go (reconcileDelete), machine/machine_controller.go "
    "(isDeleteNodeAllowed); CAPM3 1.13.2, baremetal/metal3machine_manager.go (Delete)"
)
_ENDS = (
    "with the Cluster all its Machines are deleted at once, without a drain: Cluster API drains no "
    "node of a cluster that is deleted; each host is wiped, stays registered, and is powered off "
    "(unless CAPM3 runs with CAPM3_FAST_TRACK)"
)
_WITH_CLUSTER = (
    "it is not deleted by itself: it goes with the disks of the site's own cluster, and Pulumi "
    "forgets it"
)
_AFTER_CLUSTER = "it goes after the Cluster, with whose end nothing needs it any more"
_UP = "foresite, foresite/delivery/stack/release.py"
_LABELS = (("metadata", "labels", POOL_LABEL), ("metadata", "labels", ZONE_LABEL))
_VANISHED = (
    "the site's file is gone, and the site was not decommissioned: it is applied no more, and "
    "nothing is deleted; its machines and objects stay as they are, and no tool manages them"
)
_OVER = (
    "the site was decommissioned before: its file is of no more use; nothing is deleted, its hosts "
    "stay registered until a person runs pulumi destroy"
)
_BACK = (
    "the Cluster is created again, and hosts that are registered are installed for it; if the end "
    "was never applied, they run on as they are"
)
_IDLE = "no Machine has the host: its site is decommissioned"
_METAL = "BMO v0.13.2, internal/controller/metal3.io/host_state_machine.go"


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
        why = _OVER if is_decommissioned(site.before) else _VANISHED
        hosts = site.side.fleet.names
        yield Effect(Impact.NONE, NAMESPACE, (), why, "foresite", hosts, action=Action.LEFT)
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
        hosts = site.sides[0].fleet.names
        yield Effect(Impact.REMOVE, change.name, (), _ENDS, _ENDING, hosts, action=gone)
        return
    why = _WITH_CLUSTER if change.one.target is Target.SITE else _AFTER_CLUSTER
    if not connections.is_applied(context, change.one):
        why = "it was never applied: cluster.context names no cluster to apply it to"
    yield Effect(Impact.NONE, change.name, (), why, _UP, action=gone)


def _registration(site: SiteChange, change: ObjectChange) -> Iterator[Effect]:
    """A change to the remains of a site: no Machine is there that could notice."""
    hosts = (change.one.key[3],) if change.group_kind == kinds.HOST else ()
    if change.before is not None and change.after is not None:
        moved = [each for each in change.fields if each.path in _LABELS and hosts]
        for each in moved:
            yield Effect(Impact.NONE, change.name, each.path, _IDLE, _METAL, hosts)
        rest = tuple(each for each in change.fields if each not in moved)
        yield from judge_object(
            COMPONENTS[change.component].effects(), site, change._replace(fields=rest)
        )
    elif not hosts:
        why = "nothing of a site that is decommissioned runs on it"
        action = Action.ADDED if change.before is None else Action.DELETED
        yield Effect(Impact.NONE, change.name, (), why, _UP, action=action)
    elif change.before is None:
        why = f"the host is registered and powered on for an inspection; {_IDLE}"
        yield Effect(Impact.NONE, change.name, (), why, _METAL, hosts, action=Action.ADDED)
    else:
        why = f"the host is wiped, powered off and no longer registered; {_IDLE} any more"
        yield Effect(Impact.REMOVE, change.name, (), why, _METAL, hosts, action=Action.DELETED)


def _returning(site: SiteChange) -> Iterator[Effect]:
    """The end is taken back: as a site that is created again, on hosts that are registered."""
    fresh = replace(site, before=None)
    for change in site.changes.values():
        if change.before is not None:
            yield from _registration(site, change)
        elif change.name == CLUSTER:
            why, added = _BACK, Action.ADDED
            yield Effect(Impact.NONE, change.name, (), why, _ENDING, action=added)
        else:
            yield from judge_object(COMPONENTS[change.component].effects(), fresh, change)
