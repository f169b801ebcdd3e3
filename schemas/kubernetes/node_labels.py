"""Labels of nodes: who sets which, and how it gets there. Cluster API copies those of some domains
from Machines in place; others are the kubelet's arguments, so a change re-images the host."""

from collections.abc import Iterable, Mapping

from schemas.kubernetes.tables import read_table

ROLE_DOMAIN = "node-role.kubernetes.io"
SYNCED_DOMAINS = ("node-restriction.kubernetes.io", "node.cluster.x-k8s.io")
"""Domains that Cluster API copies from Machines to nodes, with those below them, and the domain of
roles alone (v1.13.6, util/labels/helpers.go, GetManagedLabels)."""
HOSTNAME_LABEL = "kubernetes.io/hostname"
POOL_LABEL = "node.cluster.x-k8s.io/pool"
ACCELERATOR_LABEL = "node.cluster.x-k8s.io/accelerator"
"""The model of a node's accelerators; in this domain a change of it re-images no host."""
RAILS_LABEL = "node.cluster.x-k8s.io/rails"
"""The label with the number of rails of the fast network that a node is on."""
SRIOV_LABEL = "node.cluster.x-k8s.io/sriov"
"""Who divides a node's interfaces into functions; the SR-IOV operator finds its nodes by it."""
OWN_DOMAIN = "foresite.dev"
TEAM_LABEL = f"{OWN_DOMAIN}/team"
"""On a namespace: the team that it belongs to."""
RACK_LABEL = f"{OWN_DOMAIN}/rack"
REGION_LABEL = "topology.kubernetes.io/region"
ZONE_LABEL = "topology.kubernetes.io/zone"
LEVEL_LABELS = {"zone": ZONE_LABEL, "rack": RACK_LABEL, "host": HOSTNAME_LABEL}
"""The labels of every node that say where it is, by topology level."""
HOST_LABEL = "metal3.io/uuid"
"""By this label the Metal3 provider finds the node of a host, to set its providerID."""
MAX_ARGUMENT = 1024
"""Characters that a kubelet argument may have (KubeadmConfigSpec, kubeletExtraArgs[].value)."""
_BY_FORESITE = {POOL_LABEL, ACCELERATOR_LABEL, RAILS_LABEL, SRIOV_LABEL, REGION_LABEL, ZONE_LABEL}
_BY_OTHERS = {HOST_LABEL, HOSTNAME_LABEL, "kubernetes.io/os", "kubernetes.io/arch"}
_SET_BY_THE_SYSTEM = _BY_FORESITE | _BY_OTHERS
_KUBELET = read_table(__file__)["kubelet"]


def copied_to_nodes(key: str) -> bool:
    """True if Cluster API copies a label of a Machine to its node."""
    return key.startswith(f"{ROLE_DOMAIN}/") or _within(key, SYNCED_DOMAINS)


def is_of_machines(key: str) -> bool:
    """True if Cluster API or the Metal3 provider finds Machines and Nodes by a label."""
    return _within(key, ("cluster.x-k8s.io", "metal3.io")) and not copied_to_nodes(key)


def is_system_label(key: str) -> bool:
    """True if Foresite, the kubelet or a provider sets a label, so that nobody else may."""
    return key in _SET_BY_THE_SYSTEM or is_own(key)


def is_own(key: str) -> bool:
    """True if a label is in Foresite's domain, or in one below it."""
    return _within(key, (OWN_DOMAIN,))


def stops_kubelet(key: str) -> bool:
    """True if a kubelet does not start with a label (Kubernetes 1.34, ValidateKubeletFlags)."""
    allowed = _within(key, _KUBELET["open"]) or key in _KUBELET["open_labels"]
    return _within(key, _KUBELET["closed"]) and not allowed and not copied_to_nodes(key)


def kubelet_argument(region: str, labels: Mapping[str, str]) -> str:
    """The kubelet's ``node-labels`` for a pool with these labels, as cloud-init fills it in."""
    every = {
        **{key: value for key, value in labels.items() if not copied_to_nodes(key)},
        # Last, so that no label of a pool takes the place of one that machines are found by.
        HOST_LABEL: "{{ ds.meta_data.uuid }}",
        REGION_LABEL: region,
        ZONE_LABEL: "{{ ds.meta_data.zone }}",
        RACK_LABEL: "{{ ds.meta_data.rack }}",
    }
    return ",".join(f"{key}={value}" for key, value in sorted(every.items()))


def _within(key: str, domains: Iterable[str]) -> bool:
    """True if a key lies in one of the domains, or below one."""
    domain = key.partition("/")[0] if "/" in key else ""
    return any(domain == each or domain.endswith(f".{each}") for each in domains)
