"""A fake of bare metal: what the Metal3 provider, the Bare Metal Operator, a host and its kubelet
do towards Cluster API, and nothing of what they do otherwise.

It claims a free host for a Metal3Machine at random among those that the selector allows (as CAPM3
1.13 does, baremetal/metal3machine_manager.go), installs it after a moment, makes its Node, and
wipes the host before a deleted Metal3Machine is let go. Nodes are named after Machines, not hosts:
Cluster API deletes a Node by its name, and with times this short it would hit the Node of the
host's next Machine.
"""

import random
import threading
import time
from dataclasses import dataclass
from enum import Enum, auto
from typing import Self

from controlplane import ApiError, Client, Manifest
from tests.real.live import nodes
from tests.real.live.patch import merge
from tests.real.live.watch import Mirror

INFRASTRUCTURE = "infrastructure.cluster.x-k8s.io/v1beta2"
METAL3 = "metal3.io/v1alpha1"
NO_HOST = "no available host found. Requeuing"
"""The words of CAPM3 where no host is free (baremetal/metal3machine_manager.go, Associate)."""
HOST_ANNOTATION = "metal3.io/BareMetalHost"
CONTROL_PLANE_LABEL = "cluster.x-k8s.io/control-plane"
INSTALL_SECONDS, WIPE_SECONDS = 0.3, 0.2
FINALIZER = "metal3machine.infrastructure.cluster.x-k8s.io"
_DOMAIN = "infrastructure.cluster.x-k8s.io/failure-domain"
_NOT_FOUND = 404
_TICK_SECONDS = 0.05


class Stage(Enum):
    """Where a Metal3Machine is in its life."""

    WAITING = auto()
    INSTALLING = auto()
    RUNNING = auto()
    WIPING = auto()
    GONE = auto()


@dataclass
class Life:
    """The fake's record of a Metal3Machine; ``due`` is when the present stage is over."""

    stage: Stage = Stage.WAITING
    host: str = ""
    due: float = 0.0
    told: bool = False


class FakeMetal3:
    """Plays the hosts of every namespace, in a thread of its own."""

    def __init__(self, client: Client, mirror: Mirror) -> None:
        self._client, self._mirror = client, mirror
        self._lives: dict[str, Life] = {}
        self._taken: set[tuple[str, str]] = set()
        self._ready_clusters: set[str] = set()
        self._random = random.Random(1)  # a run is to be repeatable as far as it can be
        self._end = threading.Event()
        self._thread = threading.Thread(target=self._run, name="fake Metal3", daemon=True)
        self.fault: Exception | None = None
        """The error that ended it before its time."""

    def __enter__(self) -> Self:
        """Begin; the mirror must follow Machines, Metal3Machines, Metal3Clusters and hosts."""
        for host in self._mirror.all("BareMetalHost"):
            self.plug_in(host)
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        """End, and wait for it."""
        self._end.set()
        self._thread.join()

    def plug_in(self, host: Manifest) -> None:
        """The operator's work on a new host: it inspects it, and then it is available."""
        if "provisioning" not in host.get("status", {}):
            self._host_state(host["metadata"]["namespace"], host["metadata"]["name"], "available")

    def _run(self) -> None:
        try:
            while not self._end.is_set():
                for cluster in self._mirror.all("Metal3Cluster"):
                    self._bring_up(cluster)
                for host in self._mirror.all("BareMetalHost"):
                    self.plug_in(host)
                for machine in self._mirror.all("Metal3Machine"):
                    self._step(machine)
                self._end.wait(_TICK_SECONDS)
        except Exception as error:  # a fake that is silently gone would look like a stuck rollout
            self.fault = error
            raise

    def _bring_up(self, cluster: Manifest) -> None:
        uid = cluster["metadata"]["uid"]
        # Owned: Cluster API has seen it, and no longer misses the change that follows.
        if uid in self._ready_clusters or "ownerReferences" not in cluster["metadata"]:
            return
        self._ready_clusters.add(uid)
        status = {
            "initialization": {"provisioned": True},
            "failureDomains": cluster["spec"].get("failureDomains", []),
            "conditions": [nodes.condition("Ready", "Provisioned")],
        }
        merge(self._client, cluster, {"status": status}, "status")

    def _step(self, machine: Manifest) -> None:
        """The next thing that happens to a Metal3Machine, if it is time for it."""
        life = self._lives.setdefault(machine["metadata"]["uid"], Life())
        deleting = "deletionTimestamp" in machine["metadata"]
        match life.stage:
            case Stage.WAITING if deleting:
                self._let_go(machine, life)
            case Stage.WAITING:
                self._claim(machine, life)
            case Stage.INSTALLING | Stage.RUNNING if deleting:
                self._wipe(machine, life)
            case Stage.INSTALLING if time.monotonic() >= life.due:
                self._boot(machine, life)
            case Stage.WIPING if time.monotonic() >= life.due:
                self._let_go(machine, life)

    def _claim(self, machine: Manifest, life: Life) -> None:
        owner = self._owner(machine)
        if owner is None or not owner["spec"]["bootstrap"].get("dataSecretName"):
            return
        host = self._choose(machine, owner)
        if host is None:
            self._say_no_host(machine, life)
            return
        namespace, name = host["metadata"]["namespace"], host["metadata"]["name"]
        self._taken.add((namespace, name))
        life.stage, life.host = Stage.INSTALLING, name
        life.due = time.monotonic() + INSTALL_SECONDS
        mark = {"annotations": {HOST_ANNOTATION: f"{namespace}/{name}"}, "finalizers": [FINALIZER]}
        merge(self._client, machine, {"metadata": mark})
        claimed = {"consumerRef": consumer(namespace, machine["metadata"]["name"])}
        merge(self._client, host, {"spec": claimed})
        self._host_state(namespace, name, "provisioning")

    def _owner(self, machine: Manifest) -> Manifest | None:
        namespace = machine["metadata"]["namespace"]
        for owner in machine["metadata"].get("ownerReferences", ()):
            if owner["kind"] == "Machine":
                return self._mirror.get("Machine", owner["name"], namespace)
        return None

    def _choose(self, machine: Manifest, owner: Manifest) -> Manifest | None:
        """A free host that the selector allows, of the failure domain where there is one."""
        wanted = machine["spec"].get("hostSelector", {}).get("matchLabels", {}).items()
        free = [
            host
            for host in self._mirror.all("BareMetalHost")
            if host["metadata"]["namespace"] == machine["metadata"]["namespace"]
            and wanted <= host["metadata"].get("labels", {}).items()
            and (host["metadata"]["namespace"], host["metadata"]["name"]) not in self._taken
            and "deletionTimestamp" not in host["metadata"]
            and host.get("status", {}).get("provisioning", {}).get("state") == "available"
        ]
        domain = owner["spec"].get("failureDomain")
        near = [host for host in free if host["metadata"]["labels"].get(_DOMAIN) == domain]
        free.sort(key=lambda host: str(host["metadata"]["name"]))
        return self._random.choice(near or free) if free else None

    def _say_no_host(self, machine: Manifest, life: Life) -> None:
        if not life.told:
            life.told = True
            said = nodes.condition("Ready", "NoHost", "False", NO_HOST)
            merge(self._client, machine, {"status": {"conditions": [said]}}, "status")

    def _boot(self, machine: Manifest, life: Life) -> None:
        """The host runs its image: a kubelet registers, and Cluster API may go on."""
        owner = self._owner(machine)
        if owner is None:
            return
        metadata = machine["metadata"]
        known = identity(metadata["namespace"], life.host, metadata["name"])
        self._host_state(metadata["namespace"], life.host, "provisioned")
        nodes.join(self._client, owner, known)
        merge(self._client, machine, {"spec": {"providerID": known}})
        status = {
            "initialization": {"provisioned": True},
            "conditions": [nodes.condition("Ready", "Provisioned")],
        }
        merge(self._client, machine, {"status": status}, "status")
        life.stage = Stage.RUNNING

    def _wipe(self, machine: Manifest, life: Life) -> None:
        life.stage, life.due = Stage.WIPING, time.monotonic() + WIPE_SECONDS
        if CONTROL_PLANE_LABEL in machine["metadata"]["labels"]:
            nodes.stop_control_plane(self._client, machine["metadata"]["name"])
        self._host_state(machine["metadata"]["namespace"], life.host, "deprovisioning")

    def _let_go(self, machine: Manifest, life: Life) -> None:
        """The host is free again, and the Metal3Machine may vanish."""
        life.stage = Stage.GONE
        namespace = machine["metadata"]["namespace"]
        if life.host:
            host = self._mirror.get("BareMetalHost", life.host, namespace)
            if host is not None:
                merge(self._client, host, {"spec": {"consumerRef": None}})
                self._host_state(namespace, life.host, "available")
            self._taken.discard((namespace, life.host))
        _unless_gone(self._client, machine)

    def _host_state(self, namespace: str, name: str, state: str) -> None:
        running = state in ("provisioning", "provisioned")
        status = {
            "errorMessage": "",
            "errorCount": 0,
            "operationalStatus": "OK",
            "poweredOn": running,
            "provisioning": {"state": state, "ID": f"fake-{name}", "image": {"url": ""}},
        }
        host = {
            "apiVersion": METAL3,
            "kind": "BareMetalHost",
            "metadata": {"namespace": namespace, "name": name},
        }
        merge(self._client, host, {"status": status}, "status")


def consumer(namespace: str, machine: str) -> dict[str, str]:
    """The reference by which a host belongs to a Metal3Machine."""
    reference = {"apiVersion": INFRASTRUCTURE, "kind": "Metal3Machine"}
    return {**reference, "namespace": namespace, "name": machine}


def identity(namespace: str, host: str, machine: str) -> str:
    """The provider ID of a Metal3Machine and its Node."""
    return f"metal3://{namespace}/{host}/{machine}"


def _unless_gone(client: Client, machine: Manifest) -> None:
    """Take our finalizer off; a Metal3Machine that had none is gone by now."""
    try:
        merge(client, machine, {"metadata": {"finalizers": None}})
    except ApiError as error:
        if error.status != _NOT_FOUND:
            raise
