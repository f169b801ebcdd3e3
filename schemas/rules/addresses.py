"""Rules on addresses: that the endpoint, gateways, hosts and BMCs lie where they can answer."""

from collections.abc import Iterator
from functools import lru_cache
from ipaddress import IPv4Address
from socket import inet_aton

from schemas.facts.addresses import reserved
from schemas.facts.site import Site
from schemas.model.vocabulary import Role, VirtualIp
from schemas.rules.finding import Finding, HostCell, InZone, say
from schemas.rules.networks import parse_network

ENDPOINT = ("cluster", "endpoint")


def gateway(at: InZone) -> Iterator[Finding]:
    """A gateway is a host address of its zone's network."""
    zone = at.zone
    network = parse_network(zone.network)
    if not _is_inside(zone.gateway, zone.network) and network.num_addresses > 2:
        yield say("gateway-outside", at.path("gateway"), zone.gateway, network)


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
        yield say("endpoint-taken", ENDPOINT, address, owner)


def endpoint_place(site: Site) -> Iterator[Finding]:
    """The endpoint lies where its virtual IP can be announced."""
    cluster, address = site.file.cluster, site.file.cluster.endpoint
    others = {"pods": cluster.pods, "services": cluster.services}
    bmcs = parse_network(site.file.bmc.network)
    if not any(bmcs.overlaps(parse_network(zone.network)) for zone in site.file.zones):
        others["the BMCs"] = site.file.bmc.network
    for name, network in others.items():
        if IPv4Address(address) in parse_network(network):
            yield say("endpoint-elsewhere", ENDPOINT, address, network, name)
            return
    homes = [z for z in site.file.zones if IPv4Address(address) in parse_network(z.network)]
    for zone in homes:
        if not _is_inside(address, zone.network):
            yield say("endpoint-at-an-end", ENDPOINT, address, zone.network)
    if not homes and cluster.virtual_ip is VirtualIp.ARP:
        yield say("endpoint-nowhere", ENDPOINT, address)


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
            place = HostCell(host.line, "zone")
            yield say("control-plane-spread", place, host, address, homes[0])


def host_addresses(site: Site) -> Iterator[Finding]:
    """Each host's address is one that its zone has for hosts, and nothing else has it."""
    taken = {address: what for address, what in reserved(site).items() if what != "the endpoint"}
    zones = {zone.name: zone for zone in reversed(site.file.zones)}  # of two the first counts
    spans = {name: zone.span for name, zone in zones.items() if hasattr(zone, "network")}
    for index, zone in enumerate(site.file.zones):
        if getattr(zone, "hosts", None) and zone.name in spans and zone.span[0] > zone.span[1]:
            spans.pop(zone.name)
            yield say("zone-block-empty", ("zones", index, "hosts"), zone)
    ends = {name: (low.packed, high.packed) for name, (low, high) in spans.items()}
    for host in site.hosts:
        if not host.ip or host.zone not in ends:
            continue
        first, last = ends[host.zone]
        outside = not first <= inet_aton(host.ip) <= last
        if outside or host.ip in taken:
            (low, high), zone = spans[host.zone], zones[host.zone]
            network = f"{low} to {high} (hosts)" if zone.hosts else zone.network
            row, more = ("host-outside", ()) if outside else ("host-taken", (taken[host.ip],))
            yield say(row, HostCell(host.line, "ip"), host, network, *more)


def bmc_addresses(site: Site) -> Iterator[Finding]:
    """Each BMC's address is a host address of the BMCs' network."""
    network = site.file.bmc.network
    low, high = _span(network)
    for host in site.hosts:
        if host.bmc and not low < inet_aton(host.bmc_address) < high:
            yield say("bmc-outside", HostCell(host.line, "bmc"), host, network)


def _is_inside(address: str, network: str) -> bool:
    low, high = _span(network)
    return low < inet_aton(address) < high


@lru_cache(maxsize=64)
def _span(network: str) -> tuple[bytes, bytes]:
    """The addresses that no host may have: the first and the last of a network, in bytes, which
    sort as they do. ``inet_aton`` is far faster than ipaddress; the addresses were checked."""
    parsed = parse_network(network)
    return parsed[0].packed, parsed[-1].packed
