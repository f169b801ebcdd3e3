"""Rules on schedulers: each pool has one, each is whole, and none promises what it will not do.

Sources: pfnet/scheduler-plugins f63b46e, plugins/gang; Kubernetes 1.34,
pkg/scheduler/framework/runtime/framework.go (maxTimeout).
"""

from collections.abc import Iterator

from schemas.facts.site import Site
from schemas.model.scheduling import Backend, KubeScheduler
from schemas.model.vocabulary import BackendKind, Role, TopologyLevel
from schemas.reading.paths import each_at
from schemas.rules.finding import Finding, Path, say

LONGEST_WAIT_SECONDS = 900
"""A kube-scheduler lets no pod wait for longer between its choice of a node and its binding."""
CANARY_PRIORITY = "gang-canary"
_BACKENDS = "scheduling.backends.*"


def _run_here(site: Site) -> list[tuple[Path, Backend, KubeScheduler]]:
    """The schedulers that Foresite runs, with the place of their settings."""
    found = [((*at, "scheduler"), each) for at, each in each_at(site.file, _BACKENDS)]
    ours = (each for each in found if each[1].kind is BackendKind.KUBE_SCHEDULER)
    return [(at, each, each.scheduler) for at, each in ours if each.scheduler]


def backend_pools(site: Site) -> Iterator[Finding]:
    """Each pool has one backend at most, and pods can run there."""
    pools = {pool.name: pool for pool in site.file.pools}
    owner: dict[str, str] = {}
    for at, backend in each_at(site.file, _BACKENDS):
        for index, name in enumerate(backend.pools):
            place, pool = (*at, "pools", index), pools.get(name)
            if pool and name in owner:
                other = owner[name]
                where = "twice here" if other == backend.name else f"in {other} too"
                yield say("backend-pool-taken", place, name, where)
            elif pool and pool.role is Role.CONTROL_PLANE and pool.taints is None:
                yield say("backend-of-control-plane", place, name)
            owner.setdefault(name, backend.name)


def backends_of_models(site: Site) -> Iterator[Finding]:
    """All pools with one model have the same backend: pods ask for the model, not for a pool."""
    pools = [pool.name for pool in site.file.pools]
    for model in site.models():
        first, *others = site.pools_with(model)
        owner = site.backend(first)
        for pool in others:
            backend = site.backend(pool)
            if backend == owner:
                continue
            mine, theirs = (each.name if each else "no backend" for each in (backend, owner))
            place = ("pools", pools.index(pool.name), "name")
            yield say("backends-divide-model", place, first, pool, model, theirs, mine)


def backend_kinds(site: Site) -> Iterator[Finding]:
    """A cluster has one backend of each kind but kube-scheduler."""
    first: dict[BackendKind, str] = {}
    for at, backend in each_at(site.file, _BACKENDS):
        ours = backend.kind is BackendKind.KUBE_SCHEDULER
        if backend.kind in first and not ours and backend.scheduler is None:
            yield say("backend-kind-twice", (*at, "kind"), backend, first[backend.kind])
        first.setdefault(backend.kind, backend.name)


def topologies(site: Site) -> Iterator[Finding]:
    """Levels go from the widest to the narrowest and name racks; Kueue looks at taints only on
    hosts (Kueue 0.19.2, pkg/cache/scheduler/tas_flavor_snapshot.go)."""
    for at, backend in each_at(site.file, _BACKENDS):
        levels, place = backend.topology, (*at, "topology")
        if not levels:
            continue
        right = [each for each in TopologyLevel if each in levels]
        if right != levels:
            yield say("topology-order", place, ", ".join(right))
        if TopologyLevel.RACK not in levels:
            yield say("topology-without-rack", place, backend)
        tainted = (pool.name for pool in site.file.pools if pool.taints)
        pools = [name for name in tainted if name in backend.pools]
        queue = backend.kind is BackendKind.KUEUE
        if queue and pools and TopologyLevel.HOST not in levels:
            yield say("topology-without-host", place, pools[0])


def plugins(site: Site) -> Iterator[Finding]:
    """A scheduler of the site's own has a throttler by a name of its own."""
    throttlers: dict[str, str] = {}
    for at, backend, scheduler in _run_here(site):
        name = scheduler.throttler
        if name in throttlers:
            yield say("throttler-name-taken", (*at, "throttler"), throttlers[name], backend, name)
        elif name is not None:
            throttlers[name] = backend.name


def gang_times(site: Site) -> Iterator[Finding]:
    """A gang waits as long as the file says."""
    for at, _, scheduler in _run_here(site):
        gang = scheduler.gang
        if gang is None:
            continue
        # The plugin adds whole seconds below the jitter.
        limit = gang.timeout_limit_seconds
        longest = limit + gang.jitter_seconds - 1
        if gang.timeout_seconds > limit:
            yield say("gang-timeout-beyond-limit", (*at, "gang", "timeout_seconds"), gang, limit)
        elif longest > LONGEST_WAIT_SECONDS:
            fitting = LONGEST_WAIT_SECONDS - gang.jitter_seconds + 1
            place = (*at, "gang", "timeout_limit_seconds")
            yield say("gang-limit-too-long", place, longest, LONGEST_WAIT_SECONDS, fitting)


def canaries(site: Site) -> Iterator[Finding]:
    """The canary of schedulers with gangs has its tier for itself."""
    gangs = any(scheduler.gang for _, _, scheduler in _run_here(site))
    for index, priority in enumerate(site.scheduling.priorities if gangs else ()):
        if priority.name == CANARY_PRIORITY:
            place = ("scheduling", "priorities", index, "name")
            yield say("priority-of-canary", place, CANARY_PRIORITY)


def replicas(site: Site) -> Iterator[Finding]:
    """Replicas of a scheduler run on different machines of the control plane."""
    planes = [pool for pool in site.file.pools if pool.role is Role.CONTROL_PLANE]
    machines = sum(site.replicas(pool) for pool in planes)
    for at, backend, scheduler in _run_here(site):
        if 0 < machines < scheduler.replicas:
            said = "replicas" in scheduler.model_fields_set
            place, way = ((*at, "replicas"), "write") if said else (at, "add replicas:")
            yield say("replicas-too-many", place, backend, scheduler, machines, way)
