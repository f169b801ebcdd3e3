"""Limits by team and model where Kueue admits jobs.

The cohort has what the site has, and each team's queue may borrow of it as much as the team is
guaranteed. So no team goes beyond its guarantee, and even where more is guaranteed than there is,
no job is admitted that would not fit; then lower PriorityClasses make way, of whichever team.

Sources: Kueue 0.19.2, apis/kueue/v1beta2, pkg/cache/scheduler/resource_node.go (available),
pkg/scheduler/preemption/classical, pkg/controller/constants (DefaultLocalQueueName).
"""

from collections.abc import Iterator
from typing import Any

from components.making.manifest import Json, Manifest, site_object
from components.making.rdma import needs
from components.making.taints import tolerations
from components.making.template import filled
from components.teams.names import metadata, of_team
from schemas.facts.quotas import Holder, models_held_by, supply
from schemas.facts.site import Site
from schemas.kubernetes.node_labels import ACCELERATOR_LABEL
from schemas.model.scheduling import Team

API = "kueue.x-k8s.io/v1beta2"
LOCAL_QUEUE = "default"
"""The queue of a namespace's jobs that name none, by Kueue's own rule."""
ANY_NODE = "any.node"
"""The flavour of what is not limited; names of models have no dots."""
UNLIMITED = {"cpu": "1M", "memory": "1Pi", "ephemeral-storage": "1Pi"}
UNLIMITED_DEVICES = "1M"
"""More than any site has. A queue refuses jobs that ask for what it does not cover, so it has to
cover also what is not limited."""


def queues(site: Site) -> list[Manifest]:
    """Flavours, the cohort, each team's queues, and PriorityClasses; nothing where Kueue serves no
    model."""
    models = models_held_by(site, Holder.KUEUE)
    if not models:
        return []
    teams = site.scheduling.teams
    return [
        *(_flavor(site, model) for model in models),
        _kueue_object(site, "ResourceFlavor", ANY_NODE, spec={}),
        _cohort(site, models),
        *(_cluster_queue(site, team, models) for team in teams),
        *(_local_queue(site, team, name) for team in teams for name in team.namespaces),
        *_workload_priorities(site),
    ]


def _kueue_object(site: Site, kind: str, name: str, **fields: Any) -> Manifest:
    return site_object(f"{kind}/{name}", API, metadata(site, name), **fields)


def _flavor(site: Site, model: str) -> Manifest:
    """The nodes of a model, with the tolerations that pods need there."""
    spec: Json = {"nodeLabels": {ACCELERATOR_LABEL: model}}
    tolerated = tolerations(site.pools_with(model))
    if tolerated:
        spec["tolerations"] = tolerated
    return _kueue_object(site, "ResourceFlavor", model, spec=spec)


def _cohort(site: Site, models: tuple[str, ...]) -> Manifest:
    """The resources of all teams together: the devices of all machines, and no limit of the
    rest."""
    groups = [
        _group(
            model,
            [{"name": site.resource(model), "nominalQuota": str(supply(site, model).devices)}],
        )
        for model in models
    ]
    every = [
        {"name": name, "nominalQuota": much} for name, much in _unlimited_resources(site).items()
    ]
    spec = {"resourceGroups": [*groups, _group(ANY_NODE, every)]}
    # There is one, however the site is called.
    return _kueue_object(site, "Cohort", site.name, spec=spec)._replace(name="Cohort")


def _group(flavor: str, resources: list[Json]) -> Json:
    names = [each["name"] for each in resources]
    return {"coveredResources": names, "flavors": [{"name": flavor, "resources": resources}]}


def _unlimited_resources(site: Site) -> dict[str, str]:
    """The resources that jobs may request besides, without a limit: network devices, the plugins'
    own resources, which admission adds to pods, and models that something else limits.

    Those too, as Kueue takes every job and pod of a namespace with a default queue for its own.
    """
    found = dict(UNLIMITED)
    prefix = site.file.network_devices.prefix
    for pool in site.worker_pools:
        names = [*needs(site, pool, "").resources]
        names += [f"{prefix}/{each.name}" for each in pool.network_devices.sriov]
        model = site.model(pool)
        if model:
            names += [site.resource(model), site.accelerators[model].plugin.resource]
        found |= dict.fromkeys(names, UNLIMITED_DEVICES)
    for model in models_held_by(site, Holder.KUEUE):
        found.pop(site.resource(model), None)
    return found


def _cluster_queue(site: Site, team: Team, models: tuple[str, ...]) -> Manifest:
    groups = []
    for model in models:
        most = str(team.accelerators.get(model, 0))
        given = {"name": site.resource(model), "nominalQuota": "0", "borrowingLimit": most}
        groups.append(_group(model, [given]))
    rest = [{"name": name, "nominalQuota": "0"} for name in _unlimited_resources(site)]
    (spec,) = filled(
        __file__,
        cohort=site.name,
        team=of_team(team),
        groups=[*groups, _group(ANY_NODE, rest)],
    )
    return _kueue_object(site, "ClusterQueue", team.name, spec=spec)


def _local_queue(site: Site, team: Team, namespace: str) -> Manifest:
    named, spec = metadata(site, LOCAL_QUEUE, namespace), {"clusterQueue": team.name}
    return site_object(f"LocalQueue/{namespace}", API, named, spec=spec)


def _workload_priorities(site: Site) -> Iterator[Manifest]:
    """The PriorityClasses once more, for the label by which a job may name one for its queue
    alone."""
    for priority in site.scheduling.priorities:
        yield _kueue_object(site, "WorkloadPriorityClass", priority.name, value=priority.value)
