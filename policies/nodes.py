"""The nodes that a site's machines become, as its objects tell: labels and how many.

Cluster API gives a Node those labels of its Machine that start with ``node-role.kubernetes.io/``,
or whose domain is or ends in ``node.cluster.x-k8s.io`` or ``node-restriction.kubernetes.io``
(cluster-api 1.13, api/core/v1beta2/machine_types.go, ManagedNodeLabelDomain).
"""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from policies.pods import Pod
from policies.rule import Json, Object
from schemas.kubernetes.bodies import mapping
from schemas.kubernetes.node_labels import ACCELERATOR_LABEL, POOL_LABEL
from schemas.kubernetes.quantities import whole
from schemas.kubernetes.selectors import has_labels

CONTROL_PLANE = "node-role.kubernetes.io/control-plane"
CONTROL_PLANE_MACHINE = "cluster.x-k8s.io/control-plane"
"""On Machines alone, and so what a MachineHealthCheck selects by."""
GIVEN = frozenset({POOL_LABEL, ACCELERATOR_LABEL, CONTROL_PLANE, CONTROL_PLANE_MACHINE})
"""Labels that only Cluster API and kubeadm give."""


class Nodes(NamedTuple):
    """Nodes of equal labels, those that only their Machines have included, and their number."""

    labels: Json
    number: int


def nodes(objects: Iterable[Object]) -> list[Nodes]:
    """The nodes of a site, by what makes their machines; empty where nothing does."""
    found = []
    for each in objects:
        if each.kind not in ("MachineDeployment", "KubeadmControlPlane"):
            continue
        spec = mapping(each.body, "spec")
        first = each.kind == "KubeadmControlPlane"
        template = "machineTemplate" if first else "template"
        labels = mapping(spec, template, "metadata", "labels")
        role = {CONTROL_PLANE: "", CONTROL_PLANE_MACHINE: ""} if first else {}
        found.append(Nodes({**labels, **role}, whole(spec.get("replicas")) or 0))
    return found


def cluster_of(each: Object, body: Json) -> str:
    """The cluster that an object is for. What is text in an object of the management cluster is for
    the site's own, as a file of a host or what a ClusterResourceSet applies."""
    return each.cluster if body is each.body else "site"


def selector(pod: Pod) -> Json:
    """The labels that a pod selects its node by, without the additions of its affinity."""
    return mapping(pod.spec, "nodeSelector")


def fits(chosen: Json, group: Nodes) -> bool:
    """True if nodes may have a selector's labels: those of others are taken as there."""
    return has_labels(group.labels, {key: chosen[key] for key in chosen if key in GIVEN})


def count_nodes(chosen: Json, groups: Sequence[Nodes]) -> int | None:
    """The number of nodes with the labels of a selector; None where the objects do not tell."""
    if not groups or not GIVEN.issuperset(chosen):
        return None
    return sum(group.number for group in groups if fits(chosen, group))


def places(pod: Pod, groups: Sequence[Nodes]) -> int | None:
    """How many nodes a pod may run on; None where the objects do not tell."""
    affinity = mapping(pod.spec, "affinity", "nodeAffinity")
    return None if affinity else count_nodes(selector(pod), groups)
