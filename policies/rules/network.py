"""Access to a site's programs, and the fate of all requests when one of them is away."""

from collections.abc import Iterator, Sequence
from itertools import combinations
from typing import NamedTuple

from policies.embedded import bodies
from policies.messages import say
from policies.nodes import GIVEN, cluster_of, selector
from policies.pods import Pod, items, pods
from policies.rule import Found, Json, Object, text
from schemas.kubernetes.bodies import mapping, texts
from schemas.kubernetes.quantities import whole
from schemas.kubernetes.selectors import has_labels
from schemas.kubernetes.tables import read_table

WEBHOOKS = frozenset({"ValidatingWebhookConfiguration", "MutatingWebhookConfiguration"})
POLICIES = frozenset({"ValidatingAdmissionPolicy", "MutatingAdmissionPolicy"})
NEEDED = frozenset({"*", "pods", "nodes", "leases", "events", "pods/*", "*/*", "nodes/*"})
"""What a cluster must write to recover (Kubernetes docs, Admission Webhook Good Practices)."""
NODE_PORTS = {int(port): owner for port, owner in read_table(__file__)["node_ports"].items()}
"""TCP ports of every node (Kubernetes docs, Ports and Protocols; kube-proxy, kubelet)."""


def _webhook_blocks(each: Object) -> Iterator[Found]:
    for place, body in bodies(each, WEBHOOKS):
        for index, hook in items(body, "webhooks"):
            resources = {
                name for _, rule in items(hook, "rules") for name in texts(rule, "resources")
            }
            # An empty selector chooses everything.
            selectors = (mapping(hook, field) for field in ("namespaceSelector", "objectSelector"))
            narrowed = any(selectors) or items(hook, "matchConditions")
            if hook.get("failurePolicy") != "Ignore" and resources & NEEDED and not narrowed:
                at = f"{place}webhooks[{index}].failurePolicy"
                yield say("webhook-blocks", at, resources & NEEDED)


def _network_policy(objects: Sequence[Object]) -> Iterator[tuple[Object, Found]]:
    chosen: dict[tuple[str, str], list[Json]] = {}
    for each in objects:
        if each.kind == "NetworkPolicy":
            wanted = mapping(each.body, "spec", "podSelector")
            chosen.setdefault((each.cluster, each.namespace), []).append(wanted)
    for each in objects:
        for pod in pods(each) if each.namespace else ():
            # A NetworkPolicy does not hold for the host's network, nor a ConfigMap's pods here.
            if pod.maker is not each.body or pod.spec.get("hostNetwork") is True:
                continue
            listed = (port for box in pod.containers for _, port in items(box.body, "ports"))
            numbers = (whole(port.get("containerPort")) for port in listed)
            ports = tuple(number for number in numbers if number)
            labels = mapping(pod.metadata, "labels")
            # An expression is taken to select: the API server alone knows all labels.
            there = chosen.get((each.cluster, each.namespace), ())
            guarded = any(has_labels(labels, mapping(one, "matchLabels")) for one in there)
            if ports and not guarded:
                yield each, say("network-policy", pod.path, (*ports,))


class Listener(NamedTuple):
    """A port that a pod takes of its host."""

    number: int
    protocol: str
    address: str
    path: str
    each: Object
    pod: Pod

    def clashes(self, other: "Listener") -> bool:
        """True if both want one port of one host."""
        same = (self.number, self.protocol) == (other.number, other.protocol)
        anywhere = ("", "0.0.0.0", "::")  # noqa: S104  compared, never bound
        meets = self.address == other.address or {self.address, other.address} & set(anywhere)
        return same and bool(meets) and self.pod is not other.pod and self._beside(other)

    def _beside(self, other: "Listener") -> bool:
        """True if both may run on one node: no label that both select by keeps them apart."""
        ours, theirs = selector(self.pod), selector(other.pod)
        apart = any(ours[key] != theirs[key] for key in GIVEN if key in ours and key in theirs)
        return self.cluster == other.cluster and not apart

    @property
    def cluster(self) -> str:
        """The cluster whose hosts they are."""
        return cluster_of(self.each, self.pod.maker)


def _host_ports_apart(objects: Sequence[Object]) -> Iterator[tuple[Object, Found]]:
    taken: dict[tuple[int, str], list[Listener]] = {}
    for each in objects:
        for pod in pods(each):
            for one in _listeners(each, pod):
                taken.setdefault((one.number, one.protocol), []).append(one)
    for (number, protocol), found in taken.items():
        for first, second in combinations(found, 2):
            if first.clashes(second):
                for one, other in ((first, second), (second, first)):
                    yield one.each, _clash(one, other.each.title)
        if protocol == "TCP" and number in NODE_PORTS:
            yield from ((one.each, _clash(one, NODE_PORTS[number])) for one in found)


def _clash(one: Listener, other: str) -> Found:
    return Found(one.path, f"port {one.number} of its hosts is that of {other} as well")


def _listeners(each: Object, pod: Pod) -> Iterator[Listener]:
    on_host = pod.spec.get("hostNetwork") is True
    for container in pod.lasting:
        for index, port in items(container.body, "ports"):
            number = whole(port.get("hostPort"))
            if on_host and not number:
                number = whole(port.get("containerPort"))
            if number:
                protocol = text(port.get("protocol")) or "TCP"
                path = f"{container.path}.ports[{index}]"
                yield Listener(number, protocol, text(port.get("hostIP")), path, each, pod)
