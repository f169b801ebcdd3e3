"""One good object of each kind that rules look at: a test changes it in one place, and the rule
that this breaks says so.

``found`` runs one rule, found by its name, so that a test fails when the rule is not joined either.
"""

import copy
from typing import Any

from policies.judge import findings
from policies.rule import Found, Object
from policies.rules import RULES
from tests.kit.good_objects import GONE, Place, changed

__all__ = ["GONE", "GOOD", "POD", "WEB", "Place", "changed", "found", "good", "paths", "pod"]

Json = dict[str, Any]
DIGEST = "sha256:" + "5f1d" * 16
LABELS = {
    "app.kubernetes.io/name": "web",
    "app.kubernetes.io/managed-by": "foresite",
    "foresite.dev/component": "object-cache",
    "foresite.dev/site": "tokyo-1",
}
POD: Place = ("spec", "template", "spec")
"""Where most workloads keep the spec of their pods."""
WEB: Place = (*POD, "containers", 0)
"""Their first container."""

SPEC: Json = {
    "automountServiceAccountToken": False,
    "priorityClassName": "system-cluster-critical",
    "securityContext": {
        "runAsNonRoot": True,
        "runAsUser": 65532,
        "runAsGroup": 65532,
        "seccompProfile": {"type": "RuntimeDefault"},
    },
    "initContainers": [
        {
            "name": "first",
            "image": f"registry.example.com/first@{DIGEST}",
            "resources": {
                "requests": {"cpu": "10m", "memory": "16Mi"},
                "limits": {"memory": "16Mi"},
            },
            "securityContext": {
                "allowPrivilegeEscalation": False,
                "readOnlyRootFilesystem": True,
                "capabilities": {"drop": ["ALL"]},
            },
        }
    ],
    "containers": [
        {
            "name": "web",
            "image": f"registry.example.com/web:1.2.3@{DIGEST}",
            "env": [
                {"name": "LEVEL", "value": "info"},
                {"name": "PASSWORD", "valueFrom": {"secretKeyRef": {"name": "web", "key": "p"}}},
            ],
            "ports": [{"name": "http", "containerPort": 8080}],
            "resources": {
                "requests": {"cpu": "100m", "memory": "64Mi", "ephemeral-storage": "16Mi"},
                "limits": {"memory": "64Mi", "ephemeral-storage": "64Mi"},
            },
            "livenessProbe": {"httpGet": {"path": "/livez", "port": "http"}},
            "readinessProbe": {"httpGet": {"path": "/readyz", "port": "http"}},
            "securityContext": {
                "allowPrivilegeEscalation": False,
                "readOnlyRootFilesystem": True,
                "capabilities": {"drop": ["ALL"]},
            },
            "volumeMounts": [{"name": "scratch", "mountPath": "/tmp"}],
        }
    ],
    "volumes": [
        {"name": "scratch", "emptyDir": {"sizeLimit": "64Mi"}},
        {"name": "settings", "configMap": {"name": "web"}},
    ],
}
"""Of a pod that keeps the Pod Security Standard "restricted", and all else."""


def _metadata(name: str = "web", namespace: str = "web") -> Json:
    where = {"namespace": namespace} if namespace else {}
    return {"name": name, **where, "labels": dict(LABELS)}


def _object(api: str, kind: str, namespace: str = "web", **body: Any) -> Json:
    return {"apiVersion": api, "kind": kind, "metadata": _metadata(namespace=namespace), **body}


TEMPLATE: Json = {"metadata": {"labels": dict(LABELS)}, "spec": SPEC}
SELECTOR: Json = {"matchLabels": {"app.kubernetes.io/name": "web"}}
ENDING: Json = {"metadata": TEMPLATE["metadata"], "spec": {**SPEC, "restartPolicy": "Never"}}
JOB: Json = {"backoffLimit": 2, "activeDeadlineSeconds": 600, "template": ENDING}

_OBJECTS: list[Json] = [
    _object("v1", "Pod", spec=SPEC),
    _object(
        "apps/v1",
        "Deployment",
        spec={
            "replicas": 2,
            "selector": SELECTOR,
            "strategy": {"type": "RollingUpdate"},
            "template": TEMPLATE,
        },
    ),
    _object(
        "apps/v1",
        "DaemonSet",
        spec={
            "selector": SELECTOR,
            "updateStrategy": {
                "type": "RollingUpdate",
                "rollingUpdate": {"maxUnavailable": "10%"},
            },
            "template": TEMPLATE,
        },
    ),
    _object(
        "apps/v1",
        "StatefulSet",
        spec={"serviceName": "web", "selector": SELECTOR, "template": TEMPLATE},
    ),
    _object("batch/v1", "Job", spec=JOB),
    _object(
        "batch/v1",
        "CronJob",
        spec={"schedule": "0 3 * * *", "jobTemplate": {"spec": JOB}},
    ),
    _object(
        "jobset.x-k8s.io/v1alpha2",
        "JobSet",
        spec={"replicatedJobs": [{"name": "node", "template": {"spec": JOB}}]},
    ),
    _object(
        "nodeops.k8s.preferred.jp/v1alpha1",
        "NodeOperationTemplate",
        "",
        spec={
            "template": {"spec": {"jobTemplate": {"metadata": {"namespace": "web"}, "spec": JOB}}}
        },
    ),
    _object("v1", "Service", spec={"selector": SELECTOR["matchLabels"], "ports": [{"port": 80}]}),
    _object("v1", "ConfigMap", data={"settings.yaml": "level: info\n"}),
    _object("v1", "ServiceAccount", automountServiceAccountToken=False),
    _object(
        "v1",
        "Namespace",
        "",
    ),
    _object(
        "rbac.authorization.k8s.io/v1",
        "Role",
        rules=[{"apiGroups": [""], "resources": ["configmaps"], "verbs": ["get"]}],
    ),
    _object(
        "rbac.authorization.k8s.io/v1",
        "RoleBinding",
        roleRef={"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "web"},
        subjects=[{"kind": "ServiceAccount", "name": "web", "namespace": "web"}],
    ),
    _object(
        "networking.k8s.io/v1",
        "NetworkPolicy",
        spec={"podSelector": SELECTOR, "policyTypes": ["Ingress"], "ingress": []},
    ),
    _object(
        "policy/v1",
        "PodDisruptionBudget",
        spec={"maxUnavailable": 1, "selector": SELECTOR},
    ),
]
GOOD: dict[str, Json] = {each["kind"]: each for each in _OBJECTS}
"""A good object of each kind."""
GOOD["Namespace"]["metadata"]["labels"] |= {
    f"pod-security.kubernetes.io/{mode}": "restricted" for mode in ("enforce", "audit", "warn")
}


EXPRESSION: Json = {"key": "disk", "operator": "In", "values": ["ssd"]}
FULL: Json = {
    **SPEC,
    "affinity": {
        "nodeAffinity": {
            "requiredDuringSchedulingIgnoredDuringExecution": {
                "nodeSelectorTerms": [{"matchExpressions": [EXPRESSION]}]
            }
        },
        "podAntiAffinity": {
            "requiredDuringSchedulingIgnoredDuringExecution": [
                {"labelSelector": SELECTOR, "topologyKey": "kubernetes.io/hostname"}
            ]
        },
    },
    "hostIPC": False,
    "hostNetwork": False,
    "hostPID": False,
    "nodeSelector": {"node.cluster.x-k8s.io/pool": "gpu", "disk": "ssd"},
    "resources": {"limits": {"nvidia.com/gpu": 1}},
    "restartPolicy": "Always",
    "schedulerName": "default-scheduler",
    "securityContext": {
        **SPEC["securityContext"],
        "appArmorProfile": {"type": "RuntimeDefault"},
        "seLinuxOptions": {"type": "container_t", "level": "s0"},
        "sysctls": [{"name": "net.ipv4.tcp_rmem", "value": "1"}],
        "windowsOptions": {"hostProcess": False},
    },
    "serviceAccountName": "web",
    "tolerations": [{"key": "dedicated", "operator": "Exists", "effect": "NoSchedule"}],
    "topologySpreadConstraints": [{"maxSkew": 1, "labelSelector": SELECTOR}],
    "volumes": [*SPEC["volumes"], {"name": "host", "hostPath": {"path": "/var/log"}}],
}
"""Of a pod with every field that a rule looks at."""
FULL["containers"] = [
    {
        **SPEC["containers"][0],
        "lifecycle": {"preStop": {"tcpSocket": {"host": "", "port": 1}}},
        "ports": [{"containerPort": 8080, "hostPort": 1, "hostIP": "::1", "protocol": "TCP"}],
        "resources": {
            "requests": {"cpu": "1", "memory": "1Mi", "nvidia.com/gpu": 1},
            "limits": {"memory": "1Mi", "nvidia.com/gpu": 1},
        },
        "securityContext": {
            **SPEC["containers"][0]["securityContext"],
            "capabilities": {"drop": ["ALL"], "add": ["NET_BIND_SERVICE"]},
            "privileged": False,
            "procMount": "Default",
        },
        "startupProbe": {"httpGet": {"host": "", "port": 1}},
    }
]


def full() -> Object:
    """A Deployment of such pods."""
    annotations = {"container.apparmor.security.beta.kubernetes.io/web": "runtime/default"}
    template = {"metadata": {**TEMPLATE["metadata"], "annotations": annotations}, "spec": FULL}
    each = good("Deployment", ("spec", "template"), template)
    each.body["metadata"]["annotations"] = {"argocd.argoproj.io/sync-options": "Prune=false"}
    return each


def good(kind: str, place: Place = (), value: Any = None) -> Object:
    """The good object of a kind on the site's cluster, with another value at a place if one is
    given."""
    body = changed(GOOD[kind], place, value) if place else copy.deepcopy(GOOD[kind])
    return Object("site", body)


def pod(value: Any, *place: str | int) -> Object:
    """The good Deployment with another value at a place below its pods' spec."""
    return good("Deployment", (*POD, *place), value)


def found(rule: str, *objects: Object) -> list[Found]:
    """The findings of one rule in some objects."""
    (one,) = [each for each in RULES if each.name == rule]
    return [each.found for each in findings(objects, [one])]


def paths(rule: str, *objects: Object) -> list[str]:
    """The places that one rule finds."""
    return [each.path for each in found(rule, *objects)]
