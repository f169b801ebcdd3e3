"""Networks of hosts: NICs, bonds and VLANs by kind of host, and networks beside the zones' own.
Owns what can be said; schemas/facts/host_networks.py says what follows, schemas/rules what must
hold. Names are those of netplan where it has one."""

import re
from enum import StrEnum
from typing import Annotated

from pydantic import AfterValidator, BeforeValidator, Field

from schemas.model.addresses import HostAddress, HostNetwork
from schemas.model.primitives import Model, ZoneName, fault, text_form
from schemas.model.texts import words

_TAKEN = re.compile(
    r"lo|(eth|en|ib|wl|ww|br|bond|veth|cni|cali|cilium|docker|dummy|flannel|kube|lxc|tun|vxlan).*"
)
"""Names that the kernel, udev or a pod network gives to devices of its own."""
_BLIND = {"active-backup", "balance-xor", "balance-rr", "broadcast"}
"""Modes for which the kernel sets no monitoring of links by itself (Linux 6.12, include/net/
bonding.h, bond_mode_uses_arp; drivers/net/bonding/bond_options.c, bond_option_mode_set)."""
_NIC = r"[a-z][a-z0-9]{0,14}"
_VLAN = r"([1-9][0-9]{0,2}|[1-3][0-9]{3}|40[0-8][0-9]|409[0-4])"
_LONGEST = 10
"""Characters of a NIC that leave room for a VLAN's id, of the 15 that Linux takes."""


def _demand_free(name: str) -> str:
    if len(name) > _LONGEST:
        raise fault(words("nic-name-too-long", name, _LONGEST))
    if _TAKEN.fullmatch(name):
        raise fault(words("nic-name-reserved", name))
    return name


def _demand_monitored(mode: object) -> object:
    if mode in _BLIND:
        raise fault(words("bond-mode-unwatched", mode))
    return mode


class BondMode(StrEnum):
    """How the NICs of a bond share its traffic; both notice a dead link without a setting."""

    LACP = "802.3ad"
    """LACP, which the switch must speak too."""
    BALANCE_TLB = "balance-tlb"
    """Outgoing traffic is shared, incoming is not; the switch needs no setting."""


class BondHash(StrEnum):
    """By what a bond chooses the NIC of a packet."""

    LAYER2 = "layer2"
    """By MAC addresses."""
    LAYER2_3 = "layer2+3"
    """By MAC and IP addresses."""
    LAYER3_4 = "layer3+4"
    """By IP addresses and ports."""


NicName = Annotated[str, text_form(_NIC, "nic0"), AfterValidator(_demand_free)]
"""The name that a NIC gets: at most 10 small letters and digits."""
BondName = Annotated[str, text_form("bond[0-7]", "bond0")]
"""The name of a bond, counted from bond0: cloud-init names them so, whatever a template says."""
Device = Annotated[str, text_form(rf"{_NIC}(\.{_VLAN})?", "bond0.210")]
"""A NIC, a bond, or a VLAN of one of them: its name, a dot, and the id from 1 to 4094."""
NetworkName = Annotated[str, text_form("[a-z][a-z0-9]{1,14}", "storage")]
"""The name of a network: 2 to 15 small letters and digits."""
Mtu = Annotated[int, Field(ge=1280, le=9000, examples=[9000])]
"""A largest packet in bytes; Metal3 takes no more than 9000."""


class Bond(Model):
    """NICs that act as one."""

    nics: Annotated[list[NicName], Field(min_length=2, max_length=8)]
    """NICs that it is made of."""
    mode: Annotated[BondMode, Field(strict=False), BeforeValidator(_demand_monitored)] = (
        BondMode.LACP
    )
    """How its NICs share the traffic."""
    hash: BondHash = Field(default=BondHash.LAYER3_4, strict=False)
    """By what the NIC of a packet is chosen."""


class NicLayout(Model):
    """NICs of hosts of one kind, and what they carry."""

    nics: Annotated[list[NicName], Field(min_length=1, max_length=32)]
    """Names of the NICs. The first one boots: its MAC is the host list's column mac, those of the
    others are in columns mac_<nic>."""
    bonds: Annotated[dict[BondName, Bond], Field(max_length=8)] = {}
    """Bonds by name: bond0, bond1 and so on."""
    mtu: dict[Device, Mtu] = {}
    """Largest packet by NIC, bond or VLAN; default: 1500, of a VLAN that of what it is on. NICs of
    a bond have the bond's."""
    primary: Device
    """Device with the host's address and its default route."""
    attach: dict[NetworkName, Device] = {}
    """Devices of further networks, by the network's name."""


class Subnet(Model):
    """A further network in one zone."""

    network: HostNetwork
    """Addresses of the network in this zone."""
    gateway: HostAddress | None = None
    """Router to what the network's routes name; leave out where there are none."""


class FurtherNetwork(Model):
    """A network of hosts beside that of their zone."""

    zones: Annotated[dict[ZoneName, Subnet], Field(min_length=1, max_length=64)]
    """Its addresses by zone. A host has the same place in it as in its zone's network, or the
    address in the host list's column ip_<network>."""
    routes: Annotated[list[HostNetwork], Field(max_length=32)] = []
    """Networks that are reached through its gateway."""
