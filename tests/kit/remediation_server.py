"""An API server with the kinds of repairs, and nodes made by the tests. Nobody but these writes
conditions, operations and pods."""

import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from http import HTTPStatus
from pathlib import Path
from typing import Any

import pytest

from components.making.faults import FAULTY_TAINT, QUARANTINED_TAINT, TURN_LABEL
from components.making.manifest import Json
from components.remediation.names import NODEOPS_API
from controlplane import ApiError, Client, ControlPlane
from controlplane.access import read_kubeconfig, write_kubeconfig
from controlplane.crds import install_crds
from controlplane.server import Binaries, running
from schemas.kubernetes.node_labels import POOL_LABEL
from schemas.kubernetes.objects import load_crds
from tests.kit.twin.cluster.programs import account_token
from tools.toolchain import locate

SPACE = "repairs"
HOST_API = "metal3.io/v1alpha1"
PRIORITIES = {"low": -10, "high": 1000}
SECONDS = 120.0
_MERGE = "application/merge-patch+json"


@dataclass
class Server:
    """The API server, and what tests put into it and ask it."""

    plane: ControlPlane
    client: Client
    kubectl: Path
    folder: Path

    def as_account(self, namespace: str, account: str) -> Path:
        """A kubeconfig of a service account that is there."""
        token = account_token(self.client, namespace, account)
        path = self.folder / f"{namespace}-{account}.kubeconfig"
        access = replace(read_kubeconfig(self.plane.kubeconfig()), token=token)
        write_kubeconfig(path, access, ["server"])
        return path

    def end_operations(self) -> None:
        """Delete all operations and remediations, as the controller and garbage collection do."""
        for kind in ("NodeOperation", "NodeRemediation"):
            for each in self.client.items(NODEOPS_API, kind):
                self.client.delete(NODEOPS_API, kind, each["metadata"]["name"])

    def clear(self) -> None:
        """Take away what an earlier test made."""
        self.end_operations()
        for each in self.client.items("v1", "Pod", SPACE):
            path = f"/api/v1/namespaces/{SPACE}/pods/{each['metadata']['name']}"
            self.client.request("DELETE", f"{path}?gracePeriodSeconds=0")
        for each in self.client.items("v1", "Node"):
            self.client.delete("v1", "Node", each["metadata"]["name"])
        for each in self.client.items("v1", "ConfigMap", SPACE):
            self.client.delete("v1", "ConfigMap", each["metadata"]["name"], SPACE)
        for each in self.client.items(HOST_API, "BareMetalHost"):
            metadata = each["metadata"]
            self.client.delete(HOST_API, "BareMetalHost", metadata["name"], metadata["namespace"])

    def node(self, name: str, pool: str, conditions: Mapping[str, str], **spec: Any) -> None:
        """A node that is ready unless ``conditions`` say something else."""
        metadata = {
            "name": name,
            "labels": {POOL_LABEL: pool, **spec.pop("labels", {})},
            "annotations": spec.pop("annotations", {}),
        }
        status = {
            "conditions": _conditions({"Ready": "True", **conditions}),
            "nodeInfo": _boot(spec.pop("boot", "boot-1")),
        }
        body = {"apiVersion": "v1", "kind": "Node", "metadata": metadata, "spec": spec}
        self.client.create({**body, "status": status})

    def condition(self, node: str, **conditions: str) -> None:
        """Set conditions as a detector does."""
        self._patch_status(node, {"conditions": _conditions(conditions)})

    def boot(self, node: str, boot: str) -> None:
        """The node has booted."""
        self._patch_status(node, {"nodeInfo": _boot(boot)})

    def _patch_status(self, node: str, status: Json) -> None:
        path = f"/api/v1/nodes/{node}/status"
        kind = "application/strategic-merge-patch+json"
        self.client.request("PATCH", path, {"status": status}, kind)

    def patch(self, node: str, body: Json) -> None:
        """A merge patch of a node: lists are replaced."""
        self.client.request("PATCH", f"/api/v1/nodes/{node}", body, _MERGE)

    def annotate(self, node: str, **annotations: str) -> None:
        """Set annotations of ours."""
        named = {f"remediation.foresite.dev/{key}": text for key, text in annotations.items()}
        self.patch(node, {"metadata": {"annotations": named}})

    def operation(self, node: str, phase: str, remediation: str | None = None) -> None:
        """An operation of a node as the controller has it, of a remediation or a person's own."""
        name = f"{remediation or 'own'}-{node}-operation"
        metadata: Json = {"name": name}
        if remediation:
            rule = {"conditions": [{"type": "A", "status": "True"}]}
            spec = {"nodeName": node, "nodeOperationTemplateName": "any", "rule": rule}
            made = self.client.apply(_nodeops("NodeRemediation", {"name": remediation}, spec))
            metadata["ownerReferences"] = [
                {
                    "apiVersion": NODEOPS_API,
                    "kind": "NodeRemediation",
                    "name": remediation,
                    "uid": made["metadata"]["uid"],
                    "controller": True,
                }
            ]
        body = _nodeops("NodeOperation", metadata, {"nodeName": node})
        self.client.apply({**body, "status": {"phase": phase}})

    def pod(self, name: str, node: str, priority: str = "low", **more: Any) -> None:
        """A pod that runs on a node, of the priority class ``priority``."""
        metadata = {"name": name, "namespace": SPACE, **more}
        spec = {
            "nodeName": node,
            "priorityClassName": priority,
            "containers": [{"name": "main", "image": "a"}],
            "terminationGracePeriodSeconds": 0,
        }
        self.client.create({"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec})

    def get(self, node: str) -> Json:
        """A node."""
        found = self.client.get("v1", "Node", node)
        assert found is not None, node
        return found

    def taints(self, node: str) -> dict[str, str]:
        """The taints of ours that a node has, with their values."""
        found = self.get(node)["spec"].get("taints", [])
        ours = (FAULTY_TAINT, QUARANTINED_TAINT)
        assert all(each["effect"] == "NoSchedule" for each in found if each["key"] in ours)
        return {each["key"]: each.get("value", "") for each in found if each["key"] in ours}

    def turns(self) -> dict[str, str]:
        """The nodes whose turn it is, with the fault."""
        nodes = self.client.items("v1", "Node")
        labels = {each["metadata"]["name"]: each["metadata"]["labels"] for each in nodes}
        return {name: each[TURN_LABEL] for name, each in labels.items() if TURN_LABEL in each}

    def holder(self, name: str = "turns") -> str:
        """Who holds a Lease of the programs."""
        found = self.client.get("coordination.k8s.io/v1", "Lease", name, SPACE)
        return found["spec"].get("holderIdentity", "") if found else ""

    def note(self, node: str, key: str) -> str | None:
        """An annotation of ours of a node."""
        found: dict[str, str] = self.get(node)["metadata"].get("annotations", {})
        return found.get(f"remediation.foresite.dev/{key}")


def _nodeops(kind: str, metadata: Json, spec: Json) -> Json:
    return {"apiVersion": NODEOPS_API, "kind": kind, "metadata": metadata, "spec": spec}


def _conditions(states: Mapping[str, str]) -> list[Json]:
    return [{"type": kind, "status": state} for kind, state in states.items()]


def _boot(boot: str) -> Json:
    return {"bootID": boot}


def _operations() -> Json:
    """The CRD of NodeOperation without its fields: the tests write the few that are read.

    Foresite makes no object of the kind, so there is no schema of it in the store.
    """
    schema = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    group = NODEOPS_API.partition("/")[0]
    names = {
        "kind": "NodeOperation",
        "listKind": "NodeOperationList",
        "plural": "nodeoperations",
        "singular": "nodeoperation",
    }
    version = {"name": "v1alpha1", "served": True, "storage": True}
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"nodeoperations.{group}"},
        "spec": {
            "group": group,
            "names": names,
            "scope": "Cluster",
            "versions": [{**version, "schema": {"openAPIV3Schema": schema}}],
        },
    }


@pytest.fixture(scope="session")
def repairs(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """One API server for all files of tests about repairs: each of their tests clears it first."""
    with serving(tmp_path_factory.mktemp("repairs")) as found:
        yield found


@contextmanager
def serving(folder: Path) -> Iterator[Server]:
    """An API server with the kinds and priorities that repairs need."""
    tools = locate(["controlplane"])
    binaries = Binaries(tools["etcd"].path, tools["kube-apiserver"].path)
    with running(folder / "controlplane", binaries) as plane, plane.client() as client:
        kinds = [f"{NODEOPS_API}/NodeRemediation", f"{HOST_API}/BareMetalHost"]
        install_crds(client, [*load_crds(kinds), _operations()])
        client.apply({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": SPACE}})
        for name, value in PRIORITIES.items():
            body = {"kind": "PriorityClass", "metadata": {"name": name}, "value": value}
            client.apply({"apiVersion": "scheduling.k8s.io/v1", **body})
        _until_listed(client)
        yield Server(plane, client, tools["kubectl"].path, folder)


def _until_listed(client: Client) -> None:
    """A kind that is served may not have its storage yet."""
    end = time.monotonic() + SECONDS
    kinds = [(NODEOPS_API, "NodeOperation"), (NODEOPS_API, "NodeRemediation")]
    for api, kind in [*kinds, (HOST_API, "BareMetalHost")]:
        while True:
            try:
                client.items(api, kind)
                break
            except ApiError as error:
                if error.status != HTTPStatus.TOO_MANY_REQUESTS or time.monotonic() > end:
                    raise
            time.sleep(0.1)
