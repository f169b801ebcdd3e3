"""Rules on schedulers: each pool has one, each is whole, and none promises what it will not do.

Sources: pfnet/scheduler-plugins f63b46e, plugins/gang; Kubernetes 1.34,
pkg/scheduler/framework/runtime/framework.go (maxTimeout).
"""

from collections.abc import Iterator

from schemas.facts.site import Site
from schemas.model.codes import Code
from schemas.model.nearest import nearest
from schemas.model.scheduling import DEFAULT_SCHEDULER, Backend, Gang, KubeScheduler
from schemas.model.vocabulary import BackendKind, Role
from schemas.rules.finding import Finding, Path

LONGEST_WAIT_SECONDS = 900
"""A kube-scheduler lets no pod wait for longer between its choice of a node and its binding."""
CANARY_IMAGE = "busybox"
CANARY_PRIORITY = "gang-canary"
_BACKENDS = ("scheduling", "backends")


def _backends(site: Site) -> list[tuple[Path, Backend]]:
    scheduling = site.file.scheduling
    found = scheduling.backends if scheduling else []
    return [((*_BACKENDS, index), each) for index, each in enumerate(found)]


def _run_here(site: Site) -> list[tuple[Path, Backend, KubeScheduler]]:
    """The schedulers that Foresite runs, with the place of their settings."""
    return [
        ((*at, "scheduler"), each, each.scheduler)
        for at, each in _backends(site)
        if each.kind is BackendKind.KUBE_SCHEDULER and each.scheduler is not None
    ]


def backend_names(site: Site) -> Iterator[Finding]:
    """Backends have names of their own, none that of the default scheduler."""
    seen: set[str] = set()
    for at, backend in _backends(site):
        if backend.name == DEFAULT_SCHEDULER:
            message = f"{DEFAULT_SCHEDULER} is the scheduler of every pool that no backend names"
            fix = "give the backend another name, which its pods write as schedulerName"
            yield Finding(Code.RESERVED_NAME, (*at, "name"), message, fix)
        elif backend.name in seen:
            message = f"there are two backends named {backend.name}"
            fix = "give this one another name, or put its pools into the other"
            yield Finding(Code.DUPLICATE_NAME, (*at, "name"), message, fix)
        seen.add(backend.name)


def backend_pools(site: Site) -> Iterator[Finding]:
    """A backend serves pools of the site, each pool has one at most, and pods can run there."""
    pools = {pool.name: pool for pool in site.file.pools}
    owner: dict[str, str] = {}
    for at, backend in _backends(site):
        for index, name in enumerate(backend.pools):
            place = (*at, "pools", index)
            if name not in pools:
                near = nearest(name, sorted(pools))
                fix = f"write {near}" if near else f"write one of {', '.join(pools)}"
                yield Finding(Code.UNKNOWN_POOL, place, f"there is no pool {name}", fix)
            elif name in owner:
                other = owner[name]
                where = "twice here" if other == backend.name else f"in {other} too"
                fix = "name it once, in the backend whose scheduler shall place its pods"
                yield Finding(Code.SCHEDULER_CLASH, place, f"pool {name} is {where}", fix)
            elif pools[name].role is Role.CONTROL_PLANE and pools[name].taints is None:
                yield Finding(
                    Code.SCHEDULER_MEANINGLESS,
                    place,
                    f"pool {name} is the control plane, whose taint keeps pods out",
                    "remove it here, or write taints: [] in the pool to let pods in",
                )
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
            yield Finding(
                Code.SCHEDULER_CLASH,
                ("pools", pools.index(pool.name), "name"),
                f"pools {first.name} and {pool.name} have {model}; the one is in {theirs}, the "
                f"other in {mine}",
                "name both pools in one backend, or both in none",
            )


def backend_kinds(site: Site) -> Iterator[Finding]:
    """A kube-scheduler says what it runs, the others do not; a cluster has one of those."""
    first: dict[BackendKind, str] = {}
    for at, backend in _backends(site):
        ours = backend.kind is BackendKind.KUBE_SCHEDULER
        if ours and backend.scheduler is None:
            message = f"nothing says which scheduler {backend.name} is"
            fix = "write scheduler: with its image, and gang: or throttler:"
            yield Finding(Code.SCHEDULER_INCOMPLETE, (*at, "kind"), message, fix)
        elif not ours and backend.scheduler is not None:
            message = f"{backend.kind.value} brings its own programs, and Foresite runs none for it"
            fix = "remove scheduler, or write kind: kube-scheduler"
            yield Finding(Code.SCHEDULER_MEANINGLESS, (*at, "scheduler"), message, fix)
        elif not ours and backend.kind in first:
            yield Finding(
                Code.SCHEDULER_MEANINGLESS,
                (*at, "kind"),
                f"a cluster has one {backend.kind.value}, and that is {first[backend.kind]} here",
                f"put the pools of {backend.name} into {first[backend.kind]}",
            )
        first.setdefault(backend.kind, backend.name)


def plugins(site: Site) -> Iterator[Finding]:
    """A scheduler of the site's own has a plugin, and a throttler by a name of its own."""
    throttlers: dict[str, str] = {}
    for at, backend, scheduler in _run_here(site):
        name = scheduler.throttler
        if scheduler.gang is None and name is None:
            message = f"{backend.name} has neither gangs nor a throttler, as the default scheduler"
            fix = "write gang: or throttler:, or remove the backend"
            yield Finding(Code.SCHEDULER_INCOMPLETE, at, message, fix)
        if name is not None and name in throttlers:
            yield Finding(
                Code.DUPLICATE_NAME,
                (*at, "throttler"),
                f"{throttlers[name]} and {backend.name} would both write the status of throttles "
                f"for {name}",
                "give this throttler another name",
            )
        if name is not None:
            throttlers.setdefault(name, backend.name)


def gang_times(site: Site) -> Iterator[Finding]:
    """A gang waits as long as the file says."""
    for at, _, scheduler in _run_here(site):
        gang = scheduler.gang
        if gang is None:
            continue
        limit, longest = gang.timeout_limit_seconds, _longest(gang)
        if gang.timeout_seconds > limit:
            yield Finding(
                Code.GANG_TIMEOUT,
                (*at, "gang", "timeout_seconds"),
                f"gangs that say nothing wait for {gang.timeout_seconds} s, and none may ask for "
                f"more than {limit} s",
                f"write {limit} or less, or raise timeout_limit_seconds",
            )
        elif longest > LONGEST_WAIT_SECONDS:
            fitting = LONGEST_WAIT_SECONDS - gang.jitter_seconds + 1
            yield Finding(
                Code.GANG_TIMEOUT,
                (*at, "gang", "timeout_limit_seconds"),
                f"with jitter a gang may wait for {longest} s, and a kube-scheduler ends every "
                f"wait at {LONGEST_WAIT_SECONDS} s",
                f"write {fitting} or less, or a smaller jitter_seconds",
            )


def _longest(gang: Gang) -> int:
    """The longest that a gang waits: the plugin adds whole seconds below the jitter."""
    return gang.timeout_limit_seconds + gang.jitter_seconds - 1


def canaries(site: Site) -> Iterator[Finding]:
    """A scheduler with gangs has a canary: an image for it, and its tier for itself."""
    gangs = [at for at, _, scheduler in _run_here(site) if scheduler.gang is not None]
    for at in gangs:
        if CANARY_IMAGE not in site.release.images:
            yield Finding(
                Code.IMAGE_UNKNOWN,
                (*at, "gang"),
                f"release {site.release.release} has no image {CANARY_IMAGE}, which wakes gangs",
                f"add {CANARY_IMAGE} to images in the release, or name a release that has it",
            )
    priorities = site.file.scheduling.priorities if site.file.scheduling else []
    for index, priority in enumerate(priorities if gangs else []):
        if priority.name == CANARY_PRIORITY:
            place = ("scheduling", "priorities", index, "name")
            message = f"{CANARY_PRIORITY} is the PriorityClass of the pods that wake gangs"
            fix = "give this PriorityClass another name"
            yield Finding(Code.RESERVED_NAME, place, message, fix)


def replicas(site: Site) -> Iterator[Finding]:
    """Replicas of a scheduler run on different machines of the control plane."""
    planes = [pool for pool in site.file.pools if pool.role is Role.CONTROL_PLANE]
    machines = sum(site.replicas(pool) for pool in planes)
    for at, backend, scheduler in _run_here(site):
        if 0 < machines < scheduler.replicas:
            said = "replicas" in scheduler.model_fields_set
            yield Finding(
                Code.SCHEDULER_MEANINGLESS,
                (*at, "replicas") if said else at,
                f"{backend.name} has {scheduler.replicas} replicas, each on its own machine of the "
                f"control plane, which has {machines}",
                f"write {machines}" if said else f"add replicas: {machines}",
            )
