"""How many machines a group has: who is added, and who may lose its machine. Which Machine goes is
Cluster API's choice, whichever host left the list. A host that another group finds from now on
keeps its Machine until that goes: one of the ways in which its group may give one up, and none
besides."""

from collections.abc import Iterable
from typing import NamedTuple

from components.effects import Action, Effect, FieldChange, Impact, Name, ObjectChange, SiteChange
from components.effects.applying import effect
from components.effects.fleet import Group
from components.machines.effects import kinds
from components.machines.effects.concerned import (
    either,
    groups,
    limit_below,
    many,
    members,
    number,
    staying,
    value,
)
from components.machines.effects.versions import hold
from components.making.told import Told

TOLD = Told(__file__)
DELETE_MACHINE = "cluster.x-k8s.io/delete-machine"
CHOSEN_HOST = "CAPM3 v1.13.2, baremetal/metal3machine_manager.go"
"""chooseHost: at random among the free hosts that the selector admits."""
Hosts = tuple[str, ...]


class Departures(NamedTuple):
    """The hosts that a group of machines has before: ``stay`` in it, ``moved`` to other groups (by
    the name of their object), or are ``gone`` from the list. Those that go out are none of these:
    their own rule (hosts.py) says what becomes of them."""

    stay: Hosts
    moved: dict[Name, list[str]]
    gone: Hosts


def departures(site: SiteChange, change: ObjectChange) -> Departures:
    """The way of each host that an object's machines may be on before."""
    stay, moved, gone = set(staying(site, change)), dict[Name, list[str]](), list[str]()
    owners = site.after.fleet.group_of_host if site.after else {}
    out = site.after.fleet.out if site.after else frozenset()
    for name in members(site.before, change):
        if name not in stay and name in owners:
            moved.setdefault(owners[name].owner, []).append(name)
        elif name not in stay and name not in out:
            gone.append(name)
    return Departures(staying(site, change), moved, tuple(gone))


def former_group(site: SiteChange, owner: Name) -> Group | None:
    """The group of machines that an object had before."""
    return site.before.fleet.group_of_owner.get(owner) if site.before else None


class Room(NamedTuple):
    """The hosts that a group's new Machines may take at once: those of each part, and how many of
    them are free at most. ``wanted`` are the new Machines, ``waiting`` those without a host."""

    wanted: int
    parts: tuple[tuple[Hosts, int], ...]

    @property
    def waiting(self) -> int:
        """The new Machines that wait until another group frees a host."""
        return max(0, self.wanted - sum(free for _, free in self.parts[:2]))


def room(site: SiteChange, group: Group) -> Room:
    """The hosts for a group's new Machines: lines that are new, spares that stay in the group, and
    hosts of other groups that may be spares there. While versions differ none is made."""
    former = former_group(site, group.owner)
    mine = {host.name for host in former.hosts} if former else set()
    sources = site.before.fleet.group_of_host if site.before else {}
    names = [host.name for host in group.hosts]
    new = tuple(name for name in names if name not in sources)
    stay = tuple(name for name in names if name in mine)
    moved = tuple(name for name in names if name in sources and name not in mine)
    spares = 0
    for source in {sources[name].owner: sources[name] for name in moved}.values():
        leave = sum(sources[name].owner == source.owner for name in moved)
        spares += min(leave, max(0, len(source.hosts) - source.replicas))
    free = max(0, len(former.hosts) - former.replicas) if former else 0
    wanted = max(0, group.replicas - (former.replicas if former else 0))
    change = site.changes.get(group.owner)
    held = hold(site, change) if change and change.group_kind == kinds.DEPLOYMENT else None
    if held and (held.refused or held.stuck):
        wanted = 0
    return Room(wanted, ((new, len(new)), (stay, min(free, len(stay))), (moved, spares)))


def replica_change(
    chosen: str, source: str, site: SiteChange, change: ObjectChange, field: FieldChange,
    *, rolls: bool = False,
) -> Iterable[Effect]:  # fmt: skip
    """The effect of another number of machines; ``chosen`` gives the pace and the choice of
    machines, ``rolls`` says that all of them are replaced by the same change."""
    was, now = (value(each, "spec", "replicas") for each in change.both)
    if not isinstance(was, int) or not isinstance(now, int):
        why = f"replicas go from {was} to {now}, and what follows is not known"
        yield effect(change, field, Impact.UNKNOWN, why, source, hosts=either(site, change))
    elif now < was:
        go = f"{many(was - now, 'Machine')} to delete, {chosen}"
        base = effect(change, field, Impact.REMOVE, go, source)
        yield from _fewer(site, change, base, rolls=rolls)
    else:
        why = f"replicas go from {was} to {now}: {many(now - was, 'Machine')} more"
        base = effect(change, field, Impact.ADD, why, source)
        for group in groups(site.after, change):
            yield from arrivals(site, group, base)


def _fewer(
    site: SiteChange, change: ObjectChange, base: Effect, *, rolls: bool
) -> Iterable[Effect]:
    was, now = (number(each, "spec", "replicas") for each in change.both)
    stay, moved, gone = departures(site, change)
    why = f"replicas go from {was} to {now}: {base.why}"
    out = len(members(site.before, change)) - len(stay) - len(gone) - sum(map(len, moved.values()))
    go, hosts = max(0, was - now - out), stay or gone
    if rolls:
        # All are replaced: lost are those whose new Machines are on hosts that go, or never made.
        go, moved = max(0, min(was, len(stay)) - max(0, now - len(gone))), {}
    leave = len(gone) + sum(map(len, moved.values()))
    if leave and stay:
        why += TOLD.say("chosen", leave=leave, mark=DELETE_MACHINE)
    if any(each.domain for each in groups(site.before, change)):
        why += TOLD.say("racks")
    # A Machine that goes may be on a host that leaves: then all others stay.
    most = min(go, len(hosts)) if leave and stay else limit_below(hosts, go)
    if out:
        why += TOLD.say("out", out=out)
        yield from () if go else (base._replace(impact=Impact.NONE, why=why),)
    if go and hosts:
        together = go if moved else None
        yield base._replace(why=why, hosts=hosts, at_most=most, together=together)
    for owner, names in moved.items():
        yield _move(site, owner, tuple(names), base, go)


def _move(site: SiteChange, owner: Name, names: Hosts, base: Effect, go: int) -> Effect:
    """The other way: a Machine that goes is on a host that another group finds from now on."""
    joins, most = site.side.fleet.group_of_owner[owner], min(go, len(names))
    again = most <= room(site, joins).waiting
    title = group_title(joins)
    why = TOLD.say("moves" if again else "moves_in_vain", title=title)
    why += f"; mark its Machine with {DELETE_MACHINE} before to choose it"
    impact = Impact.REIMAGE if again else Impact.REMOVE
    found = base._replace(impact=impact, why=why, source=f"{base.source}; {CHOSEN_HOST}")
    return found._replace(hosts=names, at_most=most, together=max(go, most))


def group_title(group: Group) -> str:
    """A group of machines for a person."""
    return f"pool {group.pool}" + (f" in zone {group.zone}" if group.zone else "")


def arrivals(site: SiteChange, group: Group, base: Effect) -> Iterable[Effect]:
    """New Machines of a group, each on a free host: on which, and how many of them at most."""
    found = room(site, group)
    parts = [(hosts, min(free, found.wanted)) for hosts, free in found.parts if hosts and free]
    free = sum(most for _, most in parts)
    why = f"{base.why}, each on a free host of the pool, which is installed and joins"
    if waits := max(0, found.wanted - free):
        machines, title = many(waits, "Machine"), group_title(group)
        why = TOLD.say("waits", why=base.why, machines=machines, group=title)
        why += TOLD.say("others", group=title) if _keeps_machines(site, group) else ""
    if not parts:
        action = base.action if base.action is not Action.REFUSED else None
        yield base._replace(impact=Impact.NONE, why=why, action=action)
    for hosts, most in parts:
        together = found.wanted if free > found.wanted and len(parts) > 1 else None
        at_most = None if most == len(hosts) and free <= found.wanted else most
        yield base._replace(why=why, hosts=hosts, at_most=at_most, together=together)


def _keeps_machines(site: SiteChange, group: Group) -> bool:
    """True if hosts come to a group from one that stays, and that chooses which Machines go."""
    sources = site.before.fleet.group_of_host if site.before else {}
    there = {each.owner for each in site.side.fleet.groups if each.owner != group.owner}
    return any(sources[h.name].owner in there for h in group.hosts if h.name in sources)


def staying_machines(site: SiteChange, change: ObjectChange) -> tuple[Hosts, int | None]:
    """The hosts that may run a machine on both sides, and the most that do: spares do not, and a
    surplus machine is not replaced."""
    hosts = staying(site, change)
    return hosts, limit_below(hosts, min(number(each, "spec", "replicas") for each in change.both))
