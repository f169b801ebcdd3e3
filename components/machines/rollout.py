"""How long a pool's rollout takes, what is out meanwhile, and whether it can make progress, by a
MachineDeployment's or KubeadmControlPlane's settings (schemas/facts/rollout.py) and the Bare Metal
Operator's own limit (installation.py)."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from math import ceil

from components.effects.fleet import Fleet, Group, Pace
from components.effects.vocabulary import Effect, Impact, Ledger, Name, PoolPlan, SiteChange
from components.machines.effects import kinds
from components.machines.effects.concerned import value
from components.machines.effects.scale import former_group, room
from components.machines.effects.versions import control_plane, hold, parse_version
from components.making.manifest import Manifest
from components.making.told import Told
from schemas.facts.rollout import DEFAULTS, Limits, Waves, control_plane_limits, missing, waves

TOLD = Told(__file__)
_MACHINES = (kinds.DEPLOYMENT, kinds.CONTROL_PLANE)
"""Kinds whose objects make machines."""


def plans(site: SiteChange, effects: Iterable[Effect]) -> tuple[PoolPlan, ...]:
    """The plan of each pool (and zone) whose machines are replaced."""
    effects = [*effects]
    rolled = dict.fromkeys(each.name for each in effects if _replaces(site, each))
    evicted = {each.name for each in effects if each.impact is Impact.DRAIN}
    about, objects = site.side.fleet.about, site.side.objects
    found = [
        _plan(site, group, objects[name], evicted=name in evicted)
        for name in rolled
        if name in objects
        for group in about.get(name, ())
    ]
    first = next((plan for plan in found if plan.control_plane), None)
    if first is None or not _upgrades(site):
        return tuple(_note_limit(found, found))
    hours, drains = first.hours, first.drain_hours
    after = [
        plan if plan is first else plan._replace(wait_hours=hours, wait_drain_hours=drains)
        for plan in found
    ]
    return tuple(_note_limit(after, [plan for plan in after if plan is not first]))


def _note_limit(found: Iterable[PoolPlan], together: Sequence[PoolPlan]) -> Iterator[PoolPlan]:
    """The plans; those carried out ``together`` have a note where they have more machines at a time
    than the operator provisions."""
    moving = [plan for plan in together if plan.at_once]
    limit = min((plan.limit for plan in moving), default=0)
    note = f"the Bare Metal Operator provisions {limit} hosts at a time"
    if len(moving) > 1:
        note += ", over all pools: they wait for each other, and may take longer than each alone"
    crowded = sum(plan.at_once for plan in moving) > limit
    for plan in found:
        noted = crowded and plan in moving
        yield plan._replace(notes=(*plan.notes, note)) if noted else plan


def _upgrades(site: SiteChange) -> bool:
    """True if the control plane gets a newer version: no worker machine is made meanwhile."""
    sides = (control_plane(site.before), control_plane(site.after))
    was, now = (parse_version(value(each, "spec", "version")) for each in sides)
    return bool(was) and now > was


def _replaces(site: SiteChange, effect: Effect) -> bool:
    """True if machines of the effect's object are replaced: in waves, or all at once where it is
    new and its hosts run machines of other objects."""
    name, change = effect.name, site.changes.get(effect.name)
    found = [side.objects[name] for side in site.sides if name in side.objects]
    if effect.waits or not found or found[-1].group_kind not in _MACHINES:
        return False
    if change and change.before is None and site.before:
        return any(room(site, group).waiting for group in site.side.fleet.about.get(name, ()))
    # Where none is made again (a minor version apart) machines are removed.
    impacts = (Impact.REIMAGE, Impact.REMOVE)
    return effect.impact in impacts and effect.path[-1:] != ("replicas",)


def _plan(site: SiteChange, group: Group, manifest: Manifest, *, evicted: bool) -> PoolPlan:
    """A group's plan; ``evicted``: pods of all its machines are at once, whatever its pace."""
    spec, pace = manifest.body["spec"], group.pace
    machines, former = spec["replicas"], former_group(site, group.owner)
    if former is None:
        # A new object: none of its machines waits for another of them.
        machines = room(site, group).waiting if site.before else machines
        found, there, out = Waves(machines, machines, 1 if machines else 0), machines, machines
    else:
        found = waves(machines, *limits(manifest), max(0, len(group.hosts) - machines))
        there = former.replicas
        out = missing(there, machines, found.out)
    model, each = _source(site, group).accelerators
    # A lower limit may hold already, and a higher one counts after the operator's next restart.
    limit = min(side.fleet.at_once for side in site.sides)
    hours, drain = _hours(found, machines, pace, limit)
    notes = [TOLD.say("drain", seconds=pace.drain_seconds)] if found.groups else []
    gone = there if evicted else out
    plan = PoolPlan(
        pool=group.pool,
        zone=group.zone,
        machines=machines,
        at_once=found.at_once,
        surge=found.at_once - found.out,
        waves=found.groups,
        hours=hours,
        drain_hours=drain,
        out=Ledger(model, there, there * each, gone, gone * each),
        stuck=found.stuck or "; ".join(_obstacles(site, group, manifest)),
        control_plane=group.control_plane,
        limit=limit,
    )
    notes += [TOLD.say("evicted")] if evicted else []
    return plan._replace(notes=(*notes, *_domains(group, plan)))


def _source(site: SiteChange, group: Group) -> Group:
    """The group whose machines a plan takes out: itself, or where it is new another's."""
    before = site.before.fleet.group_of_host if site.before else {}
    former = former_group(site, group.owner)
    return former or next((before[h.name] for h in group.hosts if h.name in before), group)


def duration(manifest: Manifest, group: Group, machines: int, limit: int) -> tuple[float, float]:
    """The hours that ``machines`` of a group take to be replaced, ``limit`` at a time on the
    management cluster, and the hours that drains may add."""
    spares = max(0, len(group.hosts) - group.replicas)
    return _hours(waves(machines, *limits(manifest), spares), machines, group.pace, limit)


def _hours(found: Waves, machines: int, pace: Pace, limit: int) -> tuple[float, float]:
    turns = max(found.groups, ceil(machines / limit)) if found.groups else 0
    return turns * pace.install_minutes / 60, pace.drain_seconds * found.groups / 3600


def limits(manifest: Manifest) -> Limits:
    """The limits that an object sets, or means where it sets none."""
    spec, kind = manifest.body["spec"], manifest.kind
    strategy = spec.get("rollout", {}).get("strategy", {}).get("rollingUpdate", {})
    meant = DEFAULTS[kind]
    surge = ceil(_share(strategy.get("maxSurge", meant.surge), spec["replicas"]))
    if kind == "KubeadmControlPlane":
        return control_plane_limits(surge)
    out = _share(strategy.get("maxUnavailable", meant.unavailable), spec["replicas"])
    return Limits(int(out), surge)


def _share(value: int | str, of: int) -> float:
    """A number, or a percentage of another one, which the object of an adopted site may have."""
    return int(value[:-1]) * of / 100 if isinstance(value, str) else value


def _obstacles(site: SiteChange, group: Group, manifest: Manifest) -> Iterator[str]:
    """The obstacles that keep a rollout from ending, besides its own settings."""
    spec, pace = manifest.body["spec"], group.pace
    hosts, taken = len(group.hosts), _moved_hosts(site, group)
    if hosts < spec["replicas"]:
        yield f"{spec['replicas']} machines are wanted, and the pool has {hosts} hosts"
    elif hosts - taken < spec["replicas"]:
        yield TOLD.say("kept", wanted=spec["replicas"], hosts=hosts, taken=taken)
    control = control_plane(site.side)
    if not group.control_plane and control is not None:
        mine, its = spec["template"]["spec"].get("version"), control.body["spec"]["version"]
        if mine and parse_version(mine)[:2] != parse_version(its)[:2]:
            yield TOLD.say("versions", mine=mine, its=its)
    if 0 < pace.startup_seconds < 60 * pace.install_minutes:
        yield TOLD.say("too_short", startup=pace.startup_seconds, install=pace.install_minutes)


def _moved_hosts(site: SiteChange, group: Group) -> int:
    """Hosts that came from another group, which has as many machines as before and keeps them."""
    if site.before is None:
        return 0
    sources, now = site.before.fleet.group_of_host, site.side.fleet.groups
    kept = {each.owner: each.replicas for each in now if each.owner != group.owner}
    former = (sources.get(host.name, group) for host in group.hosts)
    return sum(kept.get(each.owner, -1) >= each.replicas for each in former)


def _domains(group: Group, plan: PoolPlan) -> Iterator[str]:
    """The NVLink domains that a rollout breaks, and those that are whole at its worst moment.

    Machines are deleted by name (Cluster API v1.13.6, machineset_deletion_order.go), and names say
    nothing of racks: each machine that is out may be of another rack. So may each spare, and a
    machine that gets a spare instead of its host leaves its rack for good.
    """
    taken = max(plan.out.hosts_out, plan.at_once)
    if not (group.domain and taken):
        return
    sizes = Counter(dict(host.labels).get(group.domain, "") for host in group.hosts)
    count = len(sizes)
    whole = sorted(sizes.values())[: max(0, count - taken - len(group.hosts) + group.replicas)]
    each = " and ".join(f"{size} of {size}" for size in sorted({*whole}))
    keep = f"{len(whole)} keep{'s' * (len(whole) == 1)} {each}"
    kept = keep if whole else "none surely keeps all its"
    yield TOLD.say("racks", count=count, s="s" * (count > 1), kept=kept)
    if count > 1 and taken < group.replicas:
        yield TOLD.say("by_name", taken=min(taken, count), count=count)


_OUT = (Impact.REMOVE, Impact.UNKNOWN, Impact.REBOOT, Impact.DRAIN)


def capacity(
    site: SiteChange, effects: Iterable[Effect], rollouts: Iterable[PoolPlan]
) -> tuple[Ledger, ...]:
    """Hosts and accelerators of each model, and what is out when all pools are at their worst: by
    rollouts and operators, by removal, and of hosts of which nothing is known. No spares count."""
    fleet = site.sides[0].fleet
    gone = [each for each in effects if each.impact in _OUT]
    owners = {group.owner for group in fleet.groups}
    found = {(group.pool, group.zone): group.owner for group in site.side.fleet.groups}
    short = _machines_out(site, rollouts, found)
    # The machines that groups give up or replace are counted; what else takes hosts out comes to
    # them.
    apart = (Impact.UNKNOWN, Impact.DRAIN)
    lost = [e for e in gone if e.at_once is None and (e.name not in owners or e.impact in apart)]
    certain = {host for each in lost if each.at_most is None for host in each.hosts}
    out = dict.fromkeys(fleet.pools, 0)
    for group in fleet.groups:
        number = short.get(group.owner, 0) + sum(host.name in certain for host in group.hosts)
        out[group.pool] += min(group.replicas, number)
    for each in lost:
        pool = next((h.pool for h in fleet.hosts if h.name in each.hosts), "")
        if each.at_most is not None and pool in out:
            out[pool] += each.at_most
    for (pool, _), number in _operator_pace(fleet, gone).items():
        out[pool] += number
    return tuple(_ledgers(fleet, out))


def _machines_out(
    site: SiteChange, rollouts: Iterable[PoolPlan], owners: Mapping[tuple[str, str], Name]
) -> dict[Name, int]:
    """How many machines each object lacks at the worst moment of those that it has before."""
    found = {owners[plan.pool, plan.zone]: plan.out.hosts_out for plan in rollouts}
    now = {group.owner: group.replicas for group in site.after.fleet.groups} if site.after else {}
    for group in site.sides[0].fleet.groups:
        change = site.changes.get(group.owner)
        held = hold(site, change) if change and change.group_kind == kinds.DEPLOYMENT else None
        if change and group.owner not in found and not (held and held.refused):
            hosts_out = sum(host.name in site.side.fleet.out for host in group.hosts)
            fewer = group.replicas - now.get(group.owner, 0)
            found[group.owner] = max(0, fewer - hosts_out)  # the hosts themselves count
    return found


def _operator_pace(fleet: Fleet, effects: Iterable[Effect]) -> dict[tuple[str, str], int]:
    """The hosts of each pool that a component's operator takes out at a time, whatever its work;
    operators do not look at each other's."""
    found: dict[tuple[str, str], int] = {}
    pools = {host.name: host.pool for host in fleet.hosts}
    for each in effects:
        if each.at_once is None:
            continue
        for pool, count in Counter(pools[name] for name in each.hosts if name in pools).items():
            key = pool, each.name[0]
            found[key] = max(found.get(key, 0), min(each.at_once, count))
    return found


def _ledgers(fleet: Fleet, out: dict[str, int]) -> Iterable[Ledger]:
    totals: dict[str, Ledger] = {}
    for pool, groups in fleet.pools.items():
        model, each = groups[0].accelerators
        hosts = sum(group.replicas for group in groups)
        missing = min(out[pool], hosts)
        row = Ledger(model, hosts, hosts * each, missing, missing * each)
        totals[model] = add_ledgers(row, totals[model]) if model in totals else row
    return (totals[model] for model in sorted(totals))


def add_ledgers(one: Ledger, other: Ledger) -> Ledger:
    """Both ledgers of a model as one."""
    return Ledger(one.model, *map(sum, zip(one[1:], other[1:], strict=True)))


def full_minutes(fleet: Fleet, objects: Mapping[str, Iterable[Manifest]]) -> int:
    """The minutes in which all machines of a site are replaced, with drains, a pool after the
    other; 0 for one that ends."""
    made = {(place, each.name): each for place, group in objects.items() for each in group}
    groups = [each for each in fleet.groups if each.owner in made]
    found = (duration(made[g.owner], g, g.replicas, fleet.at_once) for g in groups)
    return ceil(60 * sum(map(sum, found)))
