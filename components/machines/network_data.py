"""The network of a pool's hosts, as a Metal3DataTemplate says it.

The Metal3 provider renders it, cloud-init converts it, netplan or NetworkManager writes it. What
each of these does with a field was tried (tests/components/machines/test_network_data.py):

- cloud-init names bonds bond0, bond1 and so on in their order, and a VLAN by its parent and id.
- A NIC gets the name that the template says, found by its MAC; without one it keeps the kernel's.
- The API server writes an MTU of 1500 on each link without one, so each link says its own.
- A bond needs a parameter (CRD), and none can have a value: a name alone is dropped by cloud-init.
"""

from collections.abc import Iterable

from components.machines.names import BOOT_MAC_ANNOTATION, MAC_ANNOTATION
from components.making.manifest import Json
from schemas.facts import host_networks
from schemas.facts.site import Site
from schemas.model.host_networks import NicLayout
from schemas.model.site_file import Pool

_BOOT = "boot"


def network_data(site: Site, pool: Pool) -> Json:
    """The links, networks and name servers of a pool's hosts."""
    layout = host_networks.layout_of(site, pool)
    boot = [{"id": _BOOT, "type": "phy", "macAddress": _annotation(BOOT_MAC_ANNOTATION)}]
    primary = layout.primary if layout else _BOOT
    networks = [_network("primary", primary, site.name, ["0.0.0.0/0"])]
    for name, device in sorted(layout.attach.items()) if layout else ():
        routes = sorted(site.file.networks[name].routes)
        networks.append(_network(name, device, host_networks.pool_name(site, name), routes))
    found: Json = {"ipv4": networks}
    if host_networks.is_dual(site):
        addresses = host_networks.pool_name(site, host_networks.V6)
        found["ipv6"] = [_network("primary6", primary, addresses, ["::/0"])]
    return {
        "links": _links(layout) if layout else {"ethernets": boot},
        "networks": found,
        "services": {"dns": list(site.first_boot(pool).dns)},
    }


def addresses_to_metadata(site: Site, pool: Pool) -> Json:
    """The part of metaData from which a node learns its addresses, where it has to."""
    if not host_networks.names_addresses(site, pool):
        return {}
    keys = {"ip4": ""} | ({"ip6": host_networks.V6} if host_networks.is_dual(site) else {})
    rows = [{"key": key, "name": host_networks.pool_name(site, of)} for key, of in keys.items()]
    return {"ipAddressesFromPool": rows}


def node_ip(site: Site, pool: Pool) -> str:
    """The node's addresses, of both families where it has both; empty where it finds its own."""
    keys = [row["key"] for row in addresses_to_metadata(site, pool).get("ipAddressesFromPool", ())]
    return ",".join(f"{{{{ ds.meta_data.{key} }}}}" for key in keys)


def _links(layout: NicLayout) -> Json:
    """The links, each list in an order that does not follow the site file's."""
    vlans = [
        _link(layout, device, vlanID=vlan, vlanLink=link)
        for device in sorted(host_networks.devices_of(layout))
        for link, vlan in [host_networks.split_device(device)]
        if vlan
    ]
    bonds = []
    for name, bond in sorted(layout.bonds.items()):
        how: Json = {"bondMode": bond.mode.value, "bondXmitHashPolicy": bond.hash.value}
        how |= {"parameters": [{"name": "miimon"}], "bondLinks": sorted(bond.nics)}
        bonds.append(_link(layout, name, name=name, **how))
    nics = [_link(layout, nic, name=nic, type="phy") for nic in sorted(layout.nics)]
    found = {"ethernets": nics, "bonds": bonds, "vlans": vlans}
    return {kind: links for kind, links in found.items() if links}


def _link(layout: NicLayout, device: str, **more: object) -> Json:
    mac = _mac(layout, host_networks.split_device(device)[0])
    return {"id": device, "mtu": host_networks.mtu_of(layout, device), "macAddress": mac, **more}


def _mac(layout: NicLayout, link: str) -> Json:
    """The MAC of a NIC; of a bond that of its NIC that boots, so that one host shows one MAC."""
    members = sorted(layout.bonds[link].nics) if link in layout.bonds else [link]
    boot = layout.nics[0]
    nic = boot if boot in members else members[0]
    return _annotation(BOOT_MAC_ANNOTATION if nic == boot else MAC_ANNOTATION + nic)


def _annotation(name: str) -> Json:
    return {"fromAnnotation": {"object": "baremetalhost", "annotation": name}}


def _network(name: str, device: str, pool: str, routes: Iterable[str]) -> Json:
    parts = (each.partition("/") for each in routes)
    gateway = {"fromIPPool": pool}
    ways = [{"network": at, "prefix": int(size), "gateway": gateway} for at, _, size in parts]
    found: Json = {"id": name, "link": device, "ipAddressFromIPPool": pool}
    return found | ({"routes": ways} if ways else {})
