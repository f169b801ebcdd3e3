"""Rules on the host list's NICs and further addresses, on the hosts' IPv6, and on shared BMCs."""

from collections.abc import Iterator
from ipaddress import IPv4Address, ip_address, ip_network

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
from schemas.model.addresses import AnyAddress, AnyNetwork
from schemas.model.hardware import Bmc, BmcProtocol
from schemas.model.site_file import Zone
from schemas.reading.host_list import Host
from schemas.reading.paths import each_at
from schemas.rules.finding import Finding, HostCell, advise, say
from schemas.rules.networks import parse_network


def host_nics(site: Site) -> Iterator[Finding]:
    """Each NIC of a host has a MAC, and no two NICs have the same, of one host or of two."""
    owners = {host.mac: host.name for host in reversed(site.hosts) if host.mac}
    columns = {name for host in site.hosts for name, _ in host.more}
    for pool in site.file.pools:
        layout = layout_of(site, pool)
        nics = layout.nics if layout else []
        wanted = {f"mac_{nic}" for nic in nics} - {f"mac_{nic}" for nic in nics[:1]}
        for host in site.hosts_of(pool):
            for column in sorted(wanted.difference(dict(host.more))):
                place = HostCell(host.line, column if column in columns else "mac")
                yield say("mac-missing", place, host, column, pool)
    for host in site.hosts:
        for column, mac in host.more:
            mine = f"{column} of {host.name}"
            if column[:4] == "mac_" and mac and owners.setdefault(mac, mine) != mine:
                yield say("mac-twice", HostCell(host.line, column), mac, owners[mac])


def further_columns(site: Site) -> Iterator[Finding]:
    """Each column of a NIC or a network is one that the site has."""
    known = {f"mac_{nic}" for each in site.file.host_networks.values() for nic in each.nics[1:]}
    known |= {address_column(name) for name in site.file.networks}
    known |= {address_column(V6)} if is_dual(site) else set()
    for column in sorted({name for host in site.hosts for name, _ in host.more} - known):
        what = "NIC" if column[:4] == "mac_" else "network"
        otherwise = "remove the column, or add what it is for to the site"
        advice = advise(column, sorted(known), otherwise)
        yield say("column-unknown", HostCell(1, column), what, advice)


def network_addresses(site: Site) -> Iterator[Finding]:
    """Each host has an address in each of its networks, inside the subnet and its own alone."""
    for name, hosts in attached(site).items():
        if name != V6 and name not in site.file.networks:
            continue  # a fault of its own
        owners: dict[str, str] = {}
        found = {zone.name: (zone, net, gateway) for zone, net, gateway in subnets(site, name)}
        for host in hosts:
            if host.ip and host.zone in found:
                yield from _address(host, name, found[host.zone], owners)


def _address(
    host: Host, name: str, at: tuple[Zone, AnyNetwork, AnyAddress | None], owners: dict[str, str]
) -> Iterator[Finding]:
    zone, subnet, gateway = at
    column = address_column(name)
    own = host.cell(column)
    place = HostCell(host.line, column if own else "ip")
    if ip_address(host.ip) not in ip_network(zone.network) or subnet.num_addresses < 4:
        return  # faults of their own
    try:
        address = address_in(host, zone, name, subnet)
    except ValueError:  # the forms of cells let no wrong IPv4 address through
        yield say("address-of-ipv6", place, own)
        return
    values = address or host.ip, host, subnet, column
    last = subnet[-2] if subnet.version == 4 else subnet[-1]
    if address is None or not int(subnet[1]) <= int(address) <= int(last):
        yield say("address-outside", place, *values)
    elif address == gateway:
        yield say("address-of-the-gateway", place, *values)
    elif (owner := owners.setdefault(str(address), host.name)) != host.name:
        yield say("address-twice", place, *values, owner)


_SECOND_FAMILY = ("cluster.pods6", "cluster.services6", "zones.*.network6", "zones.*.gateway6")


def second_family(site: Site) -> Iterator[Finding]:
    """Hosts, pods and Services have both families, or none has the second; its gateways answer."""
    told = [*each_at(site.file, *_SECOND_FAMILY)]
    missing = [place for place, value in told if value is None]
    for place in missing if len(missing) < len(told) else ():
        yield say("family-missing", place[:-1], place[-1])
    for index, zone in enumerate(site.file.zones):
        if zone.network6 and zone.gateway6:
            gateway, network = ip_address(zone.gateway6), ip_network(zone.network6)
            if gateway not in network and not gateway.is_link_local:
                yield say("gateway-outside", ("zones", index, "gateway6"), gateway, network)


def bmc_network(site: Site) -> Iterator[Finding]:
    """BMCs in a zone's network have addresses that no machine may get, nor anything else has."""
    bmcs = parse_network(site.file.bmc.network)
    for zone in site.file.zones:
        low, high = zone.span
        if not bmcs.overlaps(parse_network(zone.network)):
            continue
        if zone.hosts is None:
            yield say("bmc-overlap", ("bmc", "network"), bmcs, zone)
            continue
        for host in site.hosts:
            if host.bmc and low <= IPv4Address(host.bmc_address) <= high:
                place = HostCell(host.line, "bmc")
                yield say("bmc-among-hosts", place, host.bmc_address, zone.name)


_PORTS = {"http": 80, "ipmi": 623}
"""Ports by how a protocol's name ends; 443 of the others (BMO v0.13.2, pkg/hardwareutils/bmc)."""


def bmc_paths(site: Site) -> Iterator[Finding]:
    """Of hosts that share a BMC's address and port, each has a Redfish path of its own, however
    the port and the path are written: two hosts at one BMC would drive one machine."""
    if not any(":" in host.bmc or "/" in host.bmc for host in site.hosts):
        return  # cells that are alike are found as such
    known = [pool for pool in site.file.pools if pool.hardware in site.hardware]
    bmcs = {pool.name: site.profile(pool).bmc for pool in known}
    systems = [(host, *_system(host.bmc, bmcs[host.pool])) for host in site.hosts
               if host.bmc and host.pool in bmcs]  # fmt: skip
    shared = {at for host, at, _ in systems if "/" in host.bmc}
    owners: dict[tuple[str, str], Host] = {}
    for host, at, path in systems:
        plain, _, own = host.bmc.partition("/")
        place = HostCell(host.line, "bmc")
        owner = owners.setdefault((at, path), host)
        if own and bmcs[host.pool].protocol is BmcProtocol.IPMI:
            yield say("bmc-path-of-ipmi", place, host, plain)
        elif owner.bmc != host.bmc:
            yield say("bmc-twice", place, host, owner)
        elif at in shared and not own:
            yield say("bmc-path-missing", place, host)


def _system(cell: str, bmc: Bmc) -> tuple[str, str]:
    """The address with the port, and the path of a host's system, as the operator reaches it."""
    plain, _, path = cell.partition("/")
    address, _, port = plain.partition(":")
    protocol = bmc.protocol.value
    usual = next((each for end, each in _PORTS.items() if protocol.endswith(end)), 443)
    system = "" if protocol == BmcProtocol.IPMI else path or bmc.system_path
    return f"{address}:{port or usual}", system.strip("/")
