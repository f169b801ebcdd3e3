"""RAID volumes and firmware of hosts, which the Bare Metal Operator sets through their BMCs."""

from typing import Annotated, Literal

from pydantic import AliasGenerator, ConfigDict, Field
from pydantic.alias_generators import to_camel

from schemas.model.addresses import HttpUrl
from schemas.model.host_settings import TEXT_OR_NUMBER
from schemas.model.primitives import Model, text_form

Word = Annotated[str, text_form("[A-Za-z0-9][A-Za-z0-9 ._:/-]{0,126}")]
"""What a BMC calls a disk, a controller, a setting or its value."""


class RaidVolume(Model):
    """A volume of a RAID controller."""

    model_config = ConfigDict(alias_generator=AliasGenerator(serialization_alias=to_camel))

    level: Literal["0", "1", "5", "6", "1+0", "5+0", "6+0"]
    """RAID level."""
    name: Word | None = None
    """Name of the volume."""
    size_gib: Annotated[int, Field(ge=1, le=10_000_000)] | None = Field(
        default=None, serialization_alias="sizeGibibytes"
    )
    """Its size in GiB; default: all of the disks in ``physical_disks``."""
    disks: Annotated[int, Field(ge=1, le=128)] | None = Field(
        default=None, serialization_alias="numberOfPhysicalDisks"
    )
    """Number of its disks."""
    rotational: bool | None = None
    """False for solid state disks."""
    controller: Word | None = None
    """Controller, as the BMC calls it."""
    physical_disks: Annotated[list[Word], Field(min_length=1, max_length=128)] | None = None
    """Disks, as the BMC calls them; they need ``controller``."""


class FirmwareUpdate(Model):
    """A version of a component's firmware."""

    component: Annotated[str, text_form("(bios|bmc|nic:[A-Za-z0-9._-]{1,60})")]
    """Component: bios, bmc, or a network card, as nic:NIC.1."""
    url: HttpUrl
    """Where the BMC gets it; another URL, and nothing else, makes it flash again."""


class Firmware(Model):
    """Firmware of a model's hosts."""

    settings: dict[Word, Annotated[Word, *TEXT_OR_NUMBER]] = Field(default={}, max_length=200)
    """Settings of the BIOS, as its vendor calls them; nobody can check them before they are set."""
    updates: Annotated[list[FirmwareUpdate], Field(max_length=20)] = []
    """Versions of the firmware."""
    apply: Literal["install", "reboot"] = "install"
    """When running hosts get it: at the next installation, or reboot by the BMC, as in a repair."""
    minutes: Annotated[int, Field(ge=5, le=110)] = 20
    """Minutes that it makes an installation, or such a reboot, longer."""
