"""Rules on networks: that they are apart, and large enough. Addresses in them: addresses.py."""

from collections.abc import Iterator
from functools import lru_cache
from ipaddress import IPv4Address, IPv4Network, ip_network
from itertools import combinations
from typing import Any

from schemas.facts.site import Site
from schemas.reading.paths import each_at
from schemas.rules.finding import Finding, InZone, Path, say

_RANGES = {"pods": (8, 24), "services": (12, 24), "pods6": (48, 64), "services6": (108, 120)}
"""Prefixes of the largest and of the smallest network: kubeadm 1.34, validation.go; a node's share
of pods is kube-controller-manager's --node-cidr-mask-size-ipv4 and -ipv6."""

_PURPOSES = {
    **{f"cluster.{field}": field for field in _RANGES},
    "zones.*.network": "zone {zone}",
    "zones.*.network6": "zone {zone} (IPv6)",
    "networks.*.zones.*.network": "{1} in zone {3}",
    "bmc.network": "the BMCs",
}

parse_network = lru_cache(maxsize=64)(IPv4Network)
_any_network = lru_cache(maxsize=64)(ip_network)
"""The network of a text; many rules read the same few."""


def networks(site: Site) -> Iterator[Finding]:
    """No two networks of a site overlap."""
    named = site_networks(site)
    everything: list[tuple[str, Path, Any]] = [(n, at, _any_network(text)) for n, at, text in named]
    for (name, first, network), (other_name, place, other) in combinations(everything, 2):
        # Zones of one further network may share a subnet; bmc_network sees to that of BMCs.
        shared = first[:2] == place[:2] and first[0] == "networks" and network == other
        shared = shared or (first[0] == "zones" and place[0] == "bmc")
        if network.version == other.version and network.overlaps(other) and not shared:
            yield say("network-overlap", place, other, other_name, network, name)


def site_networks(site: Site) -> Iterator[tuple[str, Path, str]]:
    """Each network with its purpose and its place, of those that are known."""
    for pattern, purpose in _PURPOSES.items():
        for place, text in each_at(site.file, pattern):
            index = next((step for step in place if isinstance(step, int)), None)
            name = None if index is None else getattr(site.file.zones[index], "name", index + 1)
            if text:
                yield purpose.format(*place, zone=name), place, text


def ranges(site: Site) -> Iterator[Finding]:
    """The networks of pods and Services are ones that kubeadm accepts, and large enough."""
    nodes = max(1, len(site.hosts))
    for field, (largest, smallest) in _RANGES.items():
        text = getattr(site.file.cluster, field, None)  # others are judged where one is a hole
        pods = field.startswith("pods")
        need = smallest - (nodes - 1).bit_length() if pods else smallest
        what = f"{nodes} nodes, of which each takes a /{smallest}" if pods else "a site's services"
        if getattr(site.file, "adopted", None):
            return  # the cluster runs with what it has
        if text and _any_network(text).prefixlen > need:
            yield say("range-too-small", ("cluster", field), text, what, need)
        elif text and _any_network(text).prefixlen < largest:
            yield say("range-too-large", ("cluster", field), text, largest, need)


def zone_size(at: InZone) -> Iterator[Finding]:
    """A zone's network has an address for each of its hosts."""
    site, zone = at.site, at.zone
    network = parse_network(zone.network)
    count = list(site.cells("zone")).count(zone.name)
    # The network's own address, its broadcast address, the gateway, and the endpoint if it is here.
    reserved = 3 + (IPv4Address(site.file.cluster.endpoint) in network)
    room = max(0, network.num_addresses - reserved)
    if room < max(1, count):
        # A larger network may hold the endpoint as well.
        need = 32 - (max(1, count) + 3).bit_length()
        yield say("zone-too-small", at.path("network"), network, room, zone, count, need)
