"""``python -m tests.real.live.pivot OUT ROOT SITE``: the real clusterctl moves a site from one
management cluster to another, each with the real controllers of Cluster API and Metal3
(metal3_world.py); what it did as JSON in OUT.

Played are the kubelets, and what ``clusterctl init`` brings: the inventory of providers, and labels
of their CRDs. The site's own cluster stays the first API server.
"""

import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from unittest.mock import patch

from components.making.manifest import Target
from components.site import site_objects
from controlplane import ApiError, Client, ControlPlane, Manifest
from schemas.load import load_site
from tests.real.live import managers, metal3_world, world
from tests.real.live.namespace import record
from tests.real.live.patch import merge
from tests.real.live.watch import condition
from tools.toolchain import locate

GROUPS = (*metal3_world.GROUPS, "pivot")
LABEL = "clusterctl.cluster.x-k8s.io"
CRD = ("apiextensions.k8s.io/v1", "CustomResourceDefinition")
OPERATORS = {
    "baremetalhosts.metal3.io": (LABEL, f"{LABEL}/move", f"{LABEL}/move-hierarchy"),
    "hardwaredata.metal3.io": (LABEL, f"{LABEL}/move"),
}
"""CRDs that a person labels, as the Bare Metal Operator is no provider (docs/pivot.md)."""
PLAYED = "apiserver-etcd-client"
"""The Secret of the external etcd that this world plays (world.py): no site has it."""
KINDS = (
    ("Secret", "v1"), ("ConfigMap", "v1"),
    ("ValidatingAdmissionPolicy", "admissionregistration.k8s.io/v1"),
)  # fmt: skip
_PROVIDERS = {
    "cluster-api": ("CoreProvider", "cluster-api"),
    "bootstrap-kubeadm": ("BootstrapProvider", "kubeadm"),
    "control-plane-kubeadm": ("ControlPlaneProvider", "kubeadm"),
    "infrastructure-metal3": ("InfrastructureProvider", "metal3"),
    "ipam-metal3": ("IPAMProvider", "metal3"),
}
_NAMESPACE = {"apiVersion": "v1", "kind": "Namespace"}
_SPACE = "providers"
_LIMIT_SECONDS, _STAY_SECONDS = 240.0, 20.0


class Side:
    """A management cluster, as clusterctl sees it."""

    def __init__(self, client: Client, plane: ControlPlane, site: str, clusterctl: Path) -> None:
        self.client, self.site, self._clusterctl = client, site, clusterctl
        self.kubeconfig = plane.kubeconfig()

    def move(self, *words: str) -> dict[str, Any]:
        """``clusterctl move`` from here: its exit code, what it said, and its seconds."""
        command = [str(self._clusterctl), "move", f"--kubeconfig={self.kubeconfig}", "-v=1", *words]
        clock = time.monotonic()
        done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=300)
        seconds = time.monotonic() - clock
        return {"code": done.returncode, "said": done.stdout + done.stderr, "seconds": seconds}

    def label(self, name: str, *labels: str) -> None:
        """Give a CRD labels."""
        body = {"apiVersion": CRD[0], "kind": CRD[1], "metadata": {"name": name}}
        merge(self.client, body, {"metadata": {"labels": dict.fromkeys(labels, "")}})

    def init(self) -> None:
        """What ``clusterctl init`` leaves behind."""
        for crd in self.client.items(*CRD):
            if crd["spec"]["group"].endswith(("cluster.x-k8s.io", "ipam.metal3.io")):
                self.label(crd["metadata"]["name"], LABEL)
        self.move("--dry-run", "-n", "default")  # it installs the CRD of its inventory
        for space in (_SPACE, self.site):
            self.client.apply(
                {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": space}}
            )
        for name, (kind, provider) in _PROVIDERS.items():
            metadata = {"name": name, "namespace": _SPACE, "labels": {LABEL: ""}}
            body = {"apiVersion": f"{LABEL}/v1alpha3", "kind": "Provider", "metadata": metadata}
            self.client.apply(
                {**body, "providerName": provider, "type": kind, "version": "v1.13.2"}
            )

    def objects(self) -> dict[str, Any]:
        """Each object of the site, by kind and name."""
        found = {}
        for kind, api in self._kinds():
            for body in self._items(api, kind):
                metadata = body["metadata"]
                labels = metadata.get("labels") or {}
                if self.site in (metadata.get("namespace"), labels.get("foresite.dev/site")):
                    found[f"{kind} {metadata['name']}"] = body
        return found

    def _kinds(self) -> Iterator[tuple[str, str]]:
        for crd in self.client.items(*CRD):
            version = next(each["name"] for each in crd["spec"]["versions"] if each["storage"])
            yield crd["spec"]["names"]["kind"], f"{crd['spec']['group']}/{version}"
        yield from KINDS

    def _items(self, api: str, kind: str) -> list[Any]:
        while True:
            try:
                return self.client.items(api, kind)
            except ApiError as error:
                if error.status != 429:  # the server still makes room for a new kind
                    raise
                time.sleep(0.1)


def main(out: Path, root: str, name: str) -> dict[str, Any]:
    """Bring the site up, and move it."""
    site = load_site(Path(root), name).site
    assert site is not None
    made = {
        component: [each for each in manifests if each.target is Target.MANAGEMENT]
        for component, manifests in site_objects(site).items()
    }
    clusterctl = locate(["pivot"])["clusterctl"].path
    with metal3_world.running(name, out / "first") as here:
        here.bring_up(made.pop("machines"))
        here.apply(each for manifests in made.values() for each in manifests)
        managers.FIRST_PORT += 100
        with world.managed(locate(metal3_world.GROUPS), out / "second") as (plane, client, _):
            first = Side(here.client, ControlPlane(out / "first" / "plane"), name, clusterctl)
            second = Side(client, plane, name, clusterctl)
            with patch.object(metal3_world.Kubelets, "_silence"):  # hosts that leave run on
                return _pivot(first, second, out / "saved")


def _pivot(first: Side, second: Side, saved: Path) -> dict[str, Any]:
    """The commands of docs/pivot.md, and what each side has afterwards."""
    there = f"--to-kubeconfig={second.kubeconfig}"
    saved.mkdir()
    first.init()
    second.init()
    found: dict[str, Any] = {"before": first.objects()}
    played = found["before"][f"Secret {first.site}-{PLAYED}"]
    name = {"name": played["metadata"]["name"], "namespace": first.site}
    second.client.apply({**played, "metadata": {**name, "labels": {LABEL: ""}}})
    found["without labels"] = first.move("-n", first.site, "--dry-run")
    for side in (first, second):
        for crd, labels in OPERATORS.items():
            side.label(crd, *labels)
    found["dry run"] = first.move("-n", first.site, "--dry-run")
    found["to directory"] = first.move("-n", first.site, f"--to-directory={saved}")
    found["files"] = sorted(path.name for path in saved.iterdir())
    namespace = {**_NAMESPACE, "metadata": {"name": first.site}}
    allowed = {"annotations": {"foresite.dev/may-be-deleted": "moved"}}
    merge(first.client, namespace, {"metadata": allowed})
    found["move"] = first.move("-n", first.site, there)
    _settle(second)
    # By now the garbage collector has taken what belonged to hosts that left.
    found["left"], found["after"] = first.objects(), second.objects()
    return found


def _settle(side: Side) -> None:
    """Wait until all machines are ready, and for a while."""
    until = time.monotonic() + _LIMIT_SECONDS
    while time.monotonic() < until:
        machines = side.client.items(world.CLUSTER, "Machine", side.site)
        if machines and all(is_ready(each) for each in machines):
            break
        time.sleep(0.5)
    time.sleep(_STAY_SECONDS)


def is_ready(body: Manifest) -> bool:
    """True if an object says so."""
    return condition(body, "Ready").get("status") == "True"


if __name__ == "__main__":
    record(main)
