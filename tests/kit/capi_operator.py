"""The real Cluster API Operator beside an API server, with components from ConfigMaps.

No pods run, cert-manager's kinds are stored alone, and that a Deployment is available is played.
"""

import contextlib
import gzip
import json
import shutil
import subprocess
import time
from base64 import b64encode
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

import pytest
import yaml

from components.making.manifest import Json
from components.management.objects import OPERATOR
from controlplane import Binaries, Client, install_crds
from controlplane import running as plane_running
from controlplane.daemon import Daemon
from controlplane.ports import free_port
from tests.real.live.patch import merge
from tools.toolchain import Tools
from tools.toolchain.parts import TOOLS

API = f"{OPERATOR}/v1alpha2"
SECONDS = 180.0


class Part(NamedTuple):
    """Where the components of a part lie: a folder of pins, a Go module, and its kustomization."""

    pins: str
    module: str
    folder: str
    kind: str
    namespace: str


CAPI = ("cluster-api", "sigs.k8s.io/cluster-api")
METAL3 = "github.com/metal3-io"
PARTS = {
    "core": Part(*CAPI, "config", "CoreProvider", "capi-system"),
    "bootstrap": Part(
        *CAPI, "bootstrap/kubeadm/config", "BootstrapProvider", "capi-kubeadm-bootstrap-system"
    ),
    "control-plane": Part(
        *CAPI, "controlplane/kubeadm/config", "ControlPlaneProvider",
        "capi-kubeadm-control-plane-system",
    ),
    "ipam": Part(
        "metal3-ipam", f"{METAL3}/ip-address-manager", "config", "IPAMProvider", "capm3-system"
    ),
    "infrastructure": Part(
        "capm3", f"{METAL3}/cluster-api-provider-metal3", "config", "InfrastructureProvider",
        "capm3-system",
    ),
}  # fmt: skip


def module(pins: str, name: str, folder: Path) -> Path:
    """A Go module as the toolchain pins it; skipped where it is not to be had."""
    copy = folder / pins
    shutil.copytree(TOOLS / pins, copy, dirs_exist_ok=True)
    command = ["go", "mod", "download", "-json", name]
    try:
        done = subprocess.run(command, cwd=copy, capture_output=True, text=True, check=True)
    except (OSError, subprocess.CalledProcessError) as error:
        pytest.skip(f"{name} cannot be had: {error}")
    return Path(json.loads(done.stdout)["Dir"])


class Components(NamedTuple):
    """What a project publishes of a part."""

    text: bytes
    metadata: str

    def config_map(self, part: str, version: str) -> Json:
        """The ConfigMap that docs/management-cluster.md says to make of it."""
        labels = {"provider-components": part, "provider.cluster.x-k8s.io/version": version}
        body = b64encode(gzip.compress(self.text, mtime=0)).decode()
        return {
            "apiVersion": "v1", "kind": "ConfigMap",
            "metadata": {
                "name": part, "namespace": PARTS[part].namespace, "labels": labels,
                "annotations": {"provider.cluster.x-k8s.io/compressed": "true"},
            },
            "data": {"metadata": self.metadata}, "binaryData": {"components": body},
        }  # fmt: skip


def published(part: str, tools: Tools, folder: Path) -> Components:
    """The components of a part, made of its module as a release does."""
    where = PARTS[part]
    source = module(where.pins, where.module, folder)
    command = [str(tools["kubectl"].path), "kustomize", f"./{where.folder}/default"]
    text = subprocess.run(command, cwd=source, capture_output=True, check=True).stdout
    return Components(text, (source / "metadata.yaml").read_text("utf-8"))


def _stub(kind: str) -> Json:
    """A CRD in place of cert-manager's: what is asked of it is stored, and nothing is made."""
    plural = f"{kind.lower()}s"
    schema = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    version = {"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": schema}}
    return {
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{plural}.cert-manager.io"},
        "spec": {
            "group": "cert-manager.io", "scope": "Namespaced", "versions": [version],
            "names": {"kind": kind, "plural": plural},
        },
    }  # fmt: skip


@contextlib.contextmanager
def operator(tools: Tools, folder: Path, kubeconfig: Path, certificates: Path) -> Iterator[Daemon]:
    """The operator, running; its webhooks only default namespaces, and are not installed."""
    folder.mkdir()
    for name, source in (("tls.crt", "apiserver.crt"), ("tls.key", "apiserver.key")):
        shutil.copy(certificates / source, folder / name)
    webhooks, health, diagnostics = (free_port() for _ in range(3))
    mark = f"--webhook-cert-dir={folder}"
    daemon = Daemon("capi-operator", folder, mark)
    daemon.start([
        "env", f"HOME={folder}", tools["capi-operator"].path, mark, f"--kubeconfig={kubeconfig}",
        f"--webhook-port={webhooks}", f"--health-addr=127.0.0.1:{health}", "--profiler-address=",
        f"--diagnostics-address=127.0.0.1:{diagnostics}", "--insecure-diagnostics",
    ])  # fmt: skip
    try:
        yield daemon
    finally:
        daemon.stop()


class World(NamedTuple):
    """The management cluster after ``up``."""

    client: Client
    daemon: Daemon
    made: list[Json]
    parts: dict[str, Components]
    change: Callable[[str, str], None]
    """Bring out another version of a part, as its ConfigMap and as the spec of its provider."""

    def providers(self) -> dict[str, Json]:
        """Each provider by its part."""
        return {
            part: next(iter(self.client.items(API, each.kind, each.namespace)))
            for part, each in PARTS.items()
        }

    def deployments(self) -> dict[str, Json]:
        """The Deployment of each part, by what owns it."""
        every = self.client.items("apps/v1", "Deployment")
        owners = {each.kind: part for part, each in PARTS.items()}
        return {owners[each["metadata"]["ownerReferences"][0]["kind"]]: each for each in every}

    def wait(self, what: str, done: Callable[[], bool]) -> None:
        """Wait, and play that the pods of each Deployment run."""
        end = time.monotonic() + SECONDS
        while not done():
            for each in self.deployments().values():
                if not each.get("status", {}).get("conditions"):
                    merge(self.client, each, {"status": {"conditions": [AVAILABLE]}}, "status")
            if time.monotonic() > end or self.daemon.pid() is None:
                said = {part: states(each) for part, each in self.providers().items()}
                raise TimeoutError(f"{what}: {said}\n{self.daemon.tail()}")
            time.sleep(0.2)


AVAILABLE = {
    "type": "Available", "status": "True", "reason": "Played", "message": "",
    "lastTransitionTime": "2026-01-01T00:00:00Z", "lastUpdateTime": "2026-01-01T00:00:00Z",
}  # fmt: skip


def states(provider: Json) -> dict[str, str]:
    """The conditions of a provider, with what is said where one does not hold."""
    found = provider.get("status", {}).get("conditions", ())
    return {
        each["type"]: each["status"] if each["status"] == "True" else each.get("message", "")
        for each in found
    }


@contextlib.contextmanager
def running(root: Path, tools: Tools, made: list[Json]) -> Iterator[World]:
    """A management cluster to which these objects were applied, its providers installed."""
    binaries = Binaries(tools["etcd"].path, tools["kube-apiserver"].path)
    upstream = module("capi-operator", "sigs.k8s.io/cluster-api-operator", root)
    with plane_running(root / "plane", binaries) as plane, plane.client() as client:
        crds = [yaml.safe_load(path.read_text("utf-8")) for path in
                sorted((upstream / "config/crd/bases").glob("*.yaml"))]  # fmt: skip
        install_crds(client, [*crds, _stub("Certificate"), _stub("Issuer")])
        for each in made:
            if each["kind"] == "Namespace":
                client.apply(each)
        parts = {part: published(part, tools, root) for part in PARTS}
        providers = {each["kind"]: each for each in made if OPERATOR in each["apiVersion"]}

        def change(part: str, version: str) -> None:
            client.apply(parts[part].config_map(part, version))
            provider = providers[PARTS[part].kind]
            client.apply({**provider, "spec": {**provider["spec"], "version": version}})

        with operator(tools, root / "operator", plane.kubeconfig(), root / "plane/certs") as daemon:
            for part, where in PARTS.items():
                change(part, providers[where.kind]["spec"]["version"])
            found = World(client, daemon, made, parts, change)
            found.wait("providers", lambda: all(
                states(each).get("Ready") == "True" for each in found.providers().values()
            ))  # fmt: skip
            yield found
