"""Rules on networks: that they are apart, large enough, and hold what they should hold."""

from collections.abc import Iterator
from ipaddress import IPv4Address, IPv4Network
from itertools import combinations

from schemas.codes import Code
from schemas.rules.finding import Finding, HostCell
from schemas.site import Site
from schemas.sitefile import VirtualIp

NODE_PREFIX = 24
"""Prefix of a node's share of the pod network (kube-controller-manager, --node-cidr-mask-size)."""

Path = tuple[str | int, ...]


def machine_networks(site: Site) -> list[tuple[str, Path, IPv4Network]]:
    """The networks that exist outside the cluster: what each is for, its place, the network."""
    found: list[tuple[str, Path, IPv4Network]] = [
        (f"zone {zone.name}", ("zones", index, "network"), IPv4Network(zone.network))
        for index, zone in enumerate(site.file.zones)
    ]
    return [*found, ("BMCs", ("bmc", "network"), IPv4Network(site.file.bmc.network))]


def networks(site: Site) -> Iterator[Finding]:
    """No two networks of a site overlap."""
    cluster = site.file.cluster
    everything = [
        ("pods", ("cluster", "pods"), IPv4Network(cluster.pods)),
        ("services", ("cluster", "services"), IPv4Network(cluster.services)),
        *machine_networks(site),
    ]
    for (name, _, network), (other_name, place, other) in combinations(everything, 2):
        if network.overlaps(other):
            yield Finding(
                Code.NETWORK_OVERLAP,
                place,
                f"{other} of {other_name} overlaps {network} of {name}",
                f"choose a network for {other_name} that lies outside {network}",
            )


def sizes(site: Site) -> Iterator[Finding]:
    """Each network has room for the site's hosts."""
    cluster = site.file.cluster
    pods = IPv4Network(cluster.pods)
    room = 2 ** (NODE_PREFIX - pods.prefixlen) if pods.prefixlen <= NODE_PREFIX else 0
    if room < len(site.hosts):
        need = NODE_PREFIX - (len(site.hosts) - 1).bit_length()
        yield Finding(
            Code.NETWORK_TOO_SMALL,
            ("cluster", "pods"),
            f"{pods} has room for {room} nodes of a /{NODE_PREFIX} each, the site has "
            f"{len(site.hosts)} hosts",
            f"choose a network of /{need} or larger",
        )
    services = IPv4Network(cluster.services)
    if services.prefixlen > 24:
        yield Finding(
            Code.NETWORK_TOO_SMALL,
            ("cluster", "services"),
            f"{services} has room for {services.num_addresses} services",
            "choose a network of /24 or larger; /16 is usual",
        )
    for index, zone in enumerate(site.file.zones):
        count = sum(1 for host in site.hosts if host.zone == zone.name)
        network = IPv4Network(zone.network)
        # The network's own address, its broadcast address, the gateway and the endpoint.
        if count > network.num_addresses - 4:
            yield Finding(
                Code.NETWORK_TOO_SMALL,
                ("zones", index, "network"),
                f"{network} has room for {max(0, network.num_addresses - 4)} hosts, zone "
                f"{zone.name} has {count}",
                f"choose a network of /{32 - (count + 3).bit_length()} or larger",
            )


def endpoint(site: Site) -> Iterator[Finding]:
    """The endpoint and the gateways lie where they can answer, and nothing else has them."""
    address = IPv4Address(site.file.cluster.endpoint)
    home = None
    for index, zone in enumerate(site.file.zones):
        network = IPv4Network(zone.network)
        if IPv4Address(zone.gateway) not in network:
            yield Finding(
                Code.GATEWAY_OUTSIDE,
                ("zones", index, "gateway"),
                f"gateway {zone.gateway} is not in {network}",
                f"write an address of {network}, usually {network[1] if network.num_addresses > 1 else network[0]}",
            )
        if address in network:
            home = zone.name
        if zone.gateway == site.file.cluster.endpoint:
            yield _taken(f"the gateway of zone {zone.name}")
    yield from _endpoint_place(site, home)
    for host in site.hosts:
        if host.ip == site.file.cluster.endpoint:
            yield _taken(f"host {host.name} (line {host.line} of the host list)")


def _taken(owner: str) -> Finding:
    return Finding(
        Code.ENDPOINT_TAKEN,
        ("cluster", "endpoint"),
        f"the endpoint is also the address of {owner}",
        "choose an address that nothing else has",
    )


def _endpoint_place(site: Site, home: str | None) -> Iterator[Finding]:
    cluster = site.file.cluster
    address = IPv4Address(cluster.endpoint)
    for name, network in (("pods", cluster.pods), ("services", cluster.services)):
        if address in IPv4Network(network):
            yield Finding(
                Code.ENDPOINT_OUTSIDE,
                ("cluster", "endpoint"),
                f"the endpoint {address} lies in {network} of {name}",
                "choose an address of a zone's network",
            )
            return
    if cluster.virtual_ip is VirtualIp.EXTERNAL:
        return
    if home is None:
        yield Finding(
            Code.ENDPOINT_OUTSIDE,
            ("cluster", "endpoint"),
            f"the endpoint {address} is in no zone's network, so no host can announce it by ARP",
            "choose an address of the control plane's zone, or write virtual_ip: external "
            "where a load balancer has it",
        )
        return
    hosts = site.hosts_of(site.control_plane) if _has_control_plane(site) else ()
    for host in hosts:
        if host.zone != home:
            yield Finding(
                Code.CONTROL_PLANE_SPREAD,
                HostCell(host.line, "zone"),
                f"control plane {host.name} is in zone {host.zone}, the endpoint {address} in "
                f"zone {home}",
                f"take a host of zone {home}, or write virtual_ip: external with a load balancer",
            )


def _has_control_plane(site: Site) -> bool:
    return any(pool.role.value == "control-plane" for pool in site.file.pools)


def hosts_in_networks(site: Site) -> Iterator[Finding]:
    """Each host's address lies in its zone, each BMC's in the BMCs' network."""
    spans = {zone.name: _span(zone.network) for zone in site.file.zones}
    texts = {zone.name: zone.network for zone in site.file.zones}
    gateways = {zone.gateway: zone.name for zone in site.file.zones}
    bmcs = _span(site.file.bmc.network)
    for host in site.hosts:
        span = spans.get(host.zone)
        if span is not None and not span[0] < _number(host.ip) < span[1]:
            yield Finding(
                Code.HOST_OUTSIDE,
                HostCell(host.line, "ip"),
                f"{host.ip} of {host.name} is not a host address of {texts[host.zone]} of zone "
                f"{host.zone}",
                f"write an address of {texts[host.zone]}, or the zone that it belongs to",
            )
        if host.ip in gateways:
            yield Finding(
                Code.HOST_DUPLICATE,
                HostCell(host.line, "ip"),
                f"{host.ip} of {host.name} is the gateway of zone {gateways[host.ip]}",
                "write another address",
            )
        if not bmcs[0] < _number(host.bmc) < bmcs[1]:
            yield Finding(
                Code.HOST_OUTSIDE,
                HostCell(host.line, "bmc"),
                f"BMC {host.bmc} of {host.name} is not a host address of {site.file.bmc.network}",
                f"write an address of {site.file.bmc.network}, or correct bmc.network",
            )


def _number(address: str) -> int:
    a, b, c, d = address.split(".")
    return (int(a) << 24) | (int(b) << 16) | (int(c) << 8) | int(d)


def _span(network: str) -> tuple[int, int]:
    """The addresses that no host may have: the first and the last of a network."""
    parsed = IPv4Network(network)
    return int(parsed[0]), int(parsed[-1])
