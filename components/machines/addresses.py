"""IPPools: the addresses of a site's hosts, one pool for each network and family.

A claim is named <host>-<pool> where the Metal3 provider runs with
--enable-bmh-name-based-preallocation (docs/machines.md); prefix and gateway are those of the range
that holds the address (Metal3 IPAM 1.13, ippool_manager.go). Ranges never hold an address of
something else, so a provider without the flag cannot give it to a machine. They do not follow the
host list, as IPAM's webhook refuses ranges without an address that is in use; only IPv6 addresses
outside a zone's first block have ranges that come and go with their hosts (_blocks). Objects
IPAddress are named by the prefix and the address, so no two pools share a prefix.
"""

from collections.abc import Iterable, Iterator, Mapping
from ipaddress import ip_network
from typing import Any

from components.machines.names import CLUSTER_LABEL, metadata
from components.making.manifest import Json, Manifest, filled
from schemas.facts.addresses import host_ranges, ranges
from schemas.facts.adopted import kept_machines, management_names
from schemas.facts.host_networks import address_in, attached, pool_name, subnets
from schemas.facts.site import Site
from schemas.model.addresses import AnyAddress, AnyNetwork
from schemas.reading.host_list import Host

_BLOCK = 112
"""The prefix of the blocks of IPv6 addresses that are given out: 65,536 addresses each."""


def address_pools(site: Site) -> list[Manifest]:
    """The pool of the zones' networks, and one for each further network; none where all machines
    keep the addresses that others gave them."""
    if all(kept_machines(site, pool) for pool in site.file.pools):
        return []
    spans = [
        _span(first, last, zone.network, zone.gateway)
        for zone in site.file.zones
        for first, last in host_ranges(site, zone)
    ]
    own = _pool(site, "", spans, {host.name: host.ip for host in site.hosts})
    return [own, *(_further(site, name, hosts) for name, hosts in attached(site).items())]


def _further(site: Site, network: str, hosts: tuple[Host, ...]) -> Manifest:
    spans: list[Json] = []
    given: dict[str, str] = {}
    for zone, subnet, gateway in subnets(site, network):
        mine = [host for host in hosts if host.zone == zone.name]
        own = {host.name: address_in(host, zone, network, subnet) for host in mine}
        taken: Any = [gateway] if gateway and gateway in subnet else []
        for first, last in _blocks(subnet, own.values()):
            new = [_span(*each, subnet, gateway) for each in ranges(first, last, taken)]
            spans += [each for each in new if each not in spans]  # zones may share a subnet
        given |= {name: str(address) for name, address in own.items()}
    return _pool(site, network, spans, given)


def _blocks(
    subnet: Any, addresses: Iterable[AnyAddress | None]
) -> Iterator[tuple[AnyAddress, AnyAddress]]:
    """The first and the last address of what a range may be: of IPv6 the first block,
    where hosts are that say nothing else, and blocks with hosts.

    IPAM looks for a host's address from the first one on, one by one, in each range before it
    (ip-address-manager 1.13.2, allocateAddress): it would never get through a /64.
    """
    if subnet.version == 4:
        yield subnet[1], subnet[-2]
        return
    prefix: Any = max(_BLOCK, subnet.prefixlen)
    first, used = subnet[0] + 1, [each for each in addresses if each]
    for block in sorted({ip_network((each, prefix), strict=False) for each in (first, *used)}):
        yield max(block[0], first), block[-1]


def _span(
    first: AnyAddress, last: AnyAddress, subnet: AnyNetwork | str, gateway: AnyAddress | str | None
) -> Json:
    prefix = int(str(subnet).partition("/")[2])
    found = {"start": str(first), "end": str(last), "subnet": str(subnet), "prefix": prefix}
    return found | ({"gateway": str(gateway)} if gateway else {})


def _pool(site: Site, network: str, spans: Iterable[Json], given: Mapping[str, str]) -> Manifest:
    name = pool_name(site, network)
    (body,) = filled(
        __file__,
        metadata=metadata(site, name, **{CLUSTER_LABEL: management_names(site).cluster}),
        site=management_names(site).cluster,
        prefix=name,
        ranges=spans,
        addresses={f"{host}-{name}": address for host, address in given.items()},
    )
    return Manifest(f"IPPool/{network}" if network else "IPPool", body, protect=True)
