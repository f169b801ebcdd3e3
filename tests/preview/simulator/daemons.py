"""Pods of DaemonSets that restart on a node, because their template changed."""

import re
from collections.abc import Iterator
from functools import cache

import yaml

from tests.preview.simulator.world import Bodies, Body, bare_metal

SYNCED = re.compile(r"(^|\.)(node\.cluster\.x-k8s\.io|node-restriction\.kubernetes\.io)$")
"""Domains of labels that Cluster API syncs from a Machine to its Node."""

CONTROL = "node-role.kubernetes.io/control-plane"
BY_ROLE: list[Body] = [{"key": CONTROL, "effect": "NoSchedule"}]
"""Taints that kubeadm gives a node of the control plane."""


def daemon_sets(objects: Bodies) -> dict[tuple[str, str], Body]:
    """The site's DaemonSets by namespace and name, those of a ClusterResourceSet too."""
    found = [body for (kind, _), body in objects.items() if kind == "DaemonSet"]
    found += [each for each in _delivered(objects) if each.get("kind") == "DaemonSet"]
    return {
        (each["metadata"].get("namespace", ""), each["metadata"]["name"]): each for each in found
    }


def _delivered(objects: Bodies) -> Iterator[Body]:
    """What a ClusterResourceSet applies again when it changes (strategy Reconcile)."""
    for (kind, _), body in objects.items():
        if kind == "ClusterResourceSet" and body["spec"].get("strategy") == "Reconcile":
            for resource in body["spec"]["resources"]:
                data = objects[resource["kind"], resource["name"]].get("data", {})
                for text in data.values():
                    yield from _parsed(text)


@cache
def _parsed(text: str) -> list[Body]:
    return [each for each in yaml.load_all(text, yaml.CSafeLoader) if each]


def restarts(base: Bodies, head: Bodies) -> tuple[set[str], set[str]]:
    """Hosts on which a pod restarts, if they are nodes; and those on which a pod may start or stop,
    as a DaemonSet comes or goes."""
    before, after = daemon_sets(base), daemon_sets(head)
    changed = [
        each
        for name, each in before.items()
        if name in after
        and after[name]["spec"]["template"] != each["spec"]["template"]
        and after[name]["spec"].get("updateStrategy", {}).get("type") != "OnDelete"
    ]
    pools = {
        name: body["metadata"]["labels"]["foresite.dev/pool"]
        for name, body in bare_metal(base).items()
    }
    hit = {
        pool
        for pool in set(pools.values())
        if changed and any(_runs_on(each, *_node(base, pool)) for each in changed)
    }
    surely = {name for name, pool in pools.items() if pool in hit}
    return surely, set() if before.keys() == after.keys() else {*pools, *bare_metal(head)}


def _node(objects: Bodies, pool: str) -> tuple[dict[str, str], list[Body]]:
    """Labels (as far as all hosts of a pool have them) and taints of a pool's nodes."""
    labels: dict[str, str] = {"kubernetes.io/os": "linux"}
    for (kind, _), body in objects.items():
        if kind == "MachineDeployment":
            own = body["spec"]["template"]["metadata"]["labels"]
            if own.get("node.cluster.x-k8s.io/pool") == pool:
                name = body["spec"]["template"]["spec"]["bootstrap"]["configRef"]["name"]
                spec = objects["KubeadmConfigTemplate", name]["spec"]["template"]["spec"]
                return labels | _synced(own), _taints(spec, [])
        elif kind == "KubeadmControlPlane":
            own = body["spec"]["machineTemplate"]["metadata"]["labels"]
            if own.get("node.cluster.x-k8s.io/pool") == pool:
                taints = _taints(body["spec"]["kubeadmConfigSpec"], BY_ROLE)
                return labels | {CONTROL: ""} | _synced(own), taints
    raise AssertionError(f"no Machines of pool {pool}")


def _synced(labels: dict[str, str]) -> dict[str, str]:
    return {key: value for key, value in labels.items() if SYNCED.search(key.partition("/")[0])}


def _taints(spec: Body, default: list[Body]) -> list[Body]:
    found = spec.get("joinConfiguration", {}).get("nodeRegistration", {}).get("taints", default)
    return list(found)


def _runs_on(daemon_set: Body, labels: dict[str, str], taints: list[Body]) -> bool:
    spec = daemon_set["spec"]["template"]["spec"]
    if not spec.get("nodeSelector", {}).items() <= labels.items():
        return False
    required = (
        spec.get("affinity", {})
        .get("nodeAffinity", {})
        .get("requiredDuringSchedulingIgnoredDuringExecution", {})
        .get("nodeSelectorTerms")
    )
    if required and not any(
        all(_holds(each, labels) for each in term.get("matchExpressions", [])) for term in required
    ):
        return False
    hard = [each for each in taints if each["effect"] != "PreferNoSchedule"]
    return all(any(_tolerates(t, each) for t in spec.get("tolerations", [])) for each in hard)


def _holds(term: Body, labels: dict[str, str]) -> bool:
    key, there = term["key"], term["key"] in labels
    match term["operator"]:
        case "In":
            return there and labels[key] in term["values"]
        case "NotIn":
            return not there or labels[key] not in term["values"]
        case "Exists":
            return there
        case other:
            assert other == "DoesNotExist", other
            return not there


def _tolerates(toleration: Body, taint: Body) -> bool:
    if toleration.get("effect") not in (None, "", taint["effect"]):
        return False
    if toleration.get("operator") == "Exists":
        return toleration.get("key") in (None, "", taint["key"])
    return (toleration.get("key"), toleration.get("value", "")) == (
        taint["key"], taint.get("value", ""))  # fmt: skip
