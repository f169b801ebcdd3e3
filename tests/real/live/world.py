"""A management cluster for one site: API server, Cluster API's managers, and fake hosts.

The site's own cluster is the same API server. What a site's objects lack here is added in one
place, ``adapted``, each with its reason.
"""

import base64
import contextlib
import copy
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from components.making.manifest import Manifest as Made
from controlplane import Binaries, Client, ControlPlane, Manifest, install_crds
from controlplane import running as plane_running
from schemas.kubernetes.objects import load_crds
from tests.real.live import managers
from tests.real.live.fake_metal3 import FakeMetal3
from tests.real.live.nodes import create
from tests.real.live.watch import Mirror
from tools.toolchain import Tools

CLUSTER = "cluster.x-k8s.io/v1beta2"
FOLLOWED = (
    (CLUSTER, "Machine"),
    (CLUSTER, "MachineSet"),
    (CLUSTER, "MachineDeployment"),
    ("controlplane.cluster.x-k8s.io/v1beta2", "KubeadmControlPlane"),
    ("infrastructure.cluster.x-k8s.io/v1beta2", "Metal3Cluster"),
    ("infrastructure.cluster.x-k8s.io/v1beta2", "Metal3Machine"),
    ("metal3.io/v1alpha1", "BareMetalHost"),
    ("v1", "Node"),
)
_PKI = "/etc/kubernetes/pki"
ETCD = {
    "external": {
        "endpoints": ["https://127.0.0.1:2379"],
        "caFile": f"{_PKI}/etcd/ca.crt",
        "certFile": f"{_PKI}/apiserver-etcd-client.crt",
        "keyFile": f"{_PKI}/apiserver-etcd-client.key",
    }
}
"""The etcd of a control plane here: a stacked one is reached through a pod on the host, and the
hosts are played."""


@dataclass(frozen=True)
class World:
    """The world of experiments."""

    client: Client
    mirror: Mirror
    played: FakeMetal3


@contextlib.contextmanager
def running(
    tools: Tools, directory: Path, *, in_place: bool = False, limited: bool = False
) -> Iterator[World]:
    """All of it, up; taken down when the block is left. ``in_place``: with the flags that labels
    and taints in place need; ``limited``: at the pace of managers by default."""
    with (
        managed(tools, directory, in_place=in_place, limited=limited) as (plane, client, mirror),
        plane.client() as its_own,
        FakeMetal3(its_own, mirror) as fake,
    ):
        yield World(client, mirror, fake)


@contextlib.contextmanager
def managed(
    tools: Tools, directory: Path, *, in_place: bool = False, limited: bool = False
) -> Iterator[tuple[ControlPlane, Client, Mirror]]:
    """The API server with the managers among ``tools``, and without hosts."""
    binaries = Binaries(tools["etcd"].path, tools["kube-apiserver"].path)
    with plane_running(directory / "plane", binaries) as plane, plane.client() as client:
        install_crds(client, [*load_crds(), *managers.more_crds(tools)])
        serving = _serving(plane)
        start = managers.running(
            tools, directory, plane.kubeconfig(), serving, in_place=in_place, limited=limited
        )
        with start as started:
            managers.install_webhooks(client, started, _base64(serving[0]))
            mirror = Mirror(plane._access())
            for api_version, kind in FOLLOWED:
                mirror.follow(api_version, kind)
            try:
                yield plane, client, mirror
            finally:
                mirror.close()


def _serving(plane: ControlPlane) -> tuple[str, str]:
    """Certificate and key of the API server, which the webhooks borrow: it is for 127.0.0.1."""
    folder = plane.directory / "certs"
    return (folder / "apiserver.crt").read_text(), (folder / "apiserver.key").read_text()


def _base64(text: str) -> str:
    return base64.b64encode(text.encode()).decode()


def prepare(client: Client, site: str, directory: Path) -> None:
    """The objects of a management cluster and a workload cluster that no site makes: Secrets.

    The kubeconfig of the site's cluster is of type Opaque: one of Cluster API's own type would be
    renewed by a client certificate of the cluster's own authority, which this server is not of.
    The control plane's external etcd is never called, as the hosts that would do so are played.
    """
    plane = ControlPlane(directory / "plane")
    certificate, key = _serving(plane)
    contents = {
        f"{site}-kubeconfig": {"value": plane.kubeconfig().read_text()},
        # A certificate alone: an empty key makes the control plane's manager fail.
        f"{site}-etcd": {"tls.crt": certificate},
        f"{site}-apiserver-etcd-client": {"tls.crt": certificate, "tls.key": key},
    }
    for name, data in contents.items():
        secret: Manifest = {
            "apiVersion": "v1",
            "kind": "Secret",
            "metadata": {
                "name": name,
                "namespace": site,
                "labels": {"cluster.x-k8s.io/cluster-name": site},
            },
            "stringData": data,
        }
        create(client, secret)


def adapted(made: Made) -> Manifest:
    """An object as it is applied here: as Foresite makes it, but for the control plane's etcd."""
    body = copy.deepcopy(made.body)
    if made.kind == "KubeadmControlPlane":
        config = body["spec"]["kubeadmConfigSpec"].setdefault("clusterConfiguration", {})
        config["etcd"] = copy.deepcopy(ETCD)
    return body
