"""Rules on the host list: each host has a place in the site, and shares nothing with another."""

from collections.abc import Iterator

from schemas.facts.site import Site
from schemas.rules.finding import Finding, HostCell, advise, say

UNIQUE_COLUMNS = ("name", "bmc", "mac", "ip", "serial")
"""Columns in which no two hosts of a fleet have the same value."""


def host_pools(site: Site) -> Iterator[Finding]:
    """Each host names a pool that the site has."""
    known = [pool.name for pool in site.file.pools]
    yield from _strangers(site, "pool", known)


def host_zones(site: Site) -> Iterator[Finding]:
    """Each host names a zone that the site has."""
    known = [zone.name for zone in site.file.zones]
    yield from _strangers(site, "zone", known)


def _strangers(site: Site, column: str, known: list[str]) -> Iterator[Finding]:
    strange = set(site.cells(column)).difference(known, ("",))
    for host, value in zip(site.hosts, site.cells(column), strict=True) if strange else ():
        if value in strange:
            advice = advise(value, known, f"write one of {', '.join(known)}, or add it")
            yield say(f"{column}-of-host-unknown", HostCell(host.line, column), value, advice)


def host_duplicates(site: Site) -> Iterator[Finding]:
    """No two hosts share a name, BMC, MAC, address or serial number.

    An address is no BMC's either, as both lie in networks that are apart.
    """
    hosts = site.hosts
    for column in UNIQUE_COLUMNS:
        if len(set(site.cells(column))) == len(hosts):
            continue
        first: dict[object, int] = {}
        for host, value in zip(hosts, site.cells(column), strict=True):
            line = first.setdefault(value, host.line)
            if value and line != host.line:
                yield say("host-value-twice", HostCell(host.line, column), column, value, line)
