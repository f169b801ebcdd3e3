"""Hardware profiles: what a model of host is made of, as data that sites name.

The catalogue ships some; a site may add its own under ``hardware``. A profile says what is true of
the metal (disks, accelerators, time to re-image), never what a site does with it.
"""

from enum import StrEnum
from typing import Annotated

from pydantic import Field

from schemas.model.primitives import DnsLabel, Model


class BmcProtocol(StrEnum):
    """How the Bare Metal Operator talks to a host's BMC: the scheme of ``bmc.address``."""

    REDFISH_VIRTUALMEDIA = "redfish-virtualmedia"
    """Redfish, booting from a virtual disc: no provisioning network is needed."""
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


class Bmc(Model):
    """The baseboard management controller of a profile."""

    protocol: BmcProtocol = Field(default=BmcProtocol.REDFISH_VIRTUALMEDIA, strict=False)
    """The protocol between the Bare Metal Operator and the BMC."""
    system_path: Annotated[str, Field(pattern=r"^/[A-Za-z0-9._/-]*$")] = "/redfish/v1/Systems/1"
    """Path of the system resource in Redfish; not used with ipmi."""
    verify_certificate: bool = True
    """True if the BMC's TLS certificate is verified."""


class RootDisk(Model):
    """The disk for the operating system: BareMetalHost ``spec.rootDeviceHints``."""

    device_name: Annotated[str, Field(pattern=r"^/dev/[A-Za-z0-9/_:.-]+$")] | None = None
    """Device path, such as /dev/nvme0n1 or a stable link below /dev/disk/by-path."""
    min_size_gigabytes: Annotated[int, Field(ge=1, le=10_000_000)] | None = None
    """Smallest size that counts, in GB."""
    rotational: bool | None = None
    """False for a solid state disk."""


class Accelerators(Model):
    """The accelerators of one host."""

    model: DnsLabel
    """Name of the model, such as v100-sxm2-32gb."""
    count: Annotated[int, Field(ge=1, le=64)]
    """Accelerators of a healthy host."""


class HardwareProfile(Model):
    """A model of host."""

    description: Annotated[str, Field(min_length=1, max_length=200)]
    """Description of the host, for people."""
    cpu_cores: Annotated[int, Field(ge=1, le=4096)]
    """Physical cores of one host."""
    memory_gib: Annotated[int, Field(ge=1, le=131_072)]
    """Memory of one host in GiB."""
    accelerators: Accelerators | None = None
    """The accelerators of one host; leave out where it has none."""
    bmc: Bmc = Bmc()
    """Access to its BMC."""
    boot_mode: BootMode = Field(default=BootMode.UEFI, strict=False)
    """Firmware interface."""
    root_disk: RootDisk
    """Disk for the operating system."""
    data_nvme_gb: Annotated[int, Field(ge=1, le=10_000_000)] | None = None
    """Space of its NVMe disks beside the operating system, in GB (10^9 bytes); leave out where it
    is not known."""
    reimage_minutes: Annotated[int, Field(ge=5, le=480)] = 30
    """Minutes from the start of an OS install until the node is ready."""
