"""The fake's kubelets: Nodes and the control plane's static pods, as a cluster shows them.

What Cluster API waits for (v1.13.6): a Machine is available when its Node is Ready and says that it
has no pressure of any kind; a control plane's machine is healthy when its static pods are Ready.
"""

import time
from typing import Any

from controlplane import ApiError, Client, Manifest
from schemas.kubernetes.node_labels import HOST_LABEL
from tests.real.live.patch import merge

COMPONENTS = ("kube-apiserver", "kube-controller-manager", "kube-scheduler")
_CONTROL_PLANE_LABEL = "cluster.x-k8s.io/control-plane"
_ROLE = "node-role.kubernetes.io/control-plane"
_EXPIRY = {"machine.cluster.x-k8s.io/certificates-expiry": "2099-01-01T00:00:00Z"}
"""Without it the control plane's manager opens a connection through a pod to read a certificate."""
_SYSTEM = "kube-system"
_CONFLICT, _NOT_FOUND = 409, 404


def condition(kind: str, reason: str, status: str = "True", message: str = "") -> dict[str, Any]:
    """A condition of an object's status, as of now."""
    now = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
    said = {"type": kind, "status": status, "reason": reason, "message": message}
    return {**said, "lastTransitionTime": now}


def join(client: Client, machine: Manifest, provider_id: str, host: Manifest | None = None) -> None:
    """Make the Node of a Machine, Ready; of a control plane's Machine with its static pods.

    The Node is named after the Machine, or after ``host``, with the label of the host's uid.
    """
    name, version = machine["metadata"]["name"], machine["spec"]["version"]
    control_plane = _CONTROL_PLANE_LABEL in machine["metadata"]["labels"]
    labels = {_ROLE: ""} if control_plane else {}
    if host is not None:
        name = host["metadata"]["name"]
        labels |= {HOST_LABEL: host["metadata"]["uid"], "kubernetes.io/hostname": name}
    node: Manifest = {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name, "labels": labels},
        "spec": {"providerID": provider_id} if provider_id else {},
    }
    create(client, node)
    # Admission has given it the taint of a node that is not ready; nobody else takes that off.
    taints = [{"key": _ROLE, "effect": "NoSchedule"}] if control_plane else []
    merge(client, node, {"spec": {"taints": taints}})
    merge(client, node, {"status": _status(version)}, "status")
    if control_plane:
        _start_control_plane(client, machine, name)


def _status(version: str) -> dict[str, Any]:
    told = {
        "kubeletVersion": version, "kubeProxyVersion": version, "machineID": "", "systemUUID": "",
        "bootID": "", "kernelVersion": "fake", "osImage": "fake", "operatingSystem": "linux",
        "architecture": "amd64", "containerRuntimeVersion": "fake://0",
    }  # fmt: skip
    pressures = ("MemoryPressure", "DiskPressure", "PIDPressure")
    conditions = [condition("Ready", "KubeletReady")]
    conditions += [condition(each, "NoPressure", "False") for each in pressures]
    return {"conditions": conditions, "nodeInfo": told}


def _start_control_plane(client: Client, machine: Manifest, name: str) -> None:
    create(client, _kubeadm_config(machine["spec"]["version"]))
    config = {
        "apiVersion": "bootstrap.cluster.x-k8s.io/v1beta2",
        "kind": "KubeadmConfig",
        "metadata": {
            "name": machine["spec"]["bootstrap"]["configRef"]["name"],
            "namespace": machine["metadata"]["namespace"],
        },
    }
    merge(client, config, {"metadata": {"annotations": _EXPIRY}})
    for component in COMPONENTS:
        pod: Manifest = {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {
                "name": f"{component}-{name}",
                "namespace": _SYSTEM,
                "annotations": {"kubernetes.io/config.mirror": "fake"},
                "labels": {"component": component, "tier": "control-plane"},
            },
            "spec": {"nodeName": name, "containers": [{"name": component, "image": "fake"}]},
        }
        create(client, pod)
        status = {"phase": "Running", "conditions": [condition("Ready", "Running")]}
        merge(client, pod, {"status": status}, "status")


def stop_control_plane(client: Client, node: str) -> None:
    """Take away the static pods of a node, as nothing else does for a node that is gone."""
    for component in COMPONENTS:
        path = f"/api/v1/namespaces/{_SYSTEM}/pods/{component}-{node}?gracePeriodSeconds=0"
        try:
            client.request("DELETE", path)
        except ApiError as error:
            if error.status != _NOT_FOUND:  # its host was wiped before it ran
                raise


def _kubeadm_config(version: str) -> Manifest:
    """The ConfigMap that ``kubeadm init`` leaves in the cluster; only the first machine's is
    kept."""
    text = (
        "apiVersion: kubeadm.k8s.io/v1beta4\n"
        "kind: ClusterConfiguration\n"
        f"kubernetesVersion: {version}\n"
    )
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": "kubeadm-config", "namespace": _SYSTEM},
        "data": {"ClusterConfiguration": text},
    }


def create(client: Client, body: Manifest) -> None:
    """Create an object, or leave the one that is there."""
    path = client._path(body["apiVersion"], body["kind"], body["metadata"].get("namespace"))
    try:
        client.request("POST", path, body)
    except ApiError as error:
        if error.status != _CONFLICT:
            raise
