"""Rules on the host list: each host has a place in the site, and shares nothing with another."""

from collections.abc import Iterator

from schemas.facts.site import Site
from schemas.model.codes import Code
from schemas.model.nearest import nearest
from schemas.rules.finding import Finding, HostCell
from schemas.rules.texts import say

UNIQUE_COLUMNS = ("name", "bmc", "mac", "ip", "serial")
"""Columns in which no two hosts of a fleet have the same value."""


def host_pools(site: Site) -> Iterator[Finding]:
    """Each host names a pool that the site has."""
    known = [pool.name for pool in site.file.pools]
    yield from _strangers(site, "pool", Code.UNKNOWN_POOL, known)


def host_zones(site: Site) -> Iterator[Finding]:
    """Each host names a zone that the site has."""
    known = [zone.name for zone in site.file.zones]
    yield from _strangers(site, "zone", Code.UNKNOWN_ZONE, known)


def _strangers(site: Site, column: str, code: Code, known: list[str]) -> Iterator[Finding]:
    strange = set(site.cells(column)).difference(known, ("",))
    for host, value in zip(site.hosts, site.cells(column), strict=True) if strange else ():
        if value in strange:
            near = nearest(value, known)
            fix = f"write {near}" if near else f"write one of {', '.join(known)}, or add it"
            place = HostCell(host.line, column)
            yield Finding(code, place, f"there is no {column} {value} in the site", fix)


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
