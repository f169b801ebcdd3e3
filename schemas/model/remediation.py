"""Fault remediation: how faults of hosts are detected, who repairs them, and when repairs stop.
What must hold between values is in schemas/rules/remediation.py."""

from typing import Annotated

from pydantic import Field

from schemas.kubernetes.tables import read_table
from schemas.model.faults import FaultName
from schemas.model.primitives import (
    Command,
    DnsLabel,
    HostFolder,
    ImageReference,
    Model,
    Percent,
    PoolName,
    text_form,
)
from schemas.model.sizes import Memory
from schemas.model.vocabulary import Eviction, Fault, RemediatorKind

Xid = Annotated[int, Field(ge=1, le=999)]
"""The number of an error of NVIDIA's driver, as its kernel messages have it."""
ALWAYS_REPAIRED = {RemediatorKind.NODE_OPERATION_CONTROLLER: 2, RemediatorKind.MEDIK8S: 1}
"""Faulty hosts of a pool that are mended whatever share they are: one that is quarantined is not to
keep the next in use (node_repair/decide.py, ``ALWAYS``). medik8s has no such."""
_XIDS = read_table(__file__, "xids.toml")


def _xids(*actions: str) -> list[int]:
    return sorted(int(number) for action in actions for number in _XIDS[action])


RESETS = frozenset(_xids("reset", "told"))
"""XIDs after which a reset recovers the GPU; 154 where its message asks for one."""


class Xids(Model):
    """Errors of NVIDIA's driver by what its catalogue calls for (schemas/model/xids.toml)."""

    reboot: Annotated[list[Xid], Field(max_length=100)] = _xids("restart", "reset", "told")
    """XIDs after which a reset or a reboot recovers the GPU: the fault accelerator-error. 154
    counts where its message asks for one of the two."""
    watch: Annotated[list[Xid], Field(max_length=100)] = _xids("watch")
    """XIDs that are counted and reported as events of the node; they start no repair."""


_LINK_ERRORS = read_table(__file__, "link_errors.toml")
CounterName = Annotated[str, text_form("[a-z][a-z0-9_]{1,62}", "symbol_error")]
Sentence = Annotated[str, text_form(r"[^{}<>$\x00-\x1f\x7f]+")]
"""Text of an alert: one line without characters that Prometheus' templates read."""


class OwnCheck(Model):
    """A check of the site's own: a command on the host, and the text of its alert."""

    name: FaultName
    """Name of the fault. The node's condition has it in CamelCase, and remediators may name it."""
    pools: Annotated[list[PoolName], Field(max_length=100)] = []
    """Pools whose hosts are checked; default: all."""
    command: Command
    """Command on the host and its arguments; no shell reads them. By its exit code: 0 is good, 1
    with a line of output is a fault, any other is unknown. The line is the condition's message."""
    root: HostFolder = "/"
    """Folder of the host that is the command's root."""
    timeout_seconds: Annotated[int, Field(ge=1, le=120)] = 20
    """Seconds that the command may take; one that hangs is unknown."""
    threshold: Annotated[int, Field(ge=0, le=10**15)] | None = None
    """Largest good value of the number with which the command's output begins, such as 40, 40.5 ms
    or 40%; default: its exit code decides. With a threshold any exit code but 0 is unknown."""
    message: Annotated[Sentence, Field(max_length=120, examples=["the scratch disk is slow"])]
    """What a fault means, in the alert's summary behind the name of the node."""
    runbook: Annotated[Sentence, Field(max_length=400, examples=["https://wiki.example/scratch"])]
    """What a person should do, or the address of a page that says it: the alert's description."""
    critical: bool = False
    """True if the alert is critical; default: a warning."""


class Detector(Model):
    """node-problem-detector, which checks every host for faults."""

    image: ImageReference | None = None
    """Image of node-problem-detector; default: the release's."""
    interval_seconds: Annotated[int, Field(ge=10, le=600)] = 30
    """Seconds between two runs of each check."""
    bad_after: Annotated[int, Field(ge=1, le=20)] = 3
    """Consecutive checks that must find a fault before the node's condition becomes True."""
    good_after: Annotated[int, Field(ge=1, le=20)] = 2
    """Consecutive good checks until the condition is False; one would end a repair just begun."""
    disks: Annotated[list[HostFolder], Field(min_length=1, max_length=20)] = ["/"]
    """Folders whose file systems are checked for free space and for being read-only. Each folder
    except / must be a mount point: else it counts as not mounted."""
    disk_full_percent: Annotated[int, Field(ge=50, le=99)] = 95
    """Used share of a file system, in percent, from which it counts as full."""
    blocked_seconds: Annotated[int, Field(ge=120, le=7200)] = 600
    """Seconds that a process may be blocked in the kernel before that counts as a deadlock."""
    xids: Xids = Xids()
    """Errors of NVIDIA's driver."""
    link_errors: Annotated[
        dict[CounterName, Annotated[int, Field(ge=0, le=10**9)]], Field(max_length=32)
    ] = _LINK_ERRORS
    """Error counters of network devices' interfaces, with the rise in five minutes that is good.
    They replace the defaults. They are files of the port's counters and hw_counters, or of the
    interface; others are left out."""
    checks: Annotated[list[OwnCheck], Field(max_length=32)] = []
    """Checks of the site's own."""


class Remediator(Model):
    """A remediator: which faults it repairs, and on which pools."""

    name: DnsLabel
    """Name of the remediator; its objects are named after it."""
    kind: RemediatorKind = Field(default=RemediatorKind.NODE_OPERATION_CONTROLLER, strict=False)
    """Program that repairs nodes."""
    pools: Annotated[list[PoolName], Field(max_length=100)]
    """Pools whose hosts it repairs."""
    faults: Annotated[list[FaultName], Field(max_length=60)] = [
        Fault.ACCELERATOR_MISSING,
        Fault.ACCELERATOR_ERROR,
        Fault.PCIE_LINK_DEGRADED,
        Fault.READ_ONLY_FILESYSTEM,
        Fault.KERNEL_DEADLOCK,
    ]
    """Faults that it repairs, in this order where a host has several: of docs/fault-detection.md
    and of the site's own checks. Those of accelerators are ignored on pools without any."""
    eviction: Eviction = Field(default=Eviction.EVICT, strict=False)
    """Method by which pods leave a host before its reboot (node-operation-controller)."""
    max_unavailable: Annotated[int, Field(ge=1, le=100)] = 1
    """Hosts of one pool that may be unavailable at a time, rollouts included. medik8s starts no
    repair while more hosts than this have a fault."""


class Reboot(Model):
    """The reboot of a host through its BareMetalHost, and how often it is tried."""

    credentials: DnsLabel = "management-cluster"
    """Secret in the namespace with the key ``kubeconfig``: access to the management cluster,
    limited to the BareMetalHosts of this site. Foresite makes the RBAC rules, not the Secret."""
    timeout_seconds: Annotated[int, Field(ge=300, le=7200)] = 1500
    """Seconds that a reboot may take until the node is ready and the fault is gone."""
    attempts: Annotated[int, Field(ge=1, le=10)] = 2
    """Reboots of a host within the window; then it is quarantined, and an alert calls a person."""
    window_hours: Annotated[int, Field(ge=1, le=168)] = 24
    """Hours in which reboots are counted."""
    reset_first: bool = False
    """True if all GPUs of a drained host are reset before a reboot, where the model's record has a
    reset and its errors need no more. Power limits, locked clocks and MIG instances set by boot
    units are lost by a reset: write it only where the image sets them again."""
    often: Annotated[int, Field(ge=2, le=50)] = 3
    """Repairs of one host, or of one of its devices, within 90 days from which an alert asks to
    return it to its maker."""


class Controller(Model):
    """Node Operation Controller, which drains nodes and runs their repairs."""

    image: ImageReference | None = None
    """Image of node-operation-controller (no public digest); remediators of that kind need it."""
    memory: Annotated[Memory, Field(examples=["512Mi"])] = "512Mi"
    """Memory request and limit of the controller: it caches all pods and jobs of the cluster."""


class Medik8s(Model):
    """Settings for remediators of kind medik8s. The site installs its operators itself."""

    namespace: DnsLabel = "self-node-remediation"
    """Namespace of its Self Node Remediation operator."""
    unhealthy_seconds: Annotated[int, Field(ge=60, le=7200)] = 120
    """Seconds that a condition must hold before a repair starts."""


class BadDevices(Model):
    """What happens to a host by how many of its devices are bad, where ``device_taints`` is on."""

    taint_up_to: Annotated[int, Field(ge=1, le=8)]
    """Bad devices of a host taken out of use one by one; beyond them an alert calls a person."""
    repair_beyond: bool = False
    """True if a host with more bad devices is repaired: drained and rebooted by the remediator of
    pcie-link-degraded."""


class Remediation(Model):
    """How faults of hosts are detected and repaired."""

    namespace: DnsLabel = "node-remediation"
    """Namespace of detectors, remediators and their jobs."""
    detector: Detector = Detector()
    """How faults are detected, on every pool."""
    healers: Annotated[list[Remediator], Field(max_length=50)] = []
    """Remediators, which repair faults. A fault without a remediator only raises an alert."""
    max_faulty_percent: Percent = 20
    """Share of a pool's hosts, in percent, that may have a fault. Above it no repair begins: the
    cause is then a bad driver or a wrong check, not a host."""
    reboot: Reboot = Reboot()
    """How hosts are rebooted (node-operation-controller)."""
    controller: Controller = Controller()
    """The program that drains nodes and runs their repairs (node-operation-controller)."""
    repair_image: ImageReference | None = None
    """Image of Foresite's own repair programs, which you build from node-repair/Dockerfile;
    required for remediators of kind node-operation-controller, and for device_taints."""
    medik8s: Medik8s = Medik8s()
    """Settings of medik8s, for remediators of its kind."""
    device_taints: bool = False
    """True if a DeviceTaintRule takes a single faulty device out of use; it needs a DRA driver."""
    bad_devices: BadDevices | None = None
    """What happens by the number of a host's bad devices; default: up to half of them are taken
    out, and with more an alert calls a person."""

    def may_be_faulty(self, kind: RemediatorKind, machines: int) -> int:
        """How many of a pool's machines may have a fault at once before no repair is begun there:
        the share, and in a small pool as many as are hosts' own faults (``ALWAYS_REPAIRED``)."""
        return max(ALWAYS_REPAIRED[kind], machines * self.max_faulty_percent // 100)
