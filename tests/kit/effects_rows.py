"""Edits of Kubernetes' own kinds on tokyo-1, with what the rules say of each.

Expected is what the sources that the rules name make of it;
tests/components/effects/test_kubernetes_refusals.py asks a real API server which of them it takes.
"""

from typing import NamedTuple

from components.effects.applying import Applier
from components.effects.vocabulary import ABSENT, Action, Impact
from components.making.manifest import Json, Target
from tests.kit.effects_cases import (
    EVERY,
    MOST,
    MOST_OPEN,
    NOTHING,
    OPEN,
    SAMPLES,
    Edits,
    Said,
    Wrap,
    at,
)


def affinity(*terms: Json) -> Json:
    return {
        "affinity": {
            "nodeAffinity": {
                "requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": list(terms)}
            }
        }
    }


def asks(key: str, operator: str, *values: str) -> Json:
    return {"matchExpressions": [{"key": key, "operator": operator, "values": list(values)}]}


POOL = "node.cluster.x-k8s.io/pool"
CONTROL = {"key": "node-role.kubernetes.io/control-plane", "effect": "NoSchedule"}
RESERVED = {"key": "example.com/reserved", "value": "large-jobs", "effect": "NoSchedule"}
ALL = {"operator": "Exists"}
ANYWHERE = {"tolerations": [ALL]}
GENERATION = {"generation": "2"}


class Row(NamedTuple):
    """An edit of a kind's sample, and what the effects say; ``given`` are edits on both sides."""

    kind: str
    edits: Edits
    expected: set[Said]
    given: Edits = NOTHING
    wrap: Wrap = Wrap()
    by: Applier = Applier.PULUMI


def restart(where: str, most: int | None = None, action: Action | None = None) -> Said:
    return (Impact.POD_RESTART, where, most, action)


def nothing(action: Action | None = None) -> Said:
    return (Impact.NONE, "", None, action)


def unknown(action: Action | None = None) -> Said:
    return (Impact.UNKNOWN, EVERY, None, action)


IMAGE: Edits = {("spec", "template", "spec", "containers", 0, "image"): "registry.example/a:2"}
SPEC = ("spec", "template", "spec")
NODES = (*SPEC, "nodeSelector")
RESELECTED: Edits = {
    at("spec.selector.matchLabels.app"): "b",
    at("spec.template.metadata.labels.app"): "b",
}
TOLERANT: Edits = {(*SPEC, "tolerations"): [ALL]}
ON_DELETE: Edits = {at("spec.updateStrategy"): {"type": "OnDelete"}}
GPU = {"nvidia.com/gpu.present": "true"}
PROTECTED = Wrap(protect=True)
MANAGEMENT = Wrap(target=Target.MANAGEMENT)
MERGED = Applier.CLUSTER_API

DAEMON_SETS = {
    "image": Row("DaemonSet", IMAGE, {restart(OPEN, MOST_OPEN)}),
    "image, on every host": Row("DaemonSet", IMAGE, {restart(EVERY, MOST)}, TOLERANT),
    "image, on one pool": Row("DaemonSet", IMAGE, {restart("a100")}, {NODES: {POOL: "a100"}}),
    "image, nowhere": Row("DaemonSet", IMAGE, {nothing()}, {NODES: {POOL: "gone"}}),
    "image, by a label of others": Row(
        "DaemonSet", IMAGE, {restart(OPEN, MOST_OPEN)}, {NODES: GPU}
    ),
    "image, on a pool by a label of others": Row(
        "DaemonSet", IMAGE, {restart("a100", 80)}, {NODES: {POOL: "a100", **GPU}}
    ),
    "image, on the management cluster": Row("DaemonSet", IMAGE, {nothing()}, wrap=MANAGEMENT),
    "image, merged": Row("DaemonSet", IMAGE, {restart(OPEN, MOST_OPEN)}, by=MERGED),
    "annotation of pods": Row(
        "DaemonSet",
        {at("spec.template.metadata.annotations"): {"hash": "1"}},
        {restart(OPEN, MOST_OPEN)},
    ),
    "image, on delete": Row("DaemonSet", IMAGE, {nothing()}, ON_DELETE),
    "to on delete": Row("DaemonSet", ON_DELETE, {nothing()}),
    "from on delete": Row(
        "DaemonSet",
        {at("spec.updateStrategy"): {"type": "RollingUpdate"}},
        {restart(OPEN, MOST_OPEN)},
        ON_DELETE,
    ),
    "to another pool": Row(
        "DaemonSet", {NODES: {POOL: "cpu"}}, {restart("cpu a100")}, {NODES: {POOL: "a100"}}
    ),
    "to one of its pools": Row(
        "DaemonSet", {NODES: {POOL: "cpu"}}, {restart("cpu"), restart("v100 a100", 198)}
    ),
    "to other pools, on delete": Row(
        "DaemonSet", {NODES: {POOL: "cpu"}}, {nothing(), restart("v100 a100", 198)}, ON_DELETE
    ),
    "to another label of others, on delete": Row(
        "DaemonSet",
        {NODES: GPU},
        {nothing(), restart(OPEN, MOST_OPEN)},
        {NODES: {"example.com/other": "true"}, **ON_DELETE},
    ),
    "faster": Row(
        "DaemonSet", {at("spec.updateStrategy.rollingUpdate.maxUnavailable"): 9}, {nothing()}
    ),
    "to a label of others": Row("DaemonSet", {NODES: GPU}, {restart(OPEN, MOST_OPEN)}),
    "to tainted hosts": Row(
        "DaemonSet", TOLERANT, {restart(OPEN, MOST_OPEN), restart("control h100")}
    ),
    "labels of the object": Row("DaemonSet", {at("metadata.labels.tier"): "y"}, {nothing()}),
    "annotations": Row("DaemonSet", {at("metadata.annotations"): {"a": "b"}}, {nothing()}),
    "history": Row("DaemonSet", {at("spec.revisionHistoryLimit"): 3}, {nothing()}),
    "ready later": Row("DaemonSet", {at("spec.minReadySeconds"): 3}, {nothing()}),
    "selector": Row(
        "DaemonSet", RESELECTED, {restart(OPEN, MOST_OPEN, Action.REPLACED), nothing()}
    ),
    "selector, protected": Row("DaemonSet", RESELECTED, {nothing(Action.REFUSED)}, wrap=PROTECTED),
    "selector, merged": Row("DaemonSet", RESELECTED, {nothing()}, by=MERGED),
    "name": Row(
        "DaemonSet", {at("metadata.name"): "b"}, {restart(OPEN, MOST_OPEN, Action.REPLACED)}
    ),
    "field that no rule knows": Row("DaemonSet", {at("spec.later"): 1}, {unknown()}),
    "owner": Row("DaemonSet", {at("metadata.ownerReferences"): []}, {unknown()}),
}
WORKLOADS = {
    # 3 old pods and 3 new ones: on 6 hosts at most.
    "image": Row("Deployment", IMAGE, {restart(OPEN, 6)}),
    "image, one pool": Row("Deployment", IMAGE, {restart("a100", 6)}, {NODES: {POOL: "a100"}}),
    "image, no pods": Row("Deployment", IMAGE, {nothing()}, {at("spec.replicas"): 0}),
    "image, paused": Row("Deployment", IMAGE, {nothing()}, {at("spec.paused"): True}),
    "no longer paused": Row(
        "Deployment", {at("spec.paused"): False}, {restart(OPEN, 6)}, {at("spec.paused"): True}
    ),
    "more": Row("Deployment", {at("spec.replicas"): 5}, {restart(OPEN, 2)}),
    "fewer": Row("Deployment", {at("spec.replicas"): ABSENT}, {restart(OPEN, 2)}),
    "surge": Row("Deployment", {at("spec.strategy.rollingUpdate.maxSurge"): 2}, {nothing()}),
    "recreated": Row(
        "Deployment",
        {at("spec.strategy"): {"type": "Recreate"}},
        {nothing()},
        {at("spec.strategy.rollingUpdate.maxSurge"): 2, at("spec.strategy.type"): "RollingUpdate"},
    ),
    "selector": Row("Deployment", RESELECTED, {restart(OPEN, 6, Action.REPLACED), nothing()}),
    "stateful image": Row("StatefulSet", IMAGE, {restart(OPEN, 8)}),
    "stateful image, partition": Row(
        "StatefulSet",
        IMAGE,
        {restart(OPEN, 2)},
        {at("spec.updateStrategy"): {"rollingUpdate": {"partition": 3}}},
    ),
    "stateful image, on delete": Row("StatefulSet", IMAGE, {nothing()}, ON_DELETE),
    "stateful service": Row(
        "StatefulSet", {at("spec.serviceName"): "b"}, {restart(OPEN, 8, Action.REPLACED)}
    ),
    "stateful history": Row(
        "StatefulSet", {at("spec.revisionHistoryLimit"): 1}, {restart(OPEN, 8, Action.REPLACED)}
    ),
    "stateful history, merged": Row(
        "StatefulSet", {at("spec.revisionHistoryLimit"): 1}, {nothing()}, by=MERGED
    ),
    "job image": Row("Job", IMAGE, {restart(OPEN, 4, Action.REPLACED)}),
    "job image, merged": Row("Job", IMAGE, {nothing()}, by=MERGED),
    "job wider": Row("Job", {at("spec.parallelism"): 3}, {restart(OPEN, 5, Action.REPLACED)}),
    "job wider, merged": Row("Job", {at("spec.parallelism"): 3}, {restart(OPEN, 1)}, by=MERGED),
    "job longer, merged": Row(
        "Job",
        {at("spec.completions"): 3, at("spec.parallelism"): 3},
        {unknown(), restart(OPEN, 1)},
        by=MERGED,
    ),
    "job suspended": Row("Job", {at("spec.suspend"): True}, {restart(OPEN, 2)}),
    "job mode": Row("Job", {at("spec.completionMode"): "NonIndexed"}, {nothing(Action.REFUSED)}),
    "job deadline": Row("Job", {at("spec.activeDeadlineSeconds"): 1}, {unknown()}),
    "cron job": Row("CronJob", {at("spec.schedule"): "1 0 * * *"}, {nothing()}),
    "pod": Row("Pod", {("spec", "containers", 0, "image"): "b"}, {restart(OPEN, 2)}),
    "budget": Row("PodDisruptionBudget", {at("spec.maxUnavailable"): 0}, {nothing()}),
}
POD_LABEL = "pod-security.kubernetes.io/enforce"
READ = ("rules", 0, "verbs")
V1 = ("spec", "versions", 0, "schema", "openAPIV3Schema")
THING = SAMPLES["CustomResourceDefinition"]["spec"]["versions"][0]
NEXT = {**THING, "name": "v2", "storage": False}
GROUP = {"apiGroup": "rbac.authorization.k8s.io", "kind": "Group", "name": "b"}
OTHERS = {
    "priority": Row("PriorityClass", {("value",): 11}, {nothing(Action.REFUSED)}),
    "priority, default": Row("PriorityClass", {("globalDefault",): True}, {nothing()}),
    "runtime handler": Row("RuntimeClass", {("handler",): "runc"}, {nothing(Action.REFUSED)}),
    "runtime overhead": Row("RuntimeClass", {("overhead",): {"podFixed": {}}}, {nothing()}),
    "service port": Row("Service", {("spec", "ports", 0, "port"): 81}, {nothing()}),
    "service traffic": Row("Service", {at("spec.internalTrafficPolicy"): "Local"}, {nothing()}),
    "service address": Row("Service", {at("spec.clusterIP"): "None"}, {nothing(Action.REPLACED)}),
    "service address, merged": Row(
        "Service", {at("spec.clusterIP"): "None"}, {nothing()}, by=MERGED
    ),
    "namespace label": Row("Namespace", {("metadata", "labels", "queue"): "a"}, {unknown()}),
    "namespace labels gone": Row("Namespace", {("metadata", "labels"): ABSENT}, {unknown()}),
    "namespace pod security": Row(
        "Namespace", {("metadata", "labels", POD_LABEL): "baseline"}, {nothing()}
    ),
    "namespace part of": Row(
        "Namespace", {("metadata", "labels", "app.kubernetes.io/name"): "a"}, {nothing()}
    ),
    "network policy": Row(
        "NetworkPolicy", {at("spec.podSelector.matchLabels"): {"app": "a"}}, {unknown()}
    ),
    "quota": Row("ResourceQuota", {at("spec.hard.pods"): "1"}, {nothing()}),
    "quota scopes": Row(
        "ResourceQuota", {at("spec.scopes"): ["BestEffort"]}, {nothing(Action.REPLACED)}
    ),
    "limits": Row("LimitRange", {("spec", "limits"): []}, {nothing()}),
    "token": Row("ServiceAccount", {("automountServiceAccountToken",): False}, {nothing()}),
    "account renamed": Row(
        "ServiceAccount", {at("metadata.name"): "b"}, {unknown(Action.REPLACED)}
    ),
    "role gives more": Row("Role", {READ: ["get", "list", "watch"]}, {nothing()}),
    "role gives all": Row("Role", {READ: ["*"]}, {nothing()}),
    "role gives less": Row("Role", {READ: ["get"]}, {unknown()}),
    "role gives one object": Row("Role", {("rules", 0, "resourceNames"): ["a"]}, {unknown()}),
    "role that is added up": Row(
        "ClusterRole",
        {("metadata", "labels", "rbac.authorization.k8s.io/aggregate-to-view"): "true"},
        {unknown()},
    ),
    "label of a role": Row("ClusterRole", {at("metadata.labels.tier"): "y"}, {nothing()}),
    "binding to another role": Row(
        "RoleBinding", {at("roleRef.name"): "b"}, {unknown(Action.REPLACED)}
    ),
    "binding to another role, protected": Row(
        "ClusterRoleBinding", {at("roleRef.name"): "b"}, {nothing(Action.REFUSED)}, wrap=PROTECTED
    ),
    "binding of one more": Row(
        "ClusterRoleBinding",
        {("subjects",): [*SAMPLES["ClusterRoleBinding"]["subjects"], GROUP]},
        {nothing()},
    ),
    "binding of nobody": Row("ClusterRoleBinding", {("subjects",): []}, {unknown()}),
    "policy for machines": Row(
        "ValidatingAdmissionPolicy",
        {("spec", "validations"): [{"expression": "false"}]},
        {nothing()},
    ),
    "policy for nodes too": Row(
        "ValidatingAdmissionPolicy",
        {("spec", "matchConstraints", "resourceRules", 0, "resources"): ["nodes/status"]},
        {unknown()},
    ),
    "storage parameters": Row(
        "StorageClass", {at("parameters.type"): "slow"}, {nothing(Action.REPLACED)}
    ),
    "storage policy": Row(
        "StorageClass", {("reclaimPolicy",): "Retain"}, {nothing(Action.REFUSED)}
    ),
    "claim grows": Row(
        "PersistentVolumeClaim", {at("spec.resources.requests.storage"): "2Gi"}, {nothing()}
    ),
    "claim of another class": Row(
        "PersistentVolumeClaim", {at("spec.storageClassName"): "b"}, {nothing(Action.REPLACED)}
    ),
    "definition with the first field": Row(
        "CustomResourceDefinition",
        {(*V1, "properties", "spec", "properties"): {"a": {"type": "string"}}},
        {nothing()},
    ),
    "definition with a field more": Row(
        "CustomResourceDefinition", {(*V1, "properties", "more"): {"type": "object"}}, {nothing()}
    ),
    "definition with a field less": Row(
        "CustomResourceDefinition", {(*V1, "properties", "spec"): ABSENT}, {unknown()}
    ),
    "definition with a field that is filled in": Row(
        "CustomResourceDefinition",
        {(*V1, "properties", "more"): {"type": "string", "default": "a"}},
        {unknown()},
    ),
    "definition that demands more": Row(
        "CustomResourceDefinition", {(*V1, "required"): ["spec"]}, {unknown()}
    ),
    "definition in other words": Row(
        "CustomResourceDefinition", {(*V1, "description"): "a thing"}, {nothing()}
    ),
    "definition with a version more": Row(
        "CustomResourceDefinition", {("spec", "versions"): [THING, NEXT]}, {nothing()}
    ),
    "definition stored in another version": Row(
        "CustomResourceDefinition",
        {("spec", "versions"): [{**THING, "storage": False}, {**NEXT, "storage": True}]},
        {unknown()},
    ),
}


NEW_CONTENT: dict[str, Edits] = {
    "ConfigMap": {("data", "a.conf"): "2"},
    "Secret": {at("stringData.token"): "another"},
}
