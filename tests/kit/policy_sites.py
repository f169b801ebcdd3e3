"""Objects of a small site by the kinds that rules count or hold against each other."""

import copy
from typing import Any

from policies.rule import Object
from tests.kit.policy_objects import LABELS

Json = dict[str, Any]
POOL = "node.cluster.x-k8s.io/pool"
ACCELERATOR = "node.cluster.x-k8s.io/accelerator"
KEPT = {
    "argocd.argoproj.io/sync-options": "Prune=false,Delete=false",
    "kustomize.toolkit.fluxcd.io/prune": "disabled",
}


def made(api: str, kind: str, cluster: str = "site", name: str = "web", **body: Any) -> Object:
    """An object in the namespace web, of any kind."""
    metadata = {"name": name, "namespace": "web", "labels": dict(LABELS)}
    metadata |= body.pop("metadata", {})
    return Object(
        cluster, copy.deepcopy({"apiVersion": api, "kind": kind, "metadata": metadata, **body})
    )


def rolled(**numbers: Any) -> Json:
    """A rollout of v1beta2 with these numbers."""
    return {"strategy": {"type": "RollingUpdate", "rollingUpdate": numbers}}


def pool(name: str = "gpu", replicas: int = 4, **spec: Any) -> Object:
    """The object that makes the machines of a pool."""
    labels = {POOL: name, ACCELERATOR: "h100"}
    return made(
        "cluster.x-k8s.io/v1beta2",
        "MachineDeployment",
        "management",
        name,
        spec={"replicas": replicas, "template": {"metadata": {"labels": labels}}, **spec},
    )


def control_plane(replicas: int = 3, **spec: Any) -> Object:
    """The object that makes the machines of the control plane."""
    labels = {POOL: "control"}
    return made(
        "controlplane.cluster.x-k8s.io/v1beta2",
        "KubeadmControlPlane",
        "management",
        spec={"replicas": replicas, "machineTemplate": {"metadata": {"labels": labels}}, **spec},
    )


def workload(kind: str, spec: Json, labels: Json | None = None, **more: Any) -> Object:
    """A workload whose pods have a spec and labels; ``more`` is the workload's own spec."""
    pods = {"metadata": {"labels": labels or {"app": "web"}}, "spec": {"containers": [], **spec}}
    return made("apps/v1", kind, spec={"template": pods, **more})
