"""The pod network's way into the cluster: through Cluster API, or registered directly.

Owns how the manifests get there, not what they say: that is the site's. Without a pod network no
node gets ready, so its objects in the site's own cluster are protected; a ClusterResourceSet is
not, as Cluster API never deletes what it applied.
"""

from pathlib import Path

from components.making.manifest import Manifest, Target, annotate, config_map, labels
from components.making.template import filled
from schemas.facts.site import Site
from schemas.kubernetes.manifests import read_manifests
from schemas.model.vocabulary import PodNetworkInstall

COMPONENT = "pod-network"


def objects(site: Site) -> list[Manifest]:
    """The objects of the pod network, on the cluster that the site's choice asks for."""
    network = site.file.cluster.pod_network
    text = site.texts[network.manifests]
    if network.install is PodNetworkInstall.CLUSTER_RESOURCE_SET:
        return annotate(through_cluster_api(site, text))
    return annotate(directly(site, text))


def through_cluster_api(site: Site, text: str) -> list[Manifest]:
    """A ClusterResourceSet with the manifests in a ConfigMap.

    Strategy Reconcile applies a changed ConfigMap again; it never deletes what was dropped from it
    (Cluster API 1.13, clusterresourceset_controller.go).
    """
    metadata = {
        "name": COMPONENT,
        "namespace": site.name,
        "labels": labels(site.name, COMPONENT),
    }
    (resource_set,) = filled(Path(__file__).with_suffix(".yaml"), metadata=metadata, site=site.name)
    return [
        config_map("pod-network", metadata, {"manifests.yaml": text}, Target.MANAGEMENT),
        Manifest("ClusterResourceSet/pod-network", resource_set),
    ]


def directly(site: Site, text: str) -> list[Manifest]:
    """Each object of the manifests, for the site's own cluster, with our labels added."""
    found = []
    for body in read_manifests(text):
        metadata = body["metadata"]
        ours = {**metadata.get("labels", {}), **labels(site.name, COMPONENT)}
        namespace = metadata.get("namespace")
        where = f"{namespace}/" if namespace else ""
        logical = f"{body['kind']}/{where}{metadata['name']}"
        whole = {**body, "metadata": {**metadata, "labels": ours}}
        found.append(Manifest(logical, whole, target=Target.SITE, protect=True))
    return found
