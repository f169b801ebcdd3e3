"""Limits by team and model where Kueue admits jobs.

With a topology the flavours of models name it. Then Kueue wants all resources of a pod from one
flavour, so one group covers them all, and the flavour of any node, which has no devices, is first.
"""

from collections.abc import Mapping
from typing import Any

from components.making.manifest import Json, Manifest, filled, hash_name, prune, site_object
from components.making.rdma import needs
from components.making.taints import tolerations
from components.teams.names import metadata, of_team
from schemas.facts.quotas import Holder, models_held_by, supply
from schemas.facts.racks import domain_settings
from schemas.facts.site import Site
from schemas.kubernetes.node_labels import ACCELERATOR_LABEL, LEVEL_LABELS
from schemas.model.accelerators import CHANNEL_RESOURCE
from schemas.model.scheduling import Team
from schemas.model.vocabulary import BackendKind

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
    """Flavours, the cohort, teams' queues, PriorityClasses; nothing where Kueue serves no model."""
    models = models_held_by(site, Holder.KUEUE)
    if not models:
        return []
    teams, topology = site.scheduling.teams, _topology(site)
    return [
        *([topology] if topology else ()),
        *(_flavor(site, model) for model in models),
        _kueue_object(site, "ResourceFlavor", ANY_NODE, spec={}),
        _cohort(site, models),
        *(_cluster_queue(site, team, models) for team in teams),
        *(_local_queue(site, team, name) for team in teams for name in team.namespaces),
        # Once more, for the label by which a job may name one for its queue alone.
        *(
            _kueue_object(site, "WorkloadPriorityClass", each.name, value=each.value)
            for each in site.scheduling.priorities
        ),
    ]


def _kueue_object(site: Site, kind: str, name: str, **fields: Any) -> Manifest:
    return site_object(f"{kind}/{name}", API, metadata(site, name), **fields)


def _topology(site: Site) -> Manifest | None:
    """The topology of Kueue's pools, if any; its levels never change, so they are in its name."""
    kueue = (each for each in site.scheduling.backends if each.kind is BackendKind.KUEUE)
    levels = [{"nodeLabel": LEVEL_LABELS[level]} for each in kueue for level in each.topology]
    spec = {"levels": levels}
    made = _kueue_object(site, "Topology", hash_name(site.name, spec), spec=spec)
    return made._replace(name="Topology") if levels else None


def _flavor(site: Site, model: str) -> Manifest:
    """The nodes of a model, with the tolerations that pods need there. With a topology no field of
    a flavour ever changes, so they are in its name."""
    topology = _topology(site)
    spec: Json = {
        "nodeLabels": {ACCELERATOR_LABEL: model},
        "tolerations": tolerations(site.pools_with(model)) or None,
        "topologyName": topology.key[3] if topology else None,
    }
    spec = prune(spec)
    name = hash_name(model, spec) if topology else model
    made = _kueue_object(site, "ResourceFlavor", name, spec=spec)
    return made._replace(name=f"ResourceFlavor/{model}")


def _cohort(site: Site, models: tuple[str, ...]) -> Manifest:
    """The resources of all teams together: all machines' devices, and no limit of the rest."""
    limits = {each: {"nominalQuota": str(supply(site, each).devices)} for each in models}
    every = {name: {"nominalQuota": much} for name, much in _unlimited_resources(site).items()}
    # There is one, however the site is called.
    spec = {"resourceGroups": _groups(site, limits, every)}
    return _kueue_object(site, "Cohort", site.name, spec=spec)._replace(name="Cohort")


def _groups(site: Site, limits: Mapping[str, Json], every: Mapping[str, Json]) -> list[Json]:
    """The limits of models and of all else: a group for each or, with a topology, one for all."""
    own = {model: {site.resource(model): limit} for model, limit in limits.items()}
    flavors = {ANY_NODE: every, **{_flavor(site, each).key[3]: own[each] for each in own}}
    if _topology(site) is None:
        return [_group({name: flavors[name]}) for name in (*own, ANY_NODE)]
    none = {site.resource(each): {"nominalQuota": "0"} for each in own}
    return [_group({name: {**every, **none, **found} for name, found in flavors.items()})]


def _group(flavors: Mapping[str, Mapping[str, Json]]) -> Json:
    """A group of flavours with the same resources."""
    return {
        "coveredResources": list(next(iter(flavors.values()))),
        "flavors": [
            {"name": name, "resources": [{"name": each, **limit} for each, limit in found.items()]}
            for name, found in flavors.items()
        ],
    }


def _unlimited_resources(site: Site) -> dict[str, str]:
    """The resources that jobs may request besides, without a limit: network devices, the plugins'
    own, which admission adds, and models that something else limits. Kueue takes every job and pod
    of a namespace with a default queue for its own."""
    found = dict(UNLIMITED)
    prefix = site.file.network_devices.prefix
    for pool in site.worker_pools:
        names = [*needs(site, pool, "").resources]
        names += [f"{prefix}/{each.name}" for each in pool.network_devices.sriov]
        model = site.model(pool)
        if model:
            names += [site.resource(model), site.accelerators[model].plugin.resource]
        found |= dict.fromkeys(names, UNLIMITED_DEVICES)
    if domain_settings(site) is not None:
        # Kueue 0.19.2, pkg/dra/claims.go: it holds jobs whose claims it cannot count.
        found[CHANNEL_RESOURCE] = UNLIMITED_DEVICES
    for model in models_held_by(site, Holder.KUEUE):
        found.pop(site.resource(model), None)
    return found


def _cluster_queue(site: Site, team: Team, models: tuple[str, ...]) -> Manifest:
    limits = {
        model: {"nominalQuota": "0", "borrowingLimit": str(team.accelerators.get(model, 0))}
        for model in models
    }
    every = {name: {"nominalQuota": "0"} for name in _unlimited_resources(site)}
    groups = _groups(site, limits, every)
    (spec,) = filled(__file__, cohort=site.name, team=of_team(team), groups=groups)
    return _kueue_object(site, "ClusterQueue", team.name, spec=spec)


def _local_queue(site: Site, team: Team, namespace: str) -> Manifest:
    named, spec = metadata(site, LOCAL_QUEUE, namespace), {"clusterQueue": team.name}
    return site_object(f"LocalQueue/{namespace}", API, named, spec=spec)
