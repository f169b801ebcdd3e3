"""Facts of a site's pod network that follow from its manifests."""

from schemas.facts.site import Site
from schemas.kubernetes.manifests import read_manifests

MAX_MANIFEST_BYTES = 900_000
"""Bytes that one ConfigMap holds with room to spare (etcd refuses requests over 1.5 MiB, the API
server ConfigMaps over 1 MiB)."""
ENFORCING = frozenset(
    {"antrea-agent", "calico-node", "canal", "cilium", "kube-router", "tigera-operator"}
)
"""Names of programs that enforce NetworkPolicies, in the manifests that their projects publish.
Flannel's, kube-flannel-ds, enforces none."""


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
