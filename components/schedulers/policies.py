"""The policy that sends each pod to the scheduler of its pool."""

from components.making.manifest import Json, Manifest
from components.making.told import Told
from components.schedulers.admission import literal, policy
from components.schedulers.names import backends, pools_of
from schemas.facts.site import Site
from schemas.kubernetes.node_labels import POOL_LABEL
from schemas.model.scheduling import DEFAULT_SCHEDULER, Backend, scheduler_name
from schemas.model.vocabulary import BackendKind, Role

SCHEDULERS = "schedulers"
TOLD = Told(__file__)


def scheduler_policies(site: Site) -> list[Manifest]:
    """The policy, where some pools have a scheduler of their own."""
    owning = [each for each in backends(site) if each.kind is not BackendKind.KUEUE]
    if not owning:
        return []
    served = literal(served_models(site))
    variables = TOLD.table("variables", served=served, label=POOL_LABEL)
    return policy(site, SCHEDULERS, variables, _checks(site, owning))


def served_models(site: Site) -> dict[str, str]:
    """The scheduler of each model, by the resource that pods ask for."""
    found = {each: scheduler_name(site.backend_of(each)) for each in site.models()}
    return dict(sorted((site.resource(model), name) for model, name in found.items()))


def _checks(site: Site, owning: list[Backend]) -> list[Json]:
    names, free = [each.name for each in owning], _free(site)
    values = {
        "label": POOL_LABEL,
        "default": DEFAULT_SCHEDULER,
        "schedulers": literal([DEFAULT_SCHEDULER, *names]),
        "either": f"{'one of ' if names[1:] else ''}schedulerName: {', '.join(names)}",
        "free": literal(free),
        "pools": " or ".join(free),
    }
    return [
        *TOLD.rows("chosen", **values),
        *TOLD.rows("by_default" if free else "never_by_default", **values),
        *(check for each in owning for check in _on_own_pools(site, each)),
        *TOLD.rows("on_no_node"),
    ]


def _free(site: Site) -> list[str]:
    """The pools that the default scheduler serves for teams: not a control plane that keeps pods
    out, as they would land beside etcd, or wait for ever."""
    return [
        pool.name
        for pool in site.file.pools
        if scheduler_name(site.backend(pool)) == DEFAULT_SCHEDULER
        and (pool.role is not Role.CONTROL_PLANE or pool.taints is not None)
    ]


def _on_own_pools(site: Site, backend: Backend) -> list[Json]:
    name = "bound_to_own_pools" if backend.kind is BackendKind.VOLCANO else "on_own_pools"
    pools = [pool.name for pool in pools_of(site, backend)]
    values = {"own": literal(pools), "pools": " or ".join(pools), "label": POOL_LABEL}
    return TOLD.rows(name, name=backend.name, **values)
