"""How long a pool's rollout takes, what is out meanwhile, and whether it can make progress.

Reads the settings of a MachineDeployment or KubeadmControlPlane; how they combine is in
schemas/facts/rollout.py.
"""

from collections import Counter
from collections.abc import Iterable, Iterator

from components.effects.vocabulary import Effect, Impact, Ledger, PoolPlan, SiteChange
from components.machines.effects.versions import parsed
from components.machines.health import startup_timeout
from components.machines.names import COMPONENT
from components.making.manifest import Json, Manifest
from schemas.facts.rollout import DEFAULTS, Limits, Waves, control_plane_limits, waves
from schemas.facts.site import Site
from schemas.model.site_file import Pool
from schemas.model.vocabulary import Remedy


def plans(site: SiteChange, effects: Iterable[Effect]) -> tuple[PoolPlan, ...]:
    """The plan of each pool (and zone) whose machines are replaced."""
    rolled = dict.fromkeys(each.name for each in effects if _replaces(each))
    objects = site.side.objects
    return tuple(_plan(site, objects[name]) for name in rolled if name in objects)


def _replaces(effect: Effect) -> bool:
    kinds = ("MachineDeployment/", "KubeadmControlPlane")
    own = effect.name[0] == COMPONENT and effect.name[1].startswith(kinds)
    return own and effect.impact is Impact.REIMAGE


def _plan(site: SiteChange, manifest: Manifest) -> PoolPlan:
    side = site.side
    pool, zone = _pool_of(side.site, manifest)
    spec = manifest.body["spec"]
    machines = spec["replicas"]
    hosts = len(side.site.hosts_of(pool, zone or None))
    found = waves(machines, *_limits(spec, manifest.kind), max(0, hosts - machines))
    profile = side.site.profile(pool)
    model, each = ("", 0)
    if profile.accelerators:
        model, each = profile.accelerators.model, profile.accelerators.count
    drain = pool.rollout.drain_timeout_seconds * found.groups / 3600
    return PoolPlan(
        pool=pool.name,
        zone=zone,
        machines=machines,
        at_once=found.at_once,
        surge=found.at_once - found.out,
        waves=found.groups,
        hours=found.groups * profile.reimage_minutes / 60,
        drain_hours=drain,
        out=Ledger(model, hosts, hosts * each, found.out, found.out * each),
        stuck=found.stuck or "; ".join(_obstacles(site, pool, zone, manifest)),
        notes=tuple(_notes(pool, found)),
    )


def _pool_of(site: Site, manifest: Manifest) -> tuple[Pool, str]:
    """The pool, and the zone where a pool keeps them apart, that a manifest's machines are of."""
    if manifest.kind == "KubeadmControlPlane":
        return site.control_plane, ""
    _, name, *zone = manifest.name.split("/")
    pool = next(pool for pool in site.file.pools if pool.name == name)
    return pool, zone[0] if zone else ""


def _limits(spec: Json, kind: str) -> Limits:
    """The limits that an object sets, or means where it sets none."""
    strategy = spec.get("rollout", {}).get("strategy", {}).get("rollingUpdate", {})
    meant = DEFAULTS[kind]
    surge = int(strategy.get("maxSurge", meant.surge))
    if kind == "KubeadmControlPlane":
        return control_plane_limits(surge)
    return Limits(int(strategy.get("maxUnavailable", meant.unavailable)), surge)


def _obstacles(site: SiteChange, pool: Pool, zone: str, manifest: Manifest) -> Iterator[str]:
    """What keeps a rollout from ending, besides its own settings."""
    side, spec = site.side, manifest.body["spec"]
    hosts, taken = len(side.site.hosts_of(pool, zone or None)), _taken(site, pool, zone)
    if hosts < spec["replicas"]:
        yield f"{spec['replicas']} machines are wanted, and the pool has {hosts} hosts"
    elif hosts - taken < spec["replicas"]:
        yield (
            f"{spec['replicas']} machines are wanted, and of its {hosts} hosts {taken} came from a "
            "pool that keeps their machines"
        )
    control = next((m for m in side.objects.values() if m.kind == "KubeadmControlPlane"), None)
    if manifest.kind == "MachineDeployment" and control is not None:
        mine, its = spec["template"]["spec"].get("version"), control.body["spec"]["version"]
        if mine and parsed(mine)[:2] != parsed(its)[:2]:
            yield (
                f"its machines are to run {mine} and the control plane {its}: Cluster API deletes "
                "machines and makes none of another minor version (preflight checks of MachineSets)"
            )
    limit = startup_timeout(side.site, pool)
    minutes = side.site.profile(pool).reimage_minutes
    if pool.health_check.remedy is Remedy.REPLACE and 0 < limit < 60 * minutes:
        yield (
            f"the health check gives a machine {limit} s to start and a re-image takes {minutes} "
            "minutes: each new machine is deleted while it installs"
        )


def _taken(site: SiteChange, pool: Pool, zone: str) -> int:
    """Hosts that came from another pool, which has as many machines as before and so keeps them."""
    if site.before is None:
        return 0
    old, now = site.before.site, site.side.site
    former = {host.name: host.pool for host in old.hosts}
    kept = {
        each.name: now.replicas(each) >= old.replicas(each)
        for each in old.file.pools
        if each.name in {other.name for other in now.file.pools}
    }
    mine = now.hosts_of(pool, zone or None)
    came = (former.get(host.name, pool.name) for host in mine)
    return sum(name != pool.name and kept.get(name, False) for name in came)


def _notes(pool: Pool, found: Waves) -> Iterator[str]:
    if found.groups:
        seconds = pool.rollout.drain_timeout_seconds
        yield f"a drain waits up to {seconds} s for pods and their disruption budgets"


_OUT = (Impact.REMOVE, Impact.UNKNOWN, Impact.REBOOT, Impact.DRAIN)


def capacity(
    site: SiteChange, effects: Iterable[Effect], rollouts: Iterable[PoolPlan]
) -> tuple[Ledger, ...]:
    """Hosts and accelerators of each model, and what is out when all pools are at their worst.

    Counts what rollouts and operators take out at a time, what is removed, and hosts of which
    nothing is known.
    """
    side = site.sides[0]
    effects = list(effects)
    gone = [each for each in effects if each.impact in _OUT]
    lost = [each for each in gone if each.at_once is None]
    certain = {host for each in lost if each.at_most is None for host in each.hosts}
    out = {
        pool.name: sum(host.name in certain for host in side.site.hosts_of(pool))
        for pool in side.site.file.pools
    }
    rolled = {each.name for each in effects if _replaces(each)}
    for plan in rollouts:
        if plan.pool in out:
            out[plan.pool] += plan.out.hosts_out
    for each in lost:
        pool = next((h.pool for h in side.site.hosts if h.name in each.hosts), "")
        # Those that a rollout deletes and does not replace are those that it takes out.
        if each.at_most is not None and pool in out and each.name not in rolled:
            out[pool] += each.at_most
    for (pool, _), number in _paced(side.site, gone).items():
        out[pool] += number
    return tuple(_ledgers(side.site, out))


def _paced(site: Site, effects: Iterable[Effect]) -> dict[tuple[str, str], int]:
    """Hosts of each pool that a component's operator has out at a time, whatever it has to do;
    operators do not look at each other's."""
    found: dict[tuple[str, str], int] = {}
    pools = {host.name: host.pool for host in site.hosts}
    for each in effects:
        if each.at_once is None:
            continue
        for pool, count in Counter(pools[name] for name in each.hosts if name in pools).items():
            key = pool, each.name[0]
            found[key] = max(found.get(key, 0), min(each.at_once, count))
    return found


def _ledgers(site: Site, out: dict[str, int]) -> Iterator[Ledger]:
    totals: dict[str, list[int]] = {}
    for pool in site.file.pools:
        accelerators = site.profile(pool).accelerators
        model, each = (accelerators.model, accelerators.count) if accelerators else ("", 0)
        hosts = len(site.hosts_of(pool))
        missing = min(out[pool.name], hosts)
        row = totals.setdefault(model, [0, 0, 0, 0])
        for index, number in enumerate((hosts, hosts * each, missing, missing * each)):
            row[index] += number
    for model, row in sorted(totals.items()):
        yield Ledger(model, *row)
