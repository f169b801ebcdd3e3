"""The KubeSchedulerConfiguration of a scheduler: its profile, its plugins, and their arguments."""

from collections.abc import Iterator

from components.making.gang import NAME, key
from components.making.manifest import Json, filled, prune
from components.schedulers.names import HEALTH_PORT, on_pools, pools_of
from schemas.facts.site import Site
from schemas.model.scheduling import Backend, KubeScheduler

REQUESTS_PER_SECOND = 200
"""Four times Kubernetes' own: the gang plugin writes each pod's position besides binding it, and a
gang of hundreds of pods is bound at once."""


def configuration(site: Site, backend: Backend, scheduler: KubeScheduler) -> Json:
    """The configuration of a backend's scheduler, with one profile."""
    plugins = [prune(each) for each in _plugins(backend, scheduler)]
    added = on_pools(site, backend)["nodeAffinity"]
    # Two schedulers that count one node's devices would each give them away.
    on_its_pools = {"name": "NodeAffinity", "args": {"addedAffinity": added}}
    return filled(
        __file__,
        name=backend.name,
        namespace=site.scheduling.namespace,
        qps=REQUESTS_PER_SECOND,
        burst=2 * REQUESTS_PER_SECOND,
        plugins=[{"name": each["name"]} for each in plugins],
        config=[*_resources(site, backend), on_its_pools, *plugins],
    )[0]


def _plugins(backend: Backend, scheduler: KubeScheduler) -> Iterator[Json]:
    """The plugins besides the default ones, with their arguments: first who may go, then who goes
    together. With gangs kube-throttler counts a whole one before it lets any pod go; the gang
    plugin only knows pods of the scheduler that it is told."""
    gang = scheduler.gang
    if scheduler.throttler is not None:
        arguments: Json = {
            "name": scheduler.throttler,
            "targetSchedulerName": backend.name,
            "groupNameAnnotation": key(gang, NAME) if gang else None,
        }
        yield {"name": "kube-throttler", "args": arguments}
    if gang is not None:
        arguments = {
            "gangAnnotationPrefix": gang.annotation_prefix,
            "schedulerName": backend.name,
            "gangScheduleTimeoutSecondLimit": gang.timeout_limit_seconds,
            "gangScheduleDefaultTimeoutSecond": gang.timeout_seconds,
            "gangScheduleTimeoutJitterSecond": gang.jitter_seconds,
            "healthCheckAddr": f":{HEALTH_PORT}",
        }
        yield {"name": "gang", "args": arguments}


def _resources(site: Site, backend: Backend) -> list[Json]:
    """No node has the models' own resources: admission adds the device plugin's beside them. A pod
    that asks for a model of other pools stays pending."""
    models = {site.model(pool) for pool in pools_of(site, backend)}
    mine = {site.resource(model) for model in models if model}
    ignored = sorted(mine & set(site.nominal_resources()))
    fit = {"name": "NodeResourcesFit", "args": {"ignoredResources": ignored}}
    return [fit] if ignored else []
