"""A stand-in for the bare metal operator and for machines: hosts that are rebooted on request.

The operator (baremetal-operator, the user guide's page on the reboot annotation) powers a host off
and on whose BareMetalHost has the annotation reboot.metal3.io, and then removes the annotation.
Here a node is not ready for a while, and comes back with another bootID.
"""

import threading
import time
from collections.abc import Mapping
from typing import Any, NamedTuple, Self

from components.machines.objects import objects as machine_objects
from controlplane import ApiError, Client, Manifest
from controlplane.access import Access
from schemas.facts.site import Site
from tests.kit.twin.cluster import DOWN
from tests.kit.twin.nodes import booted, machine_of
from tests.real.live.nodes import condition
from tests.real.live.watch import Mirror

REBOOT = "reboot.metal3.io"
BMH = "metal3.io/v1alpha1"
_MERGE = "application/merge-patch+json"
_STRATEGIC = "application/strategic-merge-patch+json"


class Reboot(NamedTuple):
    """One reboot: the host, what the annotation said, and when, on ``time.monotonic``."""

    host: str
    value: str
    seconds: float


def bare_metal_hosts(site: Site) -> list[Manifest]:
    """The BareMetalHosts that Foresite makes of a site's hosts, each taken by its node's machine,
    as the Metal3 provider does it."""
    found = [each.body for each in machine_objects(site) if each.kind == "BareMetalHost"]
    for body in found:
        metadata = body["metadata"]
        body["spec"]["consumerRef"] = {
            "apiVersion": "infrastructure.cluster.x-k8s.io/v1beta1",
            "kind": "Metal3Machine",
            "name": machine_of(metadata["name"]),
            "namespace": metadata["namespace"],
        }
    return found


class FakeHosts:
    """Reboots hosts whose annotation asks for it, within ``boot_seconds``.

    A host is sound afterwards: each condition that was reported True of it is reported False, as
    its detector would. Not so of the ``hopeless``; and of the ``partly`` mended only the first.
    """

    def __init__(self, access: Access, boot_seconds: float = 1.0) -> None:
        self.boot_seconds = boot_seconds
        self.slow: dict[str, float] = {}
        """Hosts that take longer, and how long."""
        self.hopeless: set[str] = set()
        self.partly: set[str] = set()
        self.reboots: list[Reboot] = []
        self.errors: list[str] = []
        """Errors in here; no test should see one."""
        self._client = Client(access)
        self._mirror = Mirror(access)
        self._booting: set[str] = set()
        self._faults: dict[str, list[str]] = {}
        self._ended = threading.Event()

    def __enter__(self) -> Self:
        self._mirror.listen(self._note)
        self._mirror.follow(BMH, "BareMetalHost")
        return self

    def __exit__(self, *_: object) -> None:
        self._ended.set()
        self._mirror.close()
        self._client.close()

    def report(
        self, node: str, kind: str, status: str = "True", message: str = "told by a test"
    ) -> None:
        """Write a condition of a node, as its detector does."""
        known = [each for each in self._faults.get(node, ()) if each != kind]
        self._faults[node] = [*known, kind] if status == "True" else known
        said = condition(kind, "Tested", status, message)
        self._patch(f"/api/v1/nodes/{node}/status", {"status": {"conditions": [said]}})

    def _note(self, _kind: str, _old: Manifest | None, new: Manifest | None) -> None:
        if new is None:
            return
        name, annotations = new["metadata"]["name"], new["metadata"].get("annotations", {})
        if REBOOT in annotations and name not in self._booting:
            self._booting.add(name)
            self.reboots.append(Reboot(name, annotations[REBOOT], time.monotonic()))
            place = new["metadata"]["namespace"], name
            threading.Thread(target=self._reboot, args=place, daemon=True).start()

    def _reboot(self, namespace: str, host: str) -> None:
        try:
            self._power_cycle(namespace, host)
        except (ApiError, OSError) as error:
            if not self._ended.is_set():
                self.errors.append(f"{host}: {error}")

    def _power_cycle(self, namespace: str, host: str) -> None:
        node = f"/api/v1/nodes/{host}"
        self._patch(node, {"metadata": {"annotations": {DOWN: "booting"}}})
        down = condition("Ready", "NodeStatusUnknown", "Unknown", "the host is down")
        self._patch(f"{node}/status", {"status": {"conditions": [down]}})
        self._ended.wait(self.slow.get(host, self.boot_seconds))
        path = f"/apis/{BMH}/namespaces/{namespace}/baremetalhosts/{host}"
        self._client.request("PATCH", path, {"metadata": {"annotations": {REBOOT: None}}}, _MERGE)
        self._booting.discard(host)
        up = {"conditions": [condition("Ready", "KubeletReady")], "nodeInfo": booted()}
        self._patch(f"{node}/status", {"status": up})
        self._patch(node, {"metadata": {"annotations": {DOWN: None}}})
        for kind in self._mended(host):
            self.report(host, kind, "False")

    def _mended(self, host: str) -> list[str]:
        """The conditions that a reboot of a host has helped."""
        if host in self.hopeless:
            return []
        return self._faults.get(host, [])[: 1 if host in self.partly else None]

    def _patch(self, path: str, body: Mapping[str, Any]) -> None:
        self._client.request("PATCH", path, dict(body), _STRATEGIC)
