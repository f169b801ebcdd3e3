"""On which hosts of a site a pod runs, as far as Git says.

Labels of nodes come from Foresite, from kubeadm and the kubelet, and from others (node feature
discovery, an operator, a person): a label that only others can set may be there or not, so a host
that it decides about may have the pod. Resources are not counted: a pod that asks for a device is
taken to fit everywhere else it may go.

Source: Kubernetes 1.34, component-helpers scheduling/corev1/nodeaffinity/nodeaffinity.go, api
core/v1/toleration.go, pkg/controller/daemon/daemon_controller.go (NodeShouldRunDaemonPod).
"""

from collections.abc import Iterable, Iterator, Mapping
from enum import IntEnum
from typing import Any, NamedTuple

from components.effects import Side
from components.effects.fleet import Group, Host
from components.making.manifest import Json
from components.making.taints import KEEPS_PODS_OUT
from schemas.kubernetes.bodies import items, mapping, texts
from schemas.kubernetes.node_labels import HOSTNAME_LABEL, is_own
from schemas.kubernetes.selectors import OPERATORS

OS_LABEL = "kubernetes.io/os"

_BUILT_IN = {
    "node.kubernetes.io/not-ready": "NoExecute",
    "node.kubernetes.io/unreachable": "NoExecute",
    "node.kubernetes.io/disk-pressure": "NoSchedule",
    "node.kubernetes.io/memory-pressure": "NoSchedule",
    "node.kubernetes.io/pid-pressure": "NoSchedule",
    "node.kubernetes.io/unschedulable": "NoSchedule",
}
"""Taints that pods of every DaemonSet tolerate (pkg/controller/daemon/util/daemonset_util.go)."""


class Fit(IntEnum):
    """The fit of a pod on a host; the least of conditions counts, or the best of alternatives."""

    NO = 0
    MAYBE = 1
    """A label that is not in Git decides."""
    YES = 2


class _Node(NamedTuple):
    """The known labels of a host's node; of a key outside ``known`` nothing is known."""

    name: str
    labels: Mapping[str, str]
    known: frozenset[str]


def fits(side: Side, pod_spec: Json, given: frozenset[str] = frozenset()) -> dict[str, Fit]:
    """Each host by name, and whether such a pod runs there; ``given``: further labels in Git."""
    fleet, found = side.fleet, {}
    known = fleet.label_keys | given
    # True if the spec tells hosts of one rack apart.
    by_name = bool(pod_spec.get("nodeName")) or HOSTNAME_LABEL in set(selected_labels(pod_spec))
    seen: dict[tuple[object, ...], Fit] = {}
    for group in fleet.groups:
        for host in group.hosts:
            alike = (group.owner, host.labels, host.name if by_name else "")
            if alike not in seen:
                node = _Node(host.name, node_labels(group, host), known)
                seen[alike] = _fit(pod_spec, node, group.taints)
            found[host.name] = seen[alike]
    return {name: found[name] for name in fleet.names if name in found}


def tolerating(pod_spec: Json) -> Json:
    """The spec as a DaemonSet's controller makes it: tolerating the taints of a node in trouble."""
    taints = dict(_BUILT_IN)
    if pod_spec.get("hostNetwork"):
        taints["node.kubernetes.io/network-unavailable"] = "NoSchedule"
    more = [{"key": key, "operator": "Exists", "effect": effect} for key, effect in taints.items()]
    return {**pod_spec, "tolerations": [*items(pod_spec, "tolerations"), *more]}


def running(side: Side, hosts: Iterable[str]) -> int:
    """How many of the hosts can be nodes: a pool's spares have no machine, whichever they are."""
    wanted = set(hosts)
    groups = side.fleet.groups
    return sum(min(sum(h.name in wanted for h in each.hosts), each.replicas) for each in groups)


def node_labels(group: Group, host: Host) -> dict[str, str]:
    """The labels of a host's node that are in Git, and those that follow from its being one."""
    return {**group.labels, HOSTNAME_LABEL: host.name, **dict(host.labels)}


def _fit(pod_spec: Json, node: _Node, taints: Iterable[Json]) -> Fit:
    tolerations = items(pod_spec, "tolerations")
    for taint in taints:
        kept_out = taint["effect"] in KEEPS_PODS_OUT
        if kept_out and not any(_tolerates(each, taint) for each in tolerations):
            return Fit.NO
    asked = pod_spec.get("nodeName")
    if asked and asked != node.name:
        return Fit.NO
    selector = mapping(pod_spec, "nodeSelector")
    found = [_requirement_fit(node, key, "In", [value]) for key, value in selector.items()]
    terms = _terms(pod_spec)
    if terms is not None:
        found.append(max((_term(node, term) for term in terms), default=Fit.NO))
    return min(found, default=Fit.YES)


def _terms(pod_spec: Json) -> list[Json] | None:
    """The alternatives of the required node affinity; None where there is none."""
    affinity = mapping(pod_spec, "affinity", "nodeAffinity")
    required = affinity.get("requiredDuringSchedulingIgnoredDuringExecution")
    return items(required, "nodeSelectorTerms") if isinstance(required, dict) else None


def _term(node: _Node, term: Json) -> Fit:
    """The fit of a node to all of a term; a term without conditions fits no node."""
    found = [
        _requirement_fit(node, str(e.get("key")), str(e.get("operator")), texts(e, "values"))
        for e in items(term, "matchExpressions")
    ]
    for each in items(term, "matchFields"):
        matches = (node.name in texts(each, "values")) == (each.get("operator") == "In")
        found.append(Fit.YES if matches else Fit.NO)
    return min(found, default=Fit.NO)


def _requirement_fit(node: _Node, key: str, operator: str, values: list[Any]) -> Fit:
    # Our own labels are in Git, but for those that a node has only during its repair.
    if key not in node.known and not is_own(key):
        return Fit.MAYBE
    test = OPERATORS.get(operator)
    if test is None:
        return Fit.MAYBE
    return Fit.YES if test(node.labels.get(key), values) else Fit.NO


def _tolerates(toleration: Json, taint: Json) -> bool:
    """True if one toleration covers a taint; a field that it leaves out covers all values."""
    if toleration.get("effect") and toleration["effect"] != taint["effect"]:
        return False
    if toleration.get("key") and toleration["key"] != taint["key"]:
        return False
    operator = toleration.get("operator") or "Equal"
    same = (toleration.get("value") or "") == taint["value"]
    return operator == "Exists" or (operator == "Equal" and same)


def selected_labels(pod_spec: Json) -> Iterator[str]:
    """The labels of nodes that a pod spec selects by."""
    yield from mapping(pod_spec, "nodeSelector")
    for term in _terms(pod_spec) or []:
        yield from (str(each.get("key")) for each in items(term, "matchExpressions"))
        if items(term, "matchFields"):
            yield HOSTNAME_LABEL
