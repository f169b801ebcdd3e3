"""Rules on addresses: that the endpoint, gateways, hosts and BMCs lie where they can answer."""

from collections.abc import Iterator
from functools import lru_cache
from ipaddress import IPv4Address
from socket import inet_aton

from schemas.facts.addresses import reserved
from schemas.facts.site import Site
from schemas.model.codes import Code
from schemas.model.vocabulary import Role, VirtualIp
from schemas.rules.finding import Finding, HostCell
from schemas.rules.networks import parse_network
from schemas.rules.scope import InZone

ENDPOINT = ("cluster", "endpoint")


def gateway(at: InZone) -> Iterator[Finding]:
    """A gateway is a host address of its zone's network."""
    zone = at.zone
    network = parse_network(zone.network)
    if not _is_inside(zone.gateway, zone.network) and network.num_addresses > 2:
        yield Finding(
            Code.GATEWAY_OUTSIDE,
            at.path("gateway"),
            f"gateway {zone.gateway} is not a host address of {network}",
            f"write an address of {network}, usually {network[1]}",
        )


def endpoint_owner(site: Site) -> Iterator[Finding]:
    """Nothing else has the endpoint."""
    address = site.file.cluster.endpoint
    owners = [f"the gateway of zone {z.name}" for z in site.file.zones if z.gateway == address]
    taken = address in site.cells("ip") or any(b.startswith(address) for b in site.cells("bmc"))
    for host in site.hosts if taken else ():
        if address in (host.ip, host.bmc_address):
            what = "host" if address == host.ip else "the BMC of"
            owners.append(f"{what} {host.name} (line {host.line} of the host list)")
    for owner in owners[:1]:
        yield Finding(
            Code.ENDPOINT_TAKEN,
            ENDPOINT,
            f"{address} is also the address of {owner}",
            "choose an address that nothing else has",
        )


def endpoint_place(site: Site) -> Iterator[Finding]:
    """The endpoint lies where its virtual IP can be announced."""
    cluster, address = site.file.cluster, site.file.cluster.endpoint
    others = {
        "pods": cluster.pods,
        "services": cluster.services,
        "the BMCs": site.file.bmc.network,
    }
    own = [parse_network(zone.network) for zone in site.file.zones]
    if any(parse_network(others["the BMCs"]).overlaps(each) for each in own):
        del others["the BMCs"]
    for name, network in others.items():
        if IPv4Address(address) in parse_network(network):
            message = f"{address} lies in {network} of {name}"
            fix = "choose an address of the control plane's zone"
            yield Finding(Code.ENDPOINT_OUTSIDE, ENDPOINT, message, fix)
            return
    homes = [z for z in site.file.zones if IPv4Address(address) in parse_network(z.network)]
    for zone in homes:
        if not _is_inside(address, zone.network):
            yield Finding(
                Code.ENDPOINT_OUTSIDE,
                ENDPOINT,
                f"{address} is the first or the last address of {zone.network}, which no host has",
                f"choose another address of {zone.network}",
            )
    if not homes and cluster.virtual_ip is VirtualIp.ARP:
        yield Finding(
            Code.ENDPOINT_OUTSIDE,
            ENDPOINT,
            f"{address} is in no zone's network, so no host can announce it by ARP",
            "choose an address of the control plane's zone, or write virtual_ip: external "
            "where a load balancer has it",
        )


def control_plane_spread(site: Site) -> Iterator[Finding]:
    """A virtual IP that is announced by ARP lies in the zone of all control planes."""
    cluster = site.file.cluster
    if cluster.virtual_ip is VirtualIp.EXTERNAL:
        return
    address = IPv4Address(cluster.endpoint)
    homes = [zone.name for zone in site.file.zones if address in parse_network(zone.network)]
    zones = {zone.name for zone in site.file.zones}
    pools = [pool.name for pool in site.file.pools if pool.role is Role.CONTROL_PLANE]
    for host in site.hosts if homes else ():
        if host.pool in pools[:1] and host.zone in zones and host.zone not in homes:
            yield Finding(
                Code.CONTROL_PLANE_SPREAD,
                HostCell(host.line, "zone"),
                f"control plane {host.name} is in zone {host.zone}, the endpoint {address} in "
                f"zone {homes[0]}",
                f"take a host of zone {homes[0]}, or write virtual_ip: external with a load "
                "balancer",
            )


def host_addresses(site: Site) -> Iterator[Finding]:
    """Each host's address is one that its zone has for hosts, and nothing else has it."""
    taken = {address: what for address, what in reserved(site).items() if what != "the endpoint"}
    zones = {zone.name: zone for zone in reversed(site.file.zones)}  # of two the first counts
    spans = {name: zone.span for name, zone in zones.items() if hasattr(zone, "network")}
    for host in site.hosts:
        if not host.ip or host.zone not in spans:
            continue
        low, high = spans[host.zone]
        network = zones[host.zone].network
        if not low.packed <= inet_aton(host.ip) <= high.packed:
            yield Finding(
                Code.HOST_OUTSIDE,
                HostCell(host.line, "ip"),
                f"{host.ip} of {host.name} is not a host address of {network} of zone {host.zone}",
                f"write an address of {network}, or the zone that it belongs to",
            )
        elif host.ip in taken:
            yield Finding(
                Code.HOST_DUPLICATE,
                HostCell(host.line, "ip"),
                f"{host.ip} of {host.name} is {taken[host.ip]}",
                f"write another address of {network}",
            )


def bmc_addresses(site: Site) -> Iterator[Finding]:
    """Each BMC's address is a host address of the BMCs' network."""
    network = site.file.bmc.network
    low, high = _span(network)
    for host in site.hosts:
        if host.bmc and not low < inet_aton(host.bmc_address) < high:
            yield Finding(
                Code.HOST_OUTSIDE,
                HostCell(host.line, "bmc"),
                f"BMC {host.bmc_address} of {host.name} is not a host address of {network}",
                f"write an address of {network}, or correct bmc.network",
            )


def _is_inside(address: str, network: str) -> bool:
    low, high = _span(network)
    return low < inet_aton(address) < high


@lru_cache(maxsize=64)
def _span(network: str) -> tuple[bytes, bytes]:
    """The addresses that no host may have: the first and the last of a network, in bytes, which
    sort as they do. ``inet_aton`` is far faster than ipaddress; the addresses were checked."""
    parsed = parse_network(network)
    return parsed[0].packed, parsed[-1].packed
