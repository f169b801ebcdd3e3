"""What follows from the networks of hosts: what a device is on, its MTU, and every address."""

from collections.abc import Iterator
from ipaddress import ip_address, ip_network

from schemas.facts.site import Site
from schemas.model.addresses import AnyAddress, AnyNetwork
from schemas.model.host_networks import NicLayout
from schemas.model.site_file import Pool, Zone
from schemas.reading.host_list import Host

DEFAULT_MTU = 1500
V6 = "v6"
"""The network of the hosts' IPv6 addresses, by its name among those beside the zones' own."""


def layout_of(site: Site, pool: Pool) -> NicLayout | None:
    """The NICs of a pool's hosts; None where they have the address on the NIC that boots."""
    return site.file.host_networks.get(pool.host_network or "")


def split_device(device: str) -> tuple[str, int | None]:
    """The NIC or bond of a device, and the id of its VLAN."""
    link, _, vlan = device.partition(".")
    return link, int(vlan) if vlan else None


def mtu_of(layout: NicLayout, device: str) -> int:
    """The largest packet of a NIC, a bond or a VLAN."""
    link, _ = split_device(device)
    bonds = (name for name, bond in layout.bonds.items() if link in bond.nics)
    return layout.mtu.get(device, layout.mtu.get(next(bonds, link), DEFAULT_MTU))


def devices_of(layout: NicLayout) -> dict[str, str]:
    """The devices with an address, and the network of each; the hosts' own has no name."""
    return {layout.primary: "", **{device: name for name, device in layout.attach.items()}}


def is_dual(site: Site) -> bool:
    """True if hosts, pods and Services have IPv6 addresses besides."""
    return site.file.cluster.pods6 is not None


def names_addresses(site: Site, pool: Pool) -> bool:
    """True if nodes of a pool have to be told their address: else the kubelet takes that of the
    default route, of one family (Kubernetes 1.34, pkg/kubelet/nodestatus/setters.go)."""
    layout = layout_of(site, pool)
    return is_dual(site) or bool(layout and layout.attach)


def pool_name(site: Site, network: str) -> str:
    """The IPPool of a network."""
    return f"{site.name}-{network}" if network else site.name


def attached(site: Site) -> dict[str, tuple[Host, ...]]:
    """The networks beside the zones' own, with the hosts on them, sorted by name. One without hosts
    has its pool too: those that leave it keep their addresses until they are installed again."""
    found: dict[str, tuple[Host, ...]] = dict.fromkeys(site.file.networks, ())
    for pool in site.file.pools:
        layout = layout_of(site, pool)
        names = [*(layout.attach if layout else ()), *([V6] if is_dual(site) else ())]
        for name in names:
            found[name] = (*found.get(name, ()), *site.hosts_of(pool))
    return dict(sorted(found.items()))


def subnets(site: Site, network: str) -> Iterator[tuple[Zone, AnyNetwork, AnyAddress | None]]:
    """What a network has in each zone, with its gateway there."""
    for zone in site.file.zones:
        if network == V6:
            if zone.network6 and zone.gateway6:
                yield zone, ip_network(zone.network6), ip_address(zone.gateway6)
        elif subnet := site.file.networks[network].zones.get(zone.name):
            gateway = ip_address(subnet.gateway) if subnet.gateway else None
            yield zone, ip_network(subnet.network), gateway


def address_column(network: str) -> str:
    """The column of the host list for an address in a network."""
    return "ip6" if network == V6 else f"ip_{network}"


def address_in(host: Host, zone: Zone, network: str, subnet: AnyNetwork) -> AnyAddress | None:
    """The address of a host of a zone in a network: as its line says, or at the same place as in
    the zone's own. None where the subnet is too small for that."""
    if own := host.cell(address_column(network)):
        return ip_address(own)
    place = int(ip_address(host.ip)) - int(ip_network(zone.network)[0])
    return subnet[place] if 0 <= place < subnet.num_addresses else None
