"""The KubeSchedulerConfiguration of a scheduler: its profile, its plugins, and their arguments."""

from components.making.gang import NAME, key
from components.making.manifest import Json, filled
from components.schedulers.names import HEALTH_PORT, on_pools, pools_of
from schemas.facts.site import Site
from schemas.model.scheduling import Backend, Gang, KubeScheduler

REQUESTS_PER_SECOND = 200
"""Four times Kubernetes' own: the gang plugin writes each pod's position besides binding it, and a
gang of hundreds of pods is bound at once."""


def configuration(site: Site, backend: Backend, scheduler: KubeScheduler) -> Json:
    """The configuration of a backend's scheduler, with one profile."""
    names = plugin_names(scheduler)
    plugins = [plugin_config(scheduler, backend, name) for name in names]
    (found,) = filled(
        __file__,
        name=backend.name,
        namespace=site.scheduling.namespace,
        qps=REQUESTS_PER_SECOND,
        burst=2 * REQUESTS_PER_SECOND,
        plugins=[{"name": name} for name in names],
        config=[*_resources(site, backend), _on_its_pools(site, backend), *plugins],
    )
    return found


def plugin_names(scheduler: KubeScheduler) -> list[str]:
    """The plugins besides the default ones: first who may go, then who goes together."""
    found = {"kube-throttler": scheduler.throttler, "gang": scheduler.gang}
    return [name for name, settings in found.items() if settings is not None]


def plugin_config(scheduler: KubeScheduler, backend: Backend, name: str) -> Json:
    """The configuration of a plugin."""
    if name == "gang" and scheduler.gang is not None:
        return {"name": name, "args": gang_arguments(backend, scheduler.gang)}
    return {"name": name, "args": throttler_arguments(backend, scheduler)}


def gang_arguments(backend: Backend, gang: Gang) -> Json:
    """Arguments of the gang plugin; it only knows pods of the scheduler that it is told."""
    return {
        "gangAnnotationPrefix": gang.annotation_prefix,
        "schedulerName": backend.name,
        "gangScheduleTimeoutSecondLimit": gang.timeout_limit_seconds,
        "gangScheduleDefaultTimeoutSecond": gang.timeout_seconds,
        "gangScheduleTimeoutJitterSecond": gang.jitter_seconds,
        "healthCheckAddr": f":{HEALTH_PORT}",
    }


def throttler_arguments(backend: Backend, scheduler: KubeScheduler) -> Json:
    """Arguments of kube-throttler; with gangs it counts a whole one before it lets any pod go."""
    found: Json = {"name": scheduler.throttler, "targetSchedulerName": backend.name}
    if scheduler.gang is not None:
        found["groupNameAnnotation"] = key(scheduler.gang, NAME)
    return found


def _resources(site: Site, backend: Backend) -> list[Json]:
    """No node has the models' own resources: admission adds the device plugin's beside them. A pod
    that asks for a model of other pools stays pending."""
    models = {site.model(pool) for pool in pools_of(site, backend)}
    mine = {site.resource(model) for model in models if model}
    ignored = sorted(mine & set(site.nominal_resources()))
    if not ignored:
        return []
    return [{"name": "NodeResourcesFit", "args": {"ignoredResources": ignored}}]


def _on_its_pools(site: Site, backend: Backend) -> Json:
    """Two schedulers that count one node's devices would each give them away."""
    added = on_pools(site, backend)["nodeAffinity"]
    return {"name": "NodeAffinity", "args": {"addedAffinity": added}}
