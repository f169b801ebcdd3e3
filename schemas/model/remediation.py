"""Fault remediation: how faults of hosts are found, who mends them, and where that ends.

What a single value may be; what must hold between values is in schemas/rules/remediation.py.
"""

from typing import Annotated

from pydantic import Field

from schemas.model.primitives import (
    DnsLabel,
    HostFolder,
    ImageReference,
    Model,
    Percent,
    PoolName,
    Quantity,
)
from schemas.model.vocabulary import Eviction, Fault, HealerKind

Xid = Annotated[int, Field(ge=1, le=999)]
"""The number of an error of NVIDIA's driver, as its kernel messages have it."""


ALWAYS_MENDED = {HealerKind.NODE_OPERATION_CONTROLLER: 2, HealerKind.MEDIK8S: 1}
"""Faulty hosts of a pool that are mended whatever share they are: one that is quarantined is not to
keep the next in use (components/remediation/scripts/turns.awk, ``hold``). medik8s has no such."""


class Xids(Model):
    """Errors of NVIDIA's driver by what they call for; all others are errors of programs."""

    reboot: Annotated[list[Xid], Field(max_length=100)] = [62, 79, 95, 119, 120]
    """A card that only comes back by a reboot: the fault accelerator-error."""
    watch: Annotated[list[Xid], Field(max_length=100)] = [48, 63, 64, 74, 92, 94]
    """Errors that are counted and shown as events of the node, and mended by nobody."""


class Detector(Model):
    """node-problem-detector, which looks for faults on every host."""

    image: ImageReference | None = None
    """Image of node-problem-detector; default: the release's."""
    interval_seconds: Annotated[int, Field(ge=10, le=600)] = 30
    """How often each check runs."""
    bad_after: Annotated[int, Field(ge=1, le=20)] = 3
    """Checks in a row that find a fault before the node's condition says so."""
    good_after: Annotated[int, Field(ge=1, le=20)] = 2
    """Checks in a row that find none before the condition is taken back: a single one would end a
    repair that has just begun."""
    disks: Annotated[list[HostFolder], Field(min_length=1, max_length=20)] = ["/"]
    """Folders of hosts whose file systems are looked at: for space, and whether they can still be
    written. Each but / has a file system of its own: else it counts as not mounted."""
    disk_full_percent: Annotated[int, Field(ge=50, le=99)] = 95
    """Used share of a file system from which it counts as full."""
    blocked_seconds: Annotated[int, Field(ge=120, le=7200)] = 600
    """How long a process may wait in the kernel before that counts as a deadlock."""
    xids: Xids = Xids()
    """Errors of NVIDIA's driver."""


class Healer(Model):
    """A remediator: the program that repairs some faults on some pools."""

    name: DnsLabel
    """Name of the healer; its objects are named after it."""
    kind: HealerKind = Field(default=HealerKind.NODE_OPERATION_CONTROLLER, strict=False)
    """What mends."""
    pools: Annotated[list[PoolName], Field(max_length=100)]
    """Pools whose hosts it mends."""
    faults: Annotated[list[Annotated[Fault, Field(strict=False)]], Field(max_length=20)] = [
        Fault.ACCELERATOR_MISSING,
        Fault.ACCELERATOR_ERROR,
        Fault.PCIE_LINK_DEGRADED,
        Fault.READ_ONLY_FILESYSTEM,
        Fault.KERNEL_DEADLOCK,
    ]
    """Faults that it mends; the first of them that a host has is mended first. Those that a pool
    cannot have, as it has no accelerators, are left out."""
    eviction: Eviction = Field(default=Eviction.EVICT, strict=False)
    """How pods leave a host before it is rebooted (node-operation-controller)."""
    max_unavailable: Annotated[int, Field(ge=1, le=100)] = 1
    """Hosts of one pool that it takes out at a time; those that are out for a rollout count too.
    medik8s mends none while more have a fault."""


class Reboot(Model):
    """The reboot of a host by its BareMetalHost, and how often that is tried."""

    credentials: DnsLabel = "management-cluster"
    """Secret in the namespace with the key ``kubeconfig``: access to the management cluster, for
    the BareMetalHosts of this site alone. Foresite makes its rights, and not the Secret."""
    timeout_seconds: Annotated[int, Field(ge=300, le=7200)] = 1500
    """How long a reboot may take until the node is ready and the fault gone."""
    attempts: Annotated[int, Field(ge=1, le=10)] = 2
    """Reboots of one host within the window; then it stays out, and a person is called."""
    window_hours: Annotated[int, Field(ge=1, le=168)] = 24
    """The window in which reboots are counted."""


class Controller(Model):
    """The programs that run the repairs: Node Operation Controller, and what gives turns."""

    image: ImageReference | None = None
    """Image of node-operation-controller, which has no public digest; needed for healers of that
    kind."""
    tools_image: ImageReference | None = None
    """Image with sh, awk, sleep and kubectl, for turns and reboots; default: the release's."""
    memory: Annotated[Quantity, Field(examples=["512Mi"])] = "512Mi"
    """Memory that the controller is sure to get, and may not exceed: it keeps all pods and jobs of
    the cluster in mind."""


class Medik8s(Model):
    """medik8s, where a healer is of its kind; its operators are the site's own."""

    namespace: DnsLabel = "self-node-remediation"
    """Namespace of its Self Node Remediation operator."""
    unhealthy_seconds: Annotated[int, Field(ge=60, le=7200)] = 120
    """How long a condition must hold before it mends."""


class Remediation(Model):
    """How faults of hosts are found and mended."""

    namespace: DnsLabel = "node-remediation"
    """Namespace of detectors, healers and their jobs."""
    detector: Detector = Detector()
    """How faults are found, on every pool."""
    healers: Annotated[list[Healer], Field(max_length=50)] = []
    """Who mends them; faults without a healer are only told."""
    max_faulty_percent: Percent = 20
    """Share of a pool's hosts with a fault beyond which nobody mends, as the fault is not a
    host's: a bad driver, or a check that is wrong."""
    reboot: Reboot = Reboot()
    """How hosts are rebooted (node-operation-controller)."""
    controller: Controller = Controller()
    """What runs the repairs (node-operation-controller)."""
    medik8s: Medik8s = Medik8s()
    """Settings of medik8s, for healers of its kind."""
    device_taints: bool = False
    """Whether a faulty card is taken from a node by a DeviceTaintRule, so that the others of the
    host stay in use; only where a DRA driver hands cards out."""

    def may_be_faulty(self, kind: HealerKind, machines: int) -> int:
        """How many of a pool's machines may have a fault at once before no repair is begun there:
        the share, and in a small pool as many as are hosts' own faults (``ALWAYS_MENDED``)."""
        return max(ALWAYS_MENDED[kind], machines * self.max_faulty_percent // 100)
