"""Racks: those of two zones, NVLink domains, and what a site says of ComputeDomains (IMEX)."""

from collections.abc import Iterable, Iterator

from schemas.facts.site import Site
from schemas.model.accelerators import ComputeDomains
from schemas.model.site_file import Pool
from schemas.reading.host_list import Host


def nvlink_pools(site: Site) -> tuple[Pool, ...]:
    """The pools of which each rack is an NVLink domain, in the order of the file."""
    known = (pool for pool in site.file.pools if pool.hardware in site.hardware)
    return tuple(pool for pool in known if site.profile(pool).nvlink_domain)


def in_two_zones(hosts: Iterable[Host]) -> Iterator[tuple[Host, str]]:
    """Each host whose rack is in another zone before it, with that zone."""
    first: dict[str, str] = {}
    for host in hosts:
        if host.rack and first.setdefault(host.rack, host.zone) != host.zone:
            yield host, first[host.rack]


def domain_settings(site: Site) -> ComputeDomains | None:
    """The settings of ComputeDomains; None where the site has none."""
    return site.file.accelerators.compute_domains if site.file.accelerators else None
