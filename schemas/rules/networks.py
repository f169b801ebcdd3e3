"""Rules on networks: that they are apart, and large enough. Addresses in them: addresses.py."""

from collections.abc import Iterator
from functools import lru_cache
from ipaddress import IPv4Address, IPv4Network, IPv6Network, ip_network
from itertools import combinations

from schemas.facts.site import Site
from schemas.model.codes import Code
from schemas.rules.finding import Finding, HostCell, Path
from schemas.rules.scope import InZone

NODE_PREFIX = 24
"""Prefix of a node's share of the pod network (kube-controller-manager, --node-cidr-mask-size)."""
LARGEST_PODS, LARGEST_SERVICES = 8, 12
"""Prefixes of the largest networks that kubeadm accepts (1.34, validation.go)."""

parse_network = lru_cache(maxsize=64)(IPv4Network)
"""The network of a text; many rules read the same few."""


def networks(site: Site) -> Iterator[Finding]:
    """No two networks of a site overlap."""
    every = site_networks(site)
    everything = [(name, place, _any_network(text)) for name, place, text in every if text]
    for (name, first, network), (other_name, place, other) in combinations(everything, 2):
        # The zones of one further network may share a subnet; bmc_network sees to that of BMCs.
        shared = first[:2] == place[:2] and first[0] == "networks" and network == other
        shared = shared or (first[0] == "zones" and place[0] == "bmc")
        if network.version == other.version and network.overlaps(other) and not shared:  # type: ignore[arg-type]
            message = f"{other} of {other_name} overlaps {network} of {name}"
            fix = f"choose a network for {other_name} that lies outside {network}"
            yield Finding(Code.NETWORK_OVERLAP, place, message, fix)


@lru_cache(maxsize=64)
def _any_network(text: str) -> IPv4Network | IPv6Network:
    return ip_network(text)


def bmc_network(site: Site) -> Iterator[Finding]:
    """BMCs in a zone's network have addresses that no machine may get, nor anything else has."""
    bmcs = parse_network(site.file.bmc.network)
    homes = [each for each in site.file.zones if bmcs.overlaps(parse_network(each.network))]
    for zone in homes:
        low, high = zone.span
        if zone.hosts is None:
            message = f"{bmcs} of the BMCs overlaps {zone.network} of zone {zone.name}"
            fix = "choose another network, or add hosts to the zone: a block without any BMC"
            yield Finding(Code.NETWORK_OVERLAP, ("bmc", "network"), message, fix)
            continue
        for host in site.hosts:
            if host.bmc and low <= IPv4Address(host.bmc_address) <= high:
                message = f"BMC {host.bmc_address} is among the addresses of zone {zone.name}"
                fix = "narrow the zone's hosts to a block without any BMC"
                yield Finding(Code.HOST_DUPLICATE, HostCell(host.line, "bmc"), message, fix)


def site_networks(site: Site) -> Iterator[tuple[str, Path, str | None]]:
    """Each network with its purpose and its place; the network is None where it is not known."""
    cluster = getattr(site.file, "cluster", None)
    yield "pods", ("cluster", "pods"), getattr(cluster, "pods", None)
    yield "services", ("cluster", "services"), getattr(cluster, "services", None)
    for name in ("pods6", "services6"):
        yield name, ("cluster", name), getattr(cluster, name, None)
    for index, zone in enumerate(getattr(site.file, "zones", ())):
        name = f"zone {getattr(zone, 'name', index + 1)}"
        yield name, ("zones", index, "network"), getattr(zone, "network", None)
        place = ("zones", index, "network6")
        yield f"{name} (IPv6)", place, getattr(zone, "network6", None)
    for name, network in getattr(site.file, "networks", {}).items():
        for zone, subnet in getattr(network, "zones", {}).items():
            place = ("networks", name, "zones", zone, "network")
            yield f"{name} in zone {zone}", place, getattr(subnet, "network", None)
    bmc = getattr(site.file, "bmc", None)
    yield "the BMCs", ("bmc", "network"), getattr(bmc, "network", None)


def pod_network(site: Site) -> Iterator[Finding]:
    """The pod network has a share for each host, and is one that kubeadm accepts."""
    pods = parse_network(site.file.cluster.pods)
    room = 2 ** (NODE_PREFIX - pods.prefixlen) if pods.prefixlen <= NODE_PREFIX else 0
    if room < max(1, len(site.hosts)):
        need = NODE_PREFIX - (max(1, len(site.hosts)) - 1).bit_length()
        yield Finding(
            Code.NETWORK_TOO_SMALL,
            ("cluster", "pods"),
            f"{pods} has room for {room} nodes of a /{NODE_PREFIX} each, the site has "
            f"{len(site.hosts)} hosts",
            f"choose a network of /{need} or larger",
        )
    yield from _too_large(pods, LARGEST_PODS, "pods")


def service_network(site: Site) -> Iterator[Finding]:
    """The network of services is neither too small nor larger than kubeadm accepts."""
    services = parse_network(site.file.cluster.services)
    if services.prefixlen > 24:
        message = f"{services} has room for {services.num_addresses} services"
        fix = "choose a network of /24 or larger; /16 is usual"
        yield Finding(Code.NETWORK_TOO_SMALL, ("cluster", "services"), message, fix)
    yield from _too_large(services, LARGEST_SERVICES, "services")


def _too_large(network: IPv4Network, largest: int, what: str) -> Iterator[Finding]:
    if network.prefixlen < largest:
        message = f"{network} is larger than the /{largest} that kubeadm accepts for {what}"
        fix = f"choose a network between /{largest} and /16"
        yield Finding(Code.NETWORK_TOO_LARGE, ("cluster", what), message, fix)


def zone_size(at: InZone) -> Iterator[Finding]:
    """A zone's network has an address for each of its hosts."""
    site, zone = at.site, at.zone
    network = parse_network(zone.network)
    count = list(site.cells("zone")).count(zone.name)
    # The network's own address, its broadcast address, the gateway, and the endpoint if it is here.
    reserved = 3 + (IPv4Address(site.file.cluster.endpoint) in network)
    room = max(0, network.num_addresses - reserved)
    if room < max(1, count):
        need = max(1, count) + 4  # a larger network may hold the endpoint as well
        yield Finding(
            Code.NETWORK_TOO_SMALL,
            at.path("network"),
            f"{network} has room for {room} host{'s' * (room != 1)}, zone {zone.name} has {count}",
            f"choose a network of /{32 - (need - 1).bit_length()} or larger",
        )
