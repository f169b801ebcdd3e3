"""Rules on the host list's NICs and further addresses, and on the hosts' IPv6."""

from collections.abc import Iterator
from ipaddress import IPv6Address, ip_address, ip_network

from schemas.facts.host_networks import (
    V6,
    address_column,
    address_in,
    attached,
    is_dual,
    layout_of,
    subnets,
)
from schemas.facts.site import Site
from schemas.model.codes import Code
from schemas.model.nearest import nearest
from schemas.model.site_file import Zone
from schemas.reading.host_list import Host
from schemas.rules.finding import Finding, HostCell, Path

NODE_PREFIX6, POD_BITS, SERVICE_BITS = 64, 16, 20
"""Prefix of a node's IPv6 pods, how much larger the network of all may be, and the host bits of the
network of Services (kubeadm 1.34, cmd/kubeadm/app/apis/kubeadm/validation/validation.go)."""


def host_nics(site: Site) -> Iterator[Finding]:
    """Each NIC of a host has a MAC."""
    for pool in site.file.pools:
        layout = layout_of(site, pool)
        if pool.host_network and layout is None:
            continue  # a fault of its own
        wanted = (
            {f"mac_{nic}" for nic in layout.nics} - {f"mac_{layout.nics[0]}"} if layout else set()
        )
        for host in site.hosts_of(pool):
            given = {name for name, _ in host.more if name.startswith("mac_")}
            for column in sorted(wanted - given):
                there = any(column in dict(each.more) for each in site.hosts)
                message = f"{host.name} has no {column}, a NIC of {pool.host_network}"
                fix = f"write its MAC into a column {column}: cloud-init finds NICs by it"
                place = HostCell(host.line, column if there else "mac")
                yield Finding(Code.HOST_MAC_MISSING, place, message, fix)


def nic_macs(site: Site) -> Iterator[Finding]:
    """No two NICs have one MAC, of one host or of two."""
    first: dict[str, str] = {host.mac: host.name for host in reversed(site.hosts) if host.mac}
    for host in site.hosts:
        for column, mac in host.more:
            if column.startswith("mac_") and mac:
                owner = first.setdefault(mac, f"{column} of {host.name}")
                if owner != f"{column} of {host.name}":
                    message = f"{mac} is already the MAC of {owner}"
                    fix = "write the MAC that this NIC really has"
                    yield Finding(Code.HOST_DUPLICATE, HostCell(host.line, column), message, fix)


def further_columns(site: Site) -> Iterator[Finding]:
    """Each column of a NIC or a network is one that the site has."""
    known = {f"mac_{nic}" for each in site.file.host_networks.values() for nic in each.nics[1:]}
    known |= {address_column(name) for name in site.file.networks}
    known |= {address_column(V6)} if is_dual(site) else set()
    for column in sorted({name for host in site.hosts for name, _ in host.more} - known):
        near = nearest(column, known)
        message = f"the site has no {'NIC' if column[:4] == 'mac_' else 'network'} of this name"
        fix = f"write {near}" if near else "remove the column, or add to the site what it is for"
        yield Finding(Code.UNKNOWN_NETWORK, HostCell(1, column), message, fix)


def network_addresses(site: Site) -> Iterator[Finding]:
    """Each host has an address in each of its networks, inside the subnet and its own alone."""
    for name, hosts in attached(site).items():
        if name != V6 and name not in site.file.networks:
            continue  # a fault of its own
        owners: dict[object, str] = {}
        found = {
            zone.name: (zone, subnet, gateway) for zone, subnet, gateway in subnets(site, name)
        }
        for host in hosts:
            if host.ip and host.zone in found:
                yield from _address(host, name, found[host.zone], owners)


def _address(
    host: Host, name: str, at: tuple[Zone, object, object], owners: dict[object, str]
) -> Iterator[Finding]:
    zone, text, gateway = at
    subnet = ip_network(str(text))
    column = address_column(name)
    place = HostCell(host.line, column if host.cell(column) else "ip")
    if ip_address(host.ip) not in ip_network(zone.network) or subnet.num_addresses < 4:
        return  # faults of their own
    if ":" in host.cell(column) and not _is_ipv6(host.cell(column)):
        message, fix = f"{host.cell(column)} is no IPv6 address", "write one, such as 2001:db8::b"
        yield Finding(Code.HOSTS_CELL, place, message, fix)
        return
    address = address_in(host, zone, name, subnet)
    last = subnet[-2] if subnet.version == 4 else subnet[-1]
    fix = f"write an address of {subnet} into the column {column}"
    if address is None or address.version != subnet.version or not subnet[1] <= address <= last:
        shown = address or f"the place of {host.ip} in {zone.network}"
        message = f"{shown} of {host.name} is not a host address of {subnet}"
        yield Finding(Code.HOST_OUTSIDE, place, message, fix)
    elif address == gateway:
        message = f"{address} of {host.name} is the gateway of {subnet}"
        yield Finding(Code.HOST_DUPLICATE, place, message, fix)
    elif owners.setdefault(address, host.name) != host.name:
        message = f"{address} of {host.name} is already that of {owners[address]}"
        yield Finding(Code.HOST_DUPLICATE, place, message, fix)


def _is_ipv6(text: str) -> bool:
    try:
        return IPv6Address(text) is not None
    except ValueError:
        return False


def second_family(site: Site) -> Iterator[Finding]:
    """Hosts, pods and Services have both families, or none of them has the second."""
    cluster = site.file.cluster
    told: dict[Path, object] = {
        ("cluster", "pods6"): cluster.pods6,
        ("cluster", "services6"): cluster.services6,
    }
    for index, zone in enumerate(site.file.zones):
        told[("zones", index, "network6")] = zone.network6
        told[("zones", index, "gateway6")] = zone.gateway6
    missing = [place for place, value in told.items() if value is None]
    for place in missing if len(missing) < len(told) else ():
        message = f"{place[-1]} is missing, and other parts of the site have IPv6"
        fix = (
            f"add {place[-1]}: IPv6 needs pods6, services6, and network6 and gateway6 of each zone"
        )
        yield Finding(Code.MISSING_FIELD, place[:-1], message, fix)


def ranges6(site: Site) -> Iterator[Finding]:
    """The IPv6 networks of pods and Services are ones that kubeadm accepts."""
    cluster = site.file.cluster
    if cluster.pods6:
        size = ip_network(cluster.pods6).prefixlen
        least = NODE_PREFIX6 - POD_BITS
        need = NODE_PREFIX6 - max(0, len(site.hosts) - 1).bit_length()
        if size < least:
            message = f"{cluster.pods6} is larger than the /{least} that kubeadm accepts for pods"
            fix = f"choose a network between /{least} and /{need}"
            yield Finding(Code.NETWORK_TOO_LARGE, ("cluster", "pods6"), message, fix)
        elif size > need:
            message = f"{cluster.pods6} has no /{NODE_PREFIX6} for each of the site's hosts"
            fix = f"choose a network of /{need} or larger"
            yield Finding(Code.NETWORK_TOO_SMALL, ("cluster", "pods6"), message, fix)
    if cluster.services6:
        size, place = ip_network(cluster.services6).prefixlen, ("cluster", "services6")
        if size < 128 - SERVICE_BITS:
            message = f"{cluster.services6} is larger than the /108 that kubeadm accepts"
            yield Finding(Code.NETWORK_TOO_LARGE, place, message, "write a /112 of the network")
        elif size > 120:
            message = f"{cluster.services6} has room for few services"
            yield Finding(Code.NETWORK_TOO_SMALL, place, message, "write a /112 or larger")


def gateways6(site: Site) -> Iterator[Finding]:
    """A gateway of IPv6 is an address of its zone's network, or of the link."""
    for index, zone in enumerate(site.file.zones):
        if zone.network6 and zone.gateway6 and is_dual(site):
            gateway, network = ip_address(zone.gateway6), ip_network(zone.network6)
            if gateway not in network and not gateway.is_link_local:
                message = f"gateway {gateway} is not an address of {network}"
                fix = f"write an address of {network}, usually {network[1]}"
                place = ("zones", index, "gateway6")
                yield Finding(Code.GATEWAY_OUTSIDE, place, message, fix)
