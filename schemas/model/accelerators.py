"""Accelerator models: how a device is recognised, made a resource, watched and shared, as data. One
record per model, whoever makes it. The catalogue ships some; a site adds its own under
``accelerators.models``: an in-house card is described by its plugin's image and its device paths,
and nothing in Foresite knows its vendor. How many cards a host has is in its hardware profile."""

from typing import Annotated

from pydantic import Field

from schemas.kubernetes.forms import SUBDOMAIN
from schemas.model.primitives import (
    AbsolutePath,
    Command,
    DnsLabel,
    DomainName,
    HostFolder,
    ImageReference,
    Model,
    ResourceName,
    text_form,
)
from schemas.model.vocabulary import ModelBy

ShortName = Annotated[str, text_form("[a-z0-9]([-a-z0-9.]{0,38}[a-z0-9])?", "gpu-v100-32gb")]
"""Short name of a model at this site."""
PciId = Annotated[str, text_form("[0-9a-f]{4}", "10de")]
"""Four hexadecimal digits of a PCI vendor, device or class, in lower case."""
Capability = Annotated[str, text_form("[A-Z][A-Z_]{2,30}", "SYS_ADMIN")]
"""A Linux capability, without CAP_."""
VariableName = Annotated[str, text_form("[A-Za-z_][A-Za-z0-9_]{0,127}")]
"""Name of an environment variable."""
_MIG = r"[1-9]g\.[1-9][0-9]{0,2}gb"
MigProfile = Annotated[str, text_form(_MIG, "1g.10gb", longest=63)]
"""A MIG profile: compute slices and memory."""
Expressions = Annotated[
    list[Annotated[str, Field(min_length=1, max_length=1024)]], Field(max_length=16)
]
"""Conditions in CEL, all of which must hold."""
MIG_PREFIX = "all-"
"""Beginning of a configuration that divides every card of a host alike (NVIDIA/mig-parted)."""


class Sharing(Model):
    """The division of each card of a host into equal shares, in one of three ways."""

    mig: Annotated[str, text_form(f"{MIG_PREFIX}{_MIG}", "all-1g.10gb")] | None = None
    """MIG profile of every slice, such as all-1g.10gb: memory and processors of its own."""
    time_slicing: Annotated[int, Field(ge=2, le=64)] | None = None
    """Pods that take turns on a card; they share its memory, and nothing isolates them."""
    mps: Annotated[int, Field(ge=2, le=48)] | None = None
    """Pods that run on a card at the same time (CUDA MPS), each with its part of the memory."""

    @property
    def profile(self) -> str:
        """The MIG profile; empty for the other ways."""
        return (self.mig or "").removeprefix(MIG_PREFIX)

    @property
    def label(self) -> str:
        """The end of the model's name that its shares get, such as 1g-10gb or mps-4."""
        if self.mig:
            return self.profile.replace(".", "-")
        return f"mps-{self.mps}" if self.mps else f"shared-{self.time_slicing}"

    def shares(self, record: "AcceleratorModel") -> int:
        """Shares of one card; 0 for a profile that it does not have."""
        return record.mig.get(self.profile, 0) if self.mig else self.mps or self.time_slicing or 0


class Pci(Model):
    """How node feature discovery recognises a device on the PCI bus."""

    vendor: PciId
    """PCI vendor, such as 10de for NVIDIA."""
    devices: Annotated[list[PciId], Field(max_length=32)] = []
    """PCI devices of the model; none means every device of the vendor and class."""
    classes: Annotated[list[PciId], Field(min_length=1, max_length=8)] = ["0302"]
    """PCI classes of the device: 0302 is a 3D controller, 1200 a processing accelerator."""
    link_width: Annotated[int, Field(ge=1, le=32)] | None = None
    """PCIe lanes of a healthy device; leave out where that is not known."""


class Health(Model):
    """How a command on the host counts its healthy devices: one line of its output for each."""

    command: Command
    """Command on the host and its arguments, such as [nvidia-smi, -L]."""
    lines: Annotated[str, Field(min_length=1, max_length=256, examples=["^GPU [0-9]+:"])] = "."
    """Extended regular expression (grep -E) of the lines that count."""
    root: HostFolder = "/"
    """Folder of the host that is the command's root, such as that of a driver in a container."""
    timeout_seconds: Annotated[int, Field(ge=1, le=120)] = 20
    """Seconds that the command may take. A command that hangs counts as a lost device."""
    silent_codes: Annotated[list[Annotated[int, Field(ge=1, le=255)]], Field(max_length=16)] = []
    """Exit codes that say nothing about the devices, such as 9 of nvidia-smi while its driver is
    not loaded: after a boot, until the GPU operator has installed it."""


class Reset(Model):
    """How all devices of a host are reset once no pod uses them: tried before a reboot."""

    command: Command
    """Command on the host, such as [nvidia-smi, --gpu-reset]; exit code 0: they were reset."""
    timeout_seconds: Annotated[int, Field(ge=30, le=600)] = 120
    """Seconds until it must have worked; it is tried again while programs leave the devices."""


class FabricCommand(Health):
    """A command that counts working parts of the fabric between a host's accelerators."""

    per_device: Annotated[int, Field(ge=1, le=64)] = 1
    """Lines that count for each accelerator of the host, such as its NVLinks."""


class Fabric(Model):
    """How a host with switches between its accelerators shows that these work."""

    process: Annotated[str, text_form("[A-Za-z0-9_][A-Za-z0-9_.-]{0,63}")] | None = None
    """Process that runs the switches, if one does: nv-fabricmanager, also one in a container."""
    commands: Annotated[list[FabricCommand], Field(max_length=4)] = []
    """Commands on the host, of which each must count enough lines."""


class Program(Model):
    """A container that Foresite runs on each host with the card."""

    image: ImageReference | None = None
    """Image of the program; default: the release's of this vendor and part."""
    args: Annotated[list[Annotated[str, Field(max_length=512)]], Field(max_length=64)] = []
    """Arguments of the image's entry point."""
    env: dict[VariableName, str] = {}
    """Environment; no secrets."""
    host_paths: Annotated[list[AbsolutePath], Field(max_length=32)] = []
    """Paths of the host that the container sees at the same place, such as /dev/mncore0."""
    capabilities: Annotated[list[Capability], Field(max_length=16)] = []
    """Linux capabilities that the container needs, such as SYS_ADMIN; default: none."""
    privileged: bool = False
    """True if it needs all rights on the host, as to open device files; else it only sees them."""


class DevicePlugin(Program):
    """The device plugin that makes the cards a resource of their node."""

    resource: ResourceName
    """Resource that the plugin advertises, such as nvidia.com/gpu."""


class Exporter(Program):
    """The program that serves the cards' metrics to Prometheus."""

    port: Annotated[int, Field(ge=1024, le=65535)] = 9400
    """TCP port of the metrics, on the pod's own address."""


class Dra(Model):
    """How the model is found among the devices of its DRA driver (resource.k8s.io/v1)."""

    driver: Annotated[str, text_form(SUBDOMAIN, longest=63)]
    """Name of the driver, such as gpu.nvidia.com."""
    expressions: Expressions = []
    """CEL expressions on ``device`` that must all hold: DeviceClass spec.selectors[].cel."""
    mig_expressions: Expressions = []
    """Those of the model's MIG slices, beside the profile of a slice."""


class AcceleratorModel(Model):
    """A model of accelerator."""

    description: Annotated[str, Field(min_length=1, max_length=200)]
    """Description of the device, for people."""
    vendor: DnsLabel
    """Name of the vendor, such as nvidia."""
    memory_gib: Annotated[int, Field(ge=1, le=4096)] | None = None
    """Memory of one device in GiB, where it has its own."""
    pci: Pci
    """Its identity on the PCI bus."""
    plugin: DevicePlugin
    """Device plugin that offers it as a resource."""
    exporter: Exporter | None = None
    """Exporter of its metrics; leave out where there is none."""
    health: Health | None = None
    """The command that counts a host's healthy devices; default: those that the PCI bus shows."""
    reset: Reset | None = None
    """The command that resets a host's devices after an XID that a reset recovers; default: a
    reboot. Only where Foresite runs the device plugin: other programs do not leave the devices."""
    kernel_log: Annotated[
        list[Annotated[str, Field(min_length=4, max_length=256)]], Field(max_length=16)
    ] = []
    """Extended regular expressions (grep -E) of messages of the kernel's log after which a reboot
    recovers the device. NVIDIA's are the XIDs of remediation.detector.xids."""
    fabric: Fabric | None = None
    """How a host's switches are checked, where its profile has some (``accelerators.fabric``)."""
    runtime_class: DnsLabel | None = None
    """Container runtime that its pods need, as containerd on the hosts knows it."""
    device_variables: Annotated[list[VariableName], Field(max_length=16)] = []
    """Environment variables by which a container chooses its devices past the device plugin, beside
    those that Foresite knows of vendors. Pods of teams may not set them."""
    device_mounts: AbsolutePath | None = None
    """Folder in a container, such as /var/run/nvidia-container-devices, whose mounts choose its
    devices. Pods of teams may not mount it; the model's own programs get all devices by it."""
    mig: Annotated[dict[MigProfile, Annotated[int, Field(ge=1, le=16)]], Field(max_length=32)] = {}
    """MIG profiles of the card, and how many slices of each it holds; none where it has no MIG."""
    driver: Annotated[str, text_form(r"[0-9]{3}\.[0-9]{2,3}(\.[0-9]{2})?")] | None = None
    """NVIDIA driver that the GPU operator installs for it: new driver branches drop old GPUs."""
    dra: Dra | None = None
    """Its form in the DRA driver; leave it out if there is no driver."""


class GpuOperator(Model):
    """The GPU operator: Foresite writes its ClusterPolicy and NVIDIADrivers."""

    namespace: DnsLabel = "gpu-operator"
    """Namespace that it is installed in."""
    drivers: bool = True
    """True if it also installs drivers; false if the OS image contains them."""
    max_parallel_upgrades: Annotated[int, Field(ge=0, le=50)] = 0
    """Hosts whose driver is upgraded at a time, each drained of its GPU pods; 0: none by itself."""


DRIVER_IMAGE = "nvidia-dra-driver"
"""The name of its DRA driver's image in a release."""
CHANNEL_CLASS = "compute-domain-default-channel.nvidia.com"
"""The class of the one claim that a job across hosts has; it hands out no GPU."""
CHANNEL_RESOURCE = "foresite.dev/nvlink-channel"
"""The name by which Kueue counts such claims (its configuration: deviceClassMappings)."""


class ComputeDomains(Model):
    """ComputeDomains: jobs over several hosts of an NVLink domain share their GPUs' memory (IMEX).
    Foresite runs NVIDIA's DRA driver for that alone: GPUs stay with their device plugin."""

    namespace: DnsLabel = "nvidia-dra"
    """Namespace of the driver; Foresite makes it."""
    image: ImageReference | None = None
    """Image of the driver; default: the release's."""


class AcceleratorSettings(Model):
    """How researchers ask for the site's accelerators, and what serves them."""

    prefix: DomainName
    """Domain of the resources that pods request: <prefix>/<name of a model>."""
    names: dict[DnsLabel, ShortName] = {}
    """Names of models behind the prefix; default: the model's own."""
    model_by: ModelBy = Field(default=ModelBy.ADMISSION, strict=False)
    """The mechanism that turns such a resource into a device."""
    gpu_operator: GpuOperator | None = None
    """NVIDIA's GPU operator, where it serves the NVIDIA models instead of plain device plugins."""
    compute_domains: ComputeDomains | None = None
    """ComputeDomains on the pools whose NVLink domain is a rack; default: none."""
    models: dict[DnsLabel, AcceleratorModel] = {}
    """Models of this site, besides the catalogue's."""
