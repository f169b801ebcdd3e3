"""A request with everything that follows from the site: whose job it is, where it runs, who starts
it, and what each worker gets.

The functions here answer as far as they can for requests that have faults: the checks ask them too.
"""

from collections.abc import Iterable
from dataclasses import dataclass

from components.impact.placement import KEEPS_PODS_OUT, node_taints
from components.manifest import Json
from components.rdma import Needs, needs
from components.training.request import JobRequest
from components.training.room import Room, default_cpu, default_memory, room
from schemas.nodelabels import ACCELERATOR_LABEL, POOL_LABEL
from schemas.scheduling import Backend, EphemeralStorage, Gang, Scheduling, Team
from schemas.site import Site
from schemas.sitefile import Pool
from schemas.vocabulary import BackendKind, Role

DEFAULT_SCHEDULER = "default-scheduler"
NOTHING = Needs({}, [], {}, [], [])


@dataclass(frozen=True, slots=True)
class Setting:
    """What a job's objects are made of. ``storage`` is request and limit; ``backend`` is None for
    the default scheduler; ``gang`` are the settings of its gang plugin, if it has one."""

    site: Site
    request: JobRequest
    namespace: str
    team: Team | None
    pools: tuple[Pool, ...]
    backend: Backend | None
    per_worker: int
    cpu: str
    memory: str
    storage: tuple[str, str]
    needs: Needs

    @property
    def name(self) -> str:
        """The job's name."""
        return self.request.job

    @property
    def resource(self) -> str:
        """What a worker asks for: the resource of the model."""
        return self.site.resource(self.request.model)

    @property
    def gang(self) -> Gang | None:
        """The settings of the gang plugin; None where nothing starts pods together."""
        return gang_of(self.backend)

    @property
    def whole_hosts(self) -> bool:
        """Whether no two workers share a host."""
        return all(2 * self.per_worker > room(self.site, p).accelerators for p in self.pools)


def resolved(site: Site, request: JobRequest) -> Setting:
    """The setting of a request that has no faults."""
    team, pools = team_of(site, request), pools_of(site, request)
    per_worker = per_worker_of(site, request)
    cpu, memory = shares(site, request)
    return Setting(
        site=site,
        request=request,
        namespace=request.namespace or (team.namespaces[0] if team else "default"),
        team=team,
        pools=pools,
        backend=site.backend_of(request.model),
        per_worker=per_worker,
        cpu=cpu,
        memory=memory,
        storage=_storage(site, request, team),
        needs=needs(site, pools[0]) if request.rdma else NOTHING,
    )


def scheduling(site: Site) -> Scheduling:
    """How pods of the site are scheduled; nothing is said where the file says nothing."""
    return site.file.scheduling or Scheduling()


def team_of(site: Site, request: JobRequest) -> Team | None:
    """The team that a job is of; None where the site has none of that name."""
    return next((each for each in scheduling(site).teams if each.name == request.team), None)


def storage_of(site: Site, team: Team | None) -> EphemeralStorage:
    """Space on disk for containers of a team."""
    own = team.ephemeral_storage if team else None
    return own or scheduling(site).ephemeral_storage


def _storage(site: Site, request: JobRequest, team: Team | None) -> tuple[str, str]:
    given = storage_of(site, team)
    return (request.storage, request.storage) if request.storage else (given.request, given.limit)


def pools_of(site: Site, request: JobRequest) -> tuple[Pool, ...]:
    """The pools that workers can run on: with the model, and with RDMA where that is asked for.

    Pods of a job are all alike, so of pools whose RDMA differs those go together that have most
    machines.
    """
    with_model = site.pools_with(request.model)
    if not request.rdma:
        return with_model
    alike: list[tuple[Needs, list[Pool]]] = []
    for pool in with_model:
        mine = needs(site, pool)
        same = next((pools for other, pools in alike if other == mine), None)
        if same is not None:
            same.append(pool)
        elif mine != NOTHING:
            alike.append((mine, [pool]))
    groups = [tuple(pools) for _, pools in alike]
    return max(groups, key=lambda pools: sum(map(site.replicas, pools)), default=())


def per_worker_of(site: Site, request: JobRequest) -> int:
    """Accelerators of each worker: all of the largest host where nothing is said."""
    counts = (room(site, pool).accelerators for pool in pools_of(site, request))
    return max(counts, default=1) if request.per_worker is None else request.per_worker


def shares(site: Site, request: JobRequest) -> tuple[str, str]:
    """Cores and memory of each worker: its share of the smallest host where nothing is said."""
    here = smallest(site, pools_of(site, request), per_worker_of(site, request))
    per_worker = max(1, per_worker_of(site, request))
    cpu = request.cpu or (default_cpu(here, per_worker) if here else "1")
    memory = request.memory or (default_memory(here, per_worker) if here else "1Gi")
    return cpu, memory


def smallest(site: Site, pools: Iterable[Pool], per_worker: int) -> Room | None:
    """The least that a worker with so many accelerators finds on a host."""
    rooms = [room(site, pool) for pool in pools]
    fitting = [each for each in rooms if each.accelerators >= max(1, per_worker)]
    return min(fitting, key=lambda each: (each.memory, each.cpu), default=None)


def gang_of(backend: Backend | None) -> Gang | None:
    """The settings of a backend's gang plugin, if it has one."""
    return backend.scheduler.gang if backend and backend.scheduler else None


def scheduler_name(backend: Backend | None) -> str:
    """What pods write as schedulerName; Kueue only says when they start."""
    if backend is None or backend.kind is BackendKind.KUEUE:
        return DEFAULT_SCHEDULER
    return backend.name


def helper_pool(site: Site, request: JobRequest) -> Pool | None:
    """The pool of a job's pods without accelerators: one that the workers' scheduler serves, with
    none if there is any, else one of theirs; the largest of these."""
    name = scheduler_name(site.backend_of(request.model))
    plain = [
        pool
        for pool in site.worker_pools
        if site.profile(pool).accelerators is None and scheduler_name(site.backend(pool)) == name
    ]
    near = [pool for pool in pools_of(site, request) if pool.role is Role.WORKER]
    return max(plain or near, key=site.replicas, default=None)


def tolerations(pools: Iterable[Pool]) -> list[Json]:
    """What lets pods onto nodes of pools that keep others out."""
    taints = {
        (taint["key"], taint["value"], taint["effect"]): None
        for pool in pools
        for taint in node_taints(pool)
        if taint["effect"] in KEEPS_PODS_OUT
    }
    return [
        {"key": key, "operator": "Equal", "effect": effect, **({"value": value} if value else {})}
        for key, value, effect in taints
    ]


def placing(site: Site, model: str, pools: tuple[Pool, ...]) -> Json:
    """Sends workers to nodes of their model, and of these pools where not all of the model's do."""
    found: Json = {"nodeSelector": {ACCELERATOR_LABEL: model}}
    if len(pools) == len(site.pools_with(model)):
        return found
    if len(pools) == 1:
        found["nodeSelector"][POOL_LABEL] = pools[0].name
        return found
    names = [pool.name for pool in pools]
    term = {"matchExpressions": [{"key": POOL_LABEL, "operator": "In", "values": names}]}
    required = {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [term]}}
    return {**found, "affinity": {"nodeAffinity": required}}
