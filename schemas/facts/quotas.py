"""Quotas of an accelerator model: guarantees, the holder of limits, the site's supply. Rules judge
by this and components write limits by it; what rollouts take out: schemas/facts/rollout.py."""

from collections.abc import Mapping
from enum import StrEnum
from typing import NamedTuple

from schemas.facts.rollout import control_plane_limits, waves
from schemas.facts.site import Site
from schemas.kubernetes.tables import read_table
from schemas.model.scheduling import Backend, Scheduling, Team
from schemas.model.site_file import Pool
from schemas.model.vocabulary import BackendKind, Role, RolloutStrategy

OBJECTS: Mapping[str, int] = read_table(__file__)["objects"]
"""Objects of a namespace where a site says nothing."""


class Holder(StrEnum):
    """The component that holds a team to its limit of a model."""

    THROTTLE = "kube-throttler"
    """Pods wait before they are placed; the limit is for all namespaces of a team together."""
    QUOTA = "ResourceQuota"
    """Pods are refused; the limit is for each namespace."""
    KUEUE = "Kueue"
    """Jobs wait whole; the limit is for all namespaces of a team together."""
    VOLCANO = "Volcano"
    """Jobs wait in the team's queue; the limit is for all its namespaces together."""


class Supply(NamedTuple):
    """Accelerators of a model: all that machines have, and how many of them are out at worst while
    all its pools are rolled at once. Spares have no machine, so they count for nothing."""

    devices: int
    out: int


def holder(backend: Backend | None) -> Holder:
    """The holder of limits for the models of a backend; None is the default scheduler."""
    if backend is None:
        return Holder.QUOTA
    throttled = backend.scheduler is not None and backend.scheduler.throttler is not None
    usual = Holder.THROTTLE if throttled else Holder.QUOTA
    of_kind = {BackendKind.KUEUE: Holder.KUEUE, BackendKind.VOLCANO: Holder.VOLCANO}
    return of_kind.get(backend.kind, usual)


def models_held_by(site: Site, *holders: Holder) -> tuple[str, ...]:
    """The models whose limits one of these holders holds."""
    return tuple(m for m in site.models() if holder(site.backend_of(m)) in holders)


def usable_pools(site: Site, team: Team) -> tuple[Pool, ...]:
    """The pools of workers that pods of a team can use: those without a model that is limited, and
    those of models that the team is guaranteed, at whatever hour."""
    given = (*team.accelerators.items(), *team.off_peak.items())
    models = {model for model, count in given if count}
    workers = (pool for pool in site.file.pools if pool.role is Role.WORKER)
    return tuple(pool for pool in workers if site.model(pool) in {None, *models})


def object_limits(site: Site, team: Team) -> dict[str, int]:
    """The objects that each namespace of a team may hold, by resource."""
    given = team.quota or site.scheduling.quota
    return dict(sorted({**OBJECTS, **given.objects}.items()))


def compute_share(site: Site, team: Team) -> tuple[int, int] | None:
    """Cores and GiB of memory that pods in each namespace of a team may request; None: no limit."""
    share = (team.quota or site.scheduling.quota).share_percent
    if share is None:
        return None
    pools = usable_pools(site, team)
    hosts = [(site.replicas(pool), site.profile(pool)) for pool in pools]
    parts = 100 * len(team.namespaces)
    cores = sum(count * profile.cpu_cores for count, profile in hosts) * share // parts
    return cores, sum(count * profile.memory_gib for count, profile in hosts) * share // parts


def guaranteed_devices(scheduling: Scheduling, model: str) -> int:
    """The number of a model's devices that all teams together are guaranteed."""
    return sum(team.accelerators.get(model, 0) for team in scheduling.teams)


def supply(site: Site, model: str) -> Supply:
    """The supply of a model on the site."""
    pools = [(pool, site.devices(pool)) for pool in site.pools_with(model)]
    devices = sum(site.replicas(pool) * each for pool, each in pools)
    return Supply(devices, sum(machines_out(site, pool) * each for pool, each in pools))


def machines_out(site: Site, pool: Pool) -> int:
    """Machines of a pool that are missing at worst while its template is rolled out: none by a
    surge, and with OnDelete as a person chooses."""
    rollout = pool.rollout
    limits = rollout.max_unavailable, rollout.max_surge
    if pool.role is Role.CONTROL_PLANE:
        limits = control_plane_limits(site.free(pool))
    elif rollout.strategy is RolloutStrategy.ON_DELETE:
        return 0
    units = groups(site, pool)
    return sum(waves(count, *limits, site.free(pool, zone)).out for zone, count in units)


def groups(site: Site, pool: Pool) -> list[tuple[str | None, int]]:
    """The units of a rollout: the pool or, by zone, each zone, with their numbers of machines."""
    by_zone = pool.role is Role.WORKER and pool.rollout.by_zone
    zones = site.zones_of(pool) if by_zone else (None,)
    return [(zone, site.replicas(pool, zone)) for zone in zones]
