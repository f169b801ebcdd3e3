"""Facts of a site's pod network that follow from its manifests."""

from schemas.facts.site import Site
from schemas.kubernetes.manifests import read_manifests

MAX_MANIFEST_BYTES = 900_000
"""Bytes of one ConfigMap, with room to spare (etcd takes 1.5 MiB, the API server 1 MiB)."""
ENFORCING = frozenset(
    {"antrea-agent", "calico-node", "canal", "cilium", "kube-router", "tigera-operator"}
)
"""Programs that enforce NetworkPolicies, as their manifests name them; Flannel's does not."""


def isolates_teams(site: Site) -> bool:
    """True if teams get NetworkPolicies: as the site says, or as its pod network is known."""
    said = site.scheduling.network_policy
    return enforces_policies(site) if said is None else said


def enforces_policies(site: Site) -> bool:
    """True if the pod network is known to enforce NetworkPolicies."""
    # A program whose cluster others make says nothing of its pod network.
    network = getattr(site.file.cluster, "pod_network", None)
    text = site.texts[network.file] if network and network.file else ""
    names = {each["metadata"]["name"] for each in read_manifests(text) if "spec" in each}
    return bool(names & ENFORCING)
