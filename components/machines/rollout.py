"""How long a pool's rollout takes, what is out meanwhile, and whether it can make progress.

Reads the settings of a MachineDeployment or KubeadmControlPlane; how they combine is in
schemas/facts/rollout.py.
"""

from collections import Counter
from collections.abc import Iterable, Iterator

from components.effects.fleet import Fleet, Group, Pace
from components.effects.vocabulary import Effect, Impact, Ledger, PoolPlan, SiteChange
from components.machines.effects import kinds
from components.machines.effects.versions import control_plane, parse_version
from components.making.manifest import Json, Manifest
from schemas.facts.rollout import DEFAULTS, Limits, Waves, control_plane_limits, waves


def plans(site: SiteChange, effects: Iterable[Effect]) -> tuple[PoolPlan, ...]:
    """The plan of each pool (and zone) whose machines are replaced."""
    rolled = dict.fromkeys(each.name for each in effects if _replaces(site, each))
    about, objects = site.side.fleet.about, site.side.objects
    return tuple(
        _plan(site, group, objects[name])
        for name in rolled
        if name in objects
        for group in about.get(name, ())
    )


def _replaces(site: SiteChange, effect: Effect) -> bool:
    if effect.impact is not Impact.REIMAGE:
        return False
    found = (side.objects[effect.name] for side in site.sides if effect.name in side.objects)
    return any(each.group_kind in (kinds.DEPLOYMENT, kinds.CONTROL_PLANE) for each in found)


def _plan(site: SiteChange, group: Group, manifest: Manifest) -> PoolPlan:
    spec, pace = manifest.body["spec"], group.pace
    machines = spec["replicas"]
    hosts = len(group.hosts)
    found = waves(machines, *_limits(spec, manifest.kind), max(0, hosts - machines))
    model, each = group.accelerators
    drain = pace.drain_seconds * found.groups / 3600
    return PoolPlan(
        pool=group.pool,
        zone=group.zone,
        machines=machines,
        at_once=found.at_once,
        surge=found.at_once - found.out,
        waves=found.groups,
        hours=found.groups * pace.install_minutes / 60,
        drain_hours=drain,
        out=Ledger(model, hosts, hosts * each, found.out, found.out * each),
        stuck=found.stuck or "; ".join(_obstacles(site, group, manifest)),
        notes=tuple(_notes(pace, found)),
        control_plane=group.control_plane,
    )


def _limits(spec: Json, kind: str) -> Limits:
    """The limits that an object sets, or means where it sets none."""
    strategy = spec.get("rollout", {}).get("strategy", {}).get("rollingUpdate", {})
    meant = DEFAULTS[kind]
    surge = int(strategy.get("maxSurge", meant.surge))
    if kind == "KubeadmControlPlane":
        return control_plane_limits(surge)
    return Limits(int(strategy.get("maxUnavailable", meant.unavailable)), surge)


def _obstacles(site: SiteChange, group: Group, manifest: Manifest) -> Iterator[str]:
    """The obstacles that keep a rollout from ending, besides its own settings."""
    spec, pace = manifest.body["spec"], group.pace
    hosts, taken = len(group.hosts), _moved_hosts(site, group)
    if hosts < spec["replicas"]:
        yield f"{spec['replicas']} machines are wanted, and the pool has {hosts} hosts"
    elif hosts - taken < spec["replicas"]:
        yield (
            f"{spec['replicas']} machines are wanted, and of its {hosts} hosts {taken} came from a "
            "pool that keeps their machines"
        )
    control = control_plane(site.side)
    if not group.control_plane and control is not None:
        mine, its = spec["template"]["spec"].get("version"), control.body["spec"]["version"]
        if mine and parse_version(mine)[:2] != parse_version(its)[:2]:
            yield (
                f"its machines are to run {mine} and the control plane {its}: Cluster API deletes "
                "machines and makes none of another minor version (preflight checks of MachineSets)"
            )
    if 0 < pace.startup_seconds < 60 * pace.install_minutes:
        yield (
            f"the health check gives a machine {pace.startup_seconds} s to start and a re-image "
            f"takes {pace.install_minutes} minutes: each new machine is deleted while it installs"
        )


def _moved_hosts(site: SiteChange, group: Group) -> int:
    """Hosts that came from another pool, which has as many machines as before and so keeps them."""
    if site.before is None:
        return 0
    old, now = site.before.fleet, site.side.fleet
    former = {host.name: host.pool for host in old.hosts}
    kept = {
        name: now.replicas(name) >= old.replicas(name) for name in old.pools if name in now.pools
    }
    came = (former.get(host.name, group.pool) for host in group.hosts)
    return sum(name != group.pool and kept.get(name, False) for name in came)


def _notes(pace: Pace, found: Waves) -> Iterator[str]:
    if found.groups:
        yield f"a drain waits up to {pace.drain_seconds} s for pods and their disruption budgets"


_OUT = (Impact.REMOVE, Impact.UNKNOWN, Impact.REBOOT, Impact.DRAIN)


def capacity(
    site: SiteChange, effects: Iterable[Effect], rollouts: Iterable[PoolPlan]
) -> tuple[Ledger, ...]:
    """Hosts and accelerators of each model, and what is out when all pools are at their worst.

    Counts what rollouts and operators take out at a time, what is removed, and hosts of which
    nothing is known.
    """
    fleet = site.sides[0].fleet
    effects = list(effects)
    gone = [each for each in effects if each.impact in _OUT]
    lost = [each for each in gone if each.at_once is None]
    certain = {host for each in lost if each.at_most is None for host in each.hosts}
    out = {pool: sum(host.name in certain for host in fleet.hosts_of(pool)) for pool in fleet.pools}
    rolled = {each.name for each in effects if _replaces(site, each)}
    for plan in rollouts:
        if plan.pool in out:
            out[plan.pool] += plan.out.hosts_out
    for each in lost:
        pool = next((h.pool for h in fleet.hosts if h.name in each.hosts), "")
        # Those that a rollout deletes and does not replace are those that it takes out.
        if each.at_most is not None and pool in out and each.name not in rolled:
            out[pool] += each.at_most
    for (pool, _), number in _operator_pace(fleet, gone).items():
        out[pool] += number
    return tuple(_ledgers(fleet, out))


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


def _ledgers(fleet: Fleet, out: dict[str, int]) -> Iterator[Ledger]:
    totals: dict[str, list[int]] = {}
    for pool, groups in fleet.pools.items():
        model, each = groups[0].accelerators
        hosts = len(fleet.hosts_of(pool))
        missing = min(out[pool], hosts)
        row = totals.setdefault(model, [0, 0, 0, 0])
        for index, number in enumerate((hosts, hosts * each, missing, missing * each)):
            row[index] += number
    for model, row in sorted(totals.items()):
        yield Ledger(model, *row)
