"""Rules on the host list: each host has a place in the site, and shares nothing with another."""

import difflib
from collections.abc import Iterator

from schemas.codes import Code
from schemas.rules.finding import Finding, HostCell
from schemas.site import Site

UNIQUE_COLUMNS = ("name", "bmc", "mac", "ip", "serial")
"""Columns in which no two hosts of a fleet have the same value."""


def host_places(site: Site) -> Iterator[Finding]:
    """Each host names a pool and a zone that the site has."""
    pools = [pool.name for pool in site.file.pools]
    zones = [zone.name for zone in site.file.zones]
    known_pools, known_zones = frozenset(pools), frozenset(zones)
    for host in site.hosts:
        if host.pool not in known_pools:
            yield _unknown(Code.UNKNOWN_POOL, host.line, "pool", host.pool, pools)
        if host.zone not in known_zones:
            yield _unknown(Code.UNKNOWN_ZONE, host.line, "zone", host.zone, zones)


def _unknown(code: Code, line: int, column: str, value: str, known: list[str]) -> Finding:
    near = difflib.get_close_matches(value, known, 1)
    fix = f"write {near[0]}" if near else f"write one of {', '.join(known)}, or add it to the site"
    return Finding(code, HostCell(line, column), f"there is no {column} {value}", fix)


def host_duplicates(site: Site) -> Iterator[Finding]:
    """No two hosts share a name, BMC, MAC, address or serial number."""
    hosts = site.hosts
    for position, column in ((hosts[0]._fields.index(c), c) for c in UNIQUE_COLUMNS if hosts):
        values = [host[position] for host in hosts]
        if len(set(values)) == len(values):
            continue
        first: dict[object, int] = {}
        for host, value in zip(hosts, values, strict=True):
            line = first.setdefault(value, host.line)
            if line != host.line:
                yield Finding(
                    Code.HOST_DUPLICATE,
                    HostCell(host.line, column),
                    f"{column} {value} of {host.name} is already used on line {line}",
                    "write the value that this host really has, or remove one of the lines",
                )
    bmcs = {host.bmc: host for host in hosts}
    for host in hosts:
        if host.ip in bmcs:
            yield Finding(
                Code.HOST_DUPLICATE,
                HostCell(host.line, "ip"),
                f"ip {host.ip} of {host.name} is the BMC of {bmcs[host.ip].name} "
                f"(line {bmcs[host.ip].line})",
                "write the address that this host really has",
            )
