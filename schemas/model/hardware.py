"""Hardware profiles: what a model of host is made of, as data that sites name. The catalogue ships
some; a site may add its own under ``hardware``. A profile says what is true of the metal (disks,
accelerators, time to re-image), never what a site does with it."""

from enum import StrEnum
from typing import Annotated

from pydantic import Field
from pydantic.alias_generators import to_camel

from schemas.model.firmware import Firmware, RaidVolume
from schemas.model.primitives import DnsLabel, Model, text_form


class BmcProtocol(StrEnum):
    """How the Bare Metal Operator talks to a host's BMC: the scheme of ``bmc.address``."""

    REDFISH_VIRTUALMEDIA = "redfish-virtualmedia"
    """Redfish, booting from a virtual disc: no provisioning network is needed."""
    REDFISH_VIRTUALMEDIA_HTTP = "redfish-virtualmedia+http"
    """The same without TLS, for a lab of virtual machines: the password is sent in clear text."""
    REDFISH_HTTP = "redfish+http"
    """Redfish without TLS, booting from the provisioning network; for a lab likewise."""
    REDFISH = "redfish"
    """Redfish, booting from the provisioning network."""
    IDRAC_VIRTUALMEDIA = "idrac-virtualmedia"
    """The same as redfish-virtualmedia, in the way of Dell's iDRAC."""
    IPMI = "ipmi"
    """IPMI, booting from the provisioning network."""


class BootMode(StrEnum):
    """The firmware interface a host boots with: BareMetalHost ``spec.bootMode``."""

    UEFI = "UEFI"
    """UEFI."""
    UEFI_SECURE_BOOT = "UEFISecureBoot"
    """UEFI that starts signed code only."""
    LEGACY = "legacy"
    """BIOS."""


class Arch(StrEnum):
    """The architecture of a host's processors, as Kubernetes calls it."""

    AMD64 = "amd64"
    """x86-64."""
    ARM64 = "arm64"
    """64-bit Arm, such as NVIDIA Grace."""


class NvlinkDomain(StrEnum):
    """The hosts whose accelerators are one NVLink domain, beyond a host's own."""

    RACK = "rack"
    """The hosts of a rack of the host list, as in an NVL72."""


class Bmc(Model):
    """The baseboard management controller of a profile."""

    protocol: BmcProtocol = Field(default=BmcProtocol.REDFISH_VIRTUALMEDIA, strict=False)
    """The protocol between the Bare Metal Operator and the BMC."""
    system_path: Annotated[str, text_form("/[A-Za-z0-9._/-]*")] = "/redfish/v1/Systems/1"
    """Path of the system resource in Redfish; not used with ipmi."""
    verify_certificate: bool = True
    """True if the BMC's TLS certificate is verified."""


BY_PATH = "/dev/disk/by-path/"
"""The links to disks that say the slot that a disk is in."""
DISK_WORDS = r"[A-Za-z0-9](?:[A-Za-z0-9 ._:+/-]{0,126}[A-Za-z0-9.+)])?"
DISK_ID = r"[A-Za-z0-9._:+-]{1,128}"
DISK_LINK = r"/dev/disk/by-(?:path|id)/[A-Za-z0-9_:.+-]+"
DEVICE_NAME = r"/dev/(?:disk/by-path/)?[A-Za-z0-9_:.+-]+"
HCTL = r"[0-9]{1,5}(?::[0-9]{1,5}){3}"

DeviceName = Annotated[str, text_form(DEVICE_NAME, f"{BY_PATH}pci-0000:01:00.0-nvme-1")]
"""A device file of a disk, as the Bare Metal Operator takes it."""
DiskWords = Annotated[str, text_form(DISK_WORDS)]
"""What the maker calls a disk."""
DiskId = Annotated[str, text_form(DISK_ID)]
"""What one disk alone is called."""
DiskLink = Annotated[str, text_form(DISK_LINK, f"{BY_PATH}pci-0000:41:00.0-nvme-1")]
"""A link to a disk that is the same after each boot."""


class RootDisk(Model):
    """The disk for the operating system: BareMetalHost ``spec.rootDeviceHints``, all of which have
    to fit (BMO 0.13, devicehints.go)."""

    device_name: DeviceName | None = None
    """Link below /dev/disk/by-path; a kernel name, such as /dev/sda, on hosts of one disk only."""
    hctl: Annotated[str, text_form(HCTL, "0:0:0:0")] | None = None
    """SCSI address: host, channel, target and LUN."""
    model: DiskWords | None = None
    """Part of the model."""
    vendor: DiskWords | None = None
    """Part of the vendor's name."""
    serial_number: DiskId | None = None
    """Serial number."""
    min_size_gigabytes: Annotated[int, Field(ge=1, le=10_000_000)] | None = None
    """Smallest size that counts, in GB."""
    wwn: DiskId | None = None
    """World Wide Name."""
    wwn_with_extension: DiskId | None = None
    """World Wide Name with the vendor's extension."""
    wwn_vendor_extension: DiskId | None = None
    """The vendor's extension of the World Wide Name."""
    rotational: bool | None = None
    """False for a solid state disk."""

    @classmethod
    def parse(cls, cell: str) -> "RootDisk":
        """The disk that a cell of the host list says: hints, separated by semicolons."""
        hints = dict(each.split("=", 1) for each in cell.split(";"))
        return cls.model_validate_strings(hints, strict=False)

    @property
    def hints(self) -> dict[str, str | int | None]:
        """The hints as Metal3 spells them."""
        return {to_camel(name): value for name, value in vars(self).items()}

    @property
    def unstable(self) -> bool:
        """True if it is named by the order in which the kernel found the disks."""
        name = vars(self).get("device_name")  # of data with holes there may be none
        return name is not None and not name.startswith(BY_PATH)

    @property
    def names_one(self) -> bool:
        """True if a hint fits one disk or slot alone, whatever other disks a host has."""
        own = {"device_name", "hctl", "serial_number"}
        # A hint that could not be read is a fault of its own, and may be such a one.
        said = [name for name in type(self).model_fields if vars(self).get(name, "") is not None]
        return not self.unstable and any(name in own or name.startswith("wwn") for name in said)


class DataDisks(Model):
    """The disks of a host beside that of its operating system."""

    count: Annotated[int, Field(ge=1, le=64)] | None = None
    """Number of NVMe disks; all that are there belong to the data, but the root disk."""
    devices: Annotated[list[DiskLink], Field(max_length=64)] = []
    """Links to the disks, in place of ``count``; the same on each host of the profile."""


class Accelerators(Model):
    """The accelerators of one host."""

    model: DnsLabel
    """Name of the model, such as v100-sxm2-32gb."""
    count: Annotated[int, Field(ge=1, le=64)]
    """Accelerators of a healthy host."""
    fabric: bool = False
    """True if switches connect the accelerators, as on HGX and NVL hosts with NVSwitch."""


RAID_MINUTES = 20
"""Minutes of one or two reboots in which the Bare Metal Operator makes RAID volumes."""


class HardwareProfile(Model):
    """A model of host."""

    description: Annotated[str, Field(min_length=1, max_length=200)]
    """Description of the host, for people."""
    cpu_cores: Annotated[int, Field(ge=1, le=4096)]
    """Physical cores of one host."""
    memory_gib: Annotated[int, Field(ge=1, le=131_072)]
    """Memory of one host in GiB."""
    arch: Arch = Field(default=Arch.AMD64, strict=False)
    """Architecture of its processors."""
    accelerators: Accelerators | None = None
    """The accelerators of one host; leave out where it has none."""
    nvlink_domain: NvlinkDomain | None = Field(default=None, strict=False)
    """The hosts whose accelerators share NVLink; leave out where no host shares it with another."""
    bmc: Bmc = Bmc()
    """Access to its BMC."""
    numa_nodes: Annotated[int, Field(ge=1, le=256)] | None = None
    """NUMA nodes of one host, as lscpu shows them; leave out where it is not known."""
    boot_mode: BootMode = Field(default=BootMode.UEFI, strict=False)
    """Firmware interface."""
    root_disk: RootDisk
    """Disk for the operating system."""
    data_nvme_gb: Annotated[int, Field(ge=1, le=10_000_000)] | None = None
    """Space of its NVMe disks beside the system's, in GB (10^9 bytes); leave out if not known."""
    data_disks: DataDisks | None = None
    """Disks that first_boot.data_disks makes a file system of; by itself it does nothing."""
    raid: Annotated[list[RaidVolume], Field(max_length=32)] | None = None
    """RAID volumes, made before an installation; [] deletes what there is; default: it stays."""
    firmware: Firmware | None = None
    """Settings and versions of the firmware; without it nobody changes them."""
    reimage_minutes: Annotated[int, Field(ge=5, le=480)] = 30
    """Minutes from the start of an OS install until the node is ready."""

    @property
    def install_minutes(self) -> int:
        """Minutes until a host runs a new machine: RAID and firmware may come before the install
        (BMO v0.13.2, host_state_machine.go, handlePreparing)."""
        firmware = self.firmware.minutes if self.firmware else 0
        return self.reimage_minutes + firmware + (RAID_MINUTES if self.raid is not None else 0)
