"""A request with all that follows from the site: whose job it is, where it runs, who starts it,
what a worker gets; as far as it can also of faulty requests, for the checks."""

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from components.making.manifest import Json
from components.making.object_cache_client import CacheClient, cache_client
from components.making.rdma import Needs, needs
from components.training.request import JobRequest
from components.training.room import Room, default_cpu, default_memory, room, workers_on
from schemas.facts.racks import domain_settings, nvlink_pools
from schemas.facts.sharing import devices_of_pod
from schemas.facts.site import Site
from schemas.kubernetes.node_labels import ACCELERATOR_LABEL, POOL_LABEL
from schemas.model.object_cache import Bucket
from schemas.model.scheduling import Backend, EphemeralStorage, Gang, Team, scheduler_name
from schemas.model.site_file import Pool
from schemas.model.vocabulary import Role

NOTHING = Needs({}, [], {}, [], [])
_OF_MODEL = ("is_served", "with_model", "resource", "backend", "pools", "rooms", "helper_pool")
"""Properties that follow from the site, the model and RDMA alone."""


@dataclass(frozen=True)
class Setting:
    """A site and a request, and what a job's objects are made of."""

    site: Site
    request: JobRequest

    def vary(self, **fields: Any) -> "Setting":
        """The setting of a request for the same model, with or without RDMA as here, whose other
        fields differ: what follows from these two is found once."""
        varied = Setting(self.site, replace(self.request, **fields))
        if (varied.request.model, varied.request.rdma) != (self.request.model, self.request.rdma):
            raise ValueError("another model, or RDMA as well")
        vars(varied).update((name, getattr(self, name)) for name in _OF_MODEL)
        return varied

    @cached_property
    def name(self) -> str:
        """The job's name."""
        return self.request.job

    @cached_property
    def team(self) -> Team | None:
        """The team that the job is of; None where the site has none of that name."""
        teams = self.site.scheduling.teams
        return next((each for each in teams if each.name == self.request.team), None)

    @property
    def namespace(self) -> str:
        """The namespace of the job: the team's first one unless it names another."""
        return self.request.namespace or (self.team.namespaces[0] if self.team else "default")

    @cached_property
    def is_served(self) -> bool:
        """True if the site serves the model."""
        return self.request.model in self.site.models()

    @cached_property
    def resource(self) -> str:
        """The resource of the model, which a worker requests."""
        return self.site.resource(self.request.model)

    @cached_property
    def with_model(self) -> tuple[Pool, ...]:
        """The pools with the model."""
        return self.site.pools_with(self.request.model)

    @cached_property
    def pools(self) -> tuple[Pool, ...]:
        """The pools that workers can run on: with the model, and with RDMA where that is asked for.
        Pods of a job are alike: of pools whose RDMA differs those with most machines are taken."""
        if not self.request.rdma:
            return self.with_model
        alike: list[tuple[Needs, list[Pool]]] = []
        for pool in self.with_model:
            mine = needs(self.site, pool)
            same = next((pools for other, pools in alike if other == mine), None)
            if same is not None:
                same.append(pool)
            elif mine != NOTHING:
                alike.append((mine, [pool]))
        groups = [tuple(pools) for _, pools in alike]
        return max(groups, key=lambda pools: sum(map(self.site.replicas, pools)), default=())

    @cached_property
    def rooms(self) -> tuple[Room, ...]:
        """The room for pods on a host of each of the pools."""
        return tuple(room(self.site, pool) for pool in self.pools)

    @cached_property
    def needs(self) -> Needs:
        """The needs of workers for RDMA; nothing where they have none. Networks are made for the
        namespaces of teams alone. So a runtime, which is for all of them, names none."""
        if not self.request.rdma or not self.pools:
            return NOTHING
        return needs(self.site, self.pools[0], self.namespace if self.team else None)

    @cached_property
    def bucket(self) -> Bucket | None:
        """The bucket of the cache that the job asks for; None where the site has none of it."""
        cache, asked = self.site.file.cache, self.request.cache
        return cache.bucket(asked) if cache and asked is not None else None

    @property
    def writes(self) -> bool:
        """True if the job's pods may write the bucket."""
        return self.bucket is not None and self.bucket.writable_by(self.namespace)

    @cached_property
    def cache(self) -> CacheClient | None:
        """How workers use that bucket."""
        cache, bucket = self.site.file.cache, self.bucket
        return cache_client(cache, bucket.name) if cache and bucket else None

    @cached_property
    def backend(self) -> Backend | None:
        """The backend that starts the job's pods; None for the default scheduler."""
        return self.site.backend_of(self.request.model)

    @property
    def scheduler_name(self) -> str:
        """The schedulerName of its pods."""
        return scheduler_name(self.backend)

    @cached_property
    def shares_nvlink(self) -> bool:
        """True if hosts of a rack are one NVLink domain, wherever a worker runs."""
        nvlink = nvlink_pools(self.site)
        return bool(self.pools) and all(pool in nvlink for pool in self.pools)

    @property
    def has_domain(self) -> bool:
        """True if its workers share memory through a ComputeDomain."""
        several = self.request.workers > 1 and domain_settings(self.site) is not None
        return several and self.shares_nvlink

    def fit(self, here: Room, *, channels: bool = True) -> int:
        """How many workers fit on a host. It has one channel of a ComputeDomain, which no two
        claims share (dra-driver-nvidia-gpu 0.4.1, cmd/compute-domain-kubelet-plugin/driver.go);
        without ``channels``: for those that do not look at it."""
        found = workers_on(here, max(1, self.per_worker), self.cpu, self.memory)
        return min(1, found) if channels and self.has_domain else found

    @property
    def gang(self) -> Gang | None:
        """The settings of the gang plugin; None where nothing starts pods together."""
        return self.backend.scheduler.gang if self.backend and self.backend.scheduler else None

    @cached_property
    def most(self) -> int:
        """Accelerators that a worker can have: those of the largest host, or one share."""
        found = (devices_of_pod(each, self.site.devices(each)) for each in self.pools)
        return max(found, default=0)

    @cached_property
    def per_worker(self) -> int:
        """Accelerators of each worker: all of the largest host where nothing is said."""
        asked = self.request.per_worker
        return max(1, self.most) if asked is None else asked

    @property
    def devices(self) -> int:
        """Accelerators of all workers."""
        return self.request.workers * self.per_worker

    @cached_property
    def smallest(self) -> Room | None:
        """The least that a worker finds on a host with accelerators enough."""
        fitting = [each for each in self.rooms if each.accelerators >= max(1, self.per_worker)]
        return min(fitting, key=lambda each: (each.memory, each.cpu), default=None)

    @cached_property
    def cpu(self) -> str:
        """Cores of each worker: its share of the smallest host where nothing is said."""
        share = default_cpu(self.smallest, max(1, self.per_worker)) if self.smallest else "1"
        return self.request.cpu or share

    @cached_property
    def memory(self) -> str:
        """Memory of each worker, likewise."""
        share = default_memory(self.smallest, max(1, self.per_worker)) if self.smallest else "1Gi"
        return self.request.memory or share

    @property
    def limits(self) -> EphemeralStorage:
        """Space on disk for containers of the team."""
        own = self.team.ephemeral_storage if self.team else None
        return own or self.site.scheduling.ephemeral_storage

    @cached_property
    def storage(self) -> tuple[str, str]:
        """Request and limit of a container's space on disk."""
        asked = self.request.storage
        return (asked, asked) if asked else (self.limits.request, self.limits.limit)

    @cached_property
    def helper_pool(self) -> Pool | None:
        """The pool of the job's pods without accelerators: one that the workers' scheduler serves,
        with none if there is any, else one of theirs; the largest of these."""
        site = self.site
        plain = [
            pool
            for pool in site.worker_pools
            if site.profile(pool).accelerators is None
            and scheduler_name(site.backend(pool)) == self.scheduler_name
        ]
        near = [pool for pool in self.pools if pool.role is Role.WORKER]
        return max(plain or near, key=site.replicas, default=None)

    def placing(self) -> Json:
        """Sends workers to nodes of their model, and of their pools where not all are meant."""
        found: Json = {"nodeSelector": {ACCELERATOR_LABEL: self.request.model}}
        if len(self.pools) == len(self.with_model):
            return found
        names = [pool.name for pool in self.pools]
        if len(names) == 1:
            found["nodeSelector"][POOL_LABEL] = names[0]
            return found
        term = {"matchExpressions": [{"key": POOL_LABEL, "operator": "In", "values": names}]}
        required = {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [term]}}
        return {**found, "affinity": {"nodeAffinity": required}}
