"""The pod network's way into the cluster: through Cluster API, or registered directly; what the
manifests say is the site's. Without a pod network no node gets ready, so its objects in the site's
own cluster are protected; a ClusterResourceSet is not, as Cluster API deletes none of them."""

import json

from components.making.brought import registered
from components.making.manifest import CRD, Manifest, Target, annotate, config_map, filled, labels
from schemas.facts.adopted import management_names
from schemas.facts.pod_network import MAX_MANIFEST_BYTES
from schemas.facts.site import Site
from schemas.kubernetes.manifests import read_manifests
from schemas.model.vocabulary import PodNetworkInstall

COMPONENT = "pod-network"


def objects(site: Site) -> list[Manifest]:
    """The objects of the pod network, on the cluster that the site's choice asks for."""
    network = site.file.cluster.pod_network
    if not network.file:
        return []  # an adopted cluster has one
    text = site.texts[network.file]
    if network.install is PodNetworkInstall.CLUSTER_RESOURCE_SET:
        return annotate(through_cluster_api(site, text))
    return annotate(directly(site, text))


def through_cluster_api(site: Site, text: str) -> list[Manifest]:
    """A ClusterResourceSet with the manifests in a ConfigMap. Strategy Reconcile applies a changed
    one again, and never deletes what was dropped (Cluster API 1.13,
    clusterresourceset_controller.go)."""
    common = {"namespace": management_names(site).namespace, "labels": labels(site.name, COMPONENT)}
    parts = {f"{COMPONENT}-{n}" if n > 1 else COMPONENT: p for n, p in enumerate(_parts(text), 1)}
    resources = [{"kind": "ConfigMap", "name": name} for name in parts]
    metadata = {"name": COMPONENT, **common}
    (resource_set,) = filled(__file__, metadata=metadata, site=site.name, resources=resources)
    return [
        *(
            config_map(name, {"name": name, **common}, {"manifests.yaml": part}, Target.MANAGEMENT)
            for name, part in parts.items()
        ),
        Manifest("ClusterResourceSet/pod-network", resource_set),
    ]


def _parts(text: str) -> list[str]:
    """A text in parts that fit into a ConfigMap each, definitions of kinds first; as it is where it
    fits whole. Cluster API applies the parts in the order in which the set names them."""
    if len(text.encode()) <= MAX_MANIFEST_BYTES:
        return [text]
    parts, room = [""], MAX_MANIFEST_BYTES
    for body in sorted(read_manifests(text), key=lambda each: each["kind"] != CRD):
        document = f"---\n{json.dumps(body, ensure_ascii=False)}\n"
        room -= len(document.encode())
        if room < 0:
            parts.append("")
            room = MAX_MANIFEST_BYTES - len(document.encode())
        parts[-1] += document
    return [part for part in parts if part]


def directly(site: Site, text: str) -> list[Manifest]:
    """Each object of the manifests, for the site's own cluster, with our labels added."""
    every = (registered(body, site.name, COMPONENT) for body in read_manifests(text))
    return [each._replace(protect=True) for each in every]
