"""The addresses that no machine may get: what else answers in the zones' networks."""

import re
from collections.abc import Iterable, Iterator
from ipaddress import IPv4Address, IPv6Address
from typing import TypeVar

from schemas.facts.site import Site
from schemas.model.primitives import IPV4_PATTERN
from schemas.model.site_file import Zone

A = TypeVar("A", IPv4Address, IPv6Address)


def reserved(site: Site) -> dict[str, str]:
    """The reserved addresses, and what has each. What is not known of a site is left out."""
    file = site.file
    found: dict[str, str] = {}
    for boot in (file, *getattr(file, "pools", ())):
        settings = getattr(boot, "first_boot", None)
        names = {"dns": "a name server", "ntp": "a time server"}
        found |= {each: names[key] for key in names for each in getattr(settings, key, ())}
    for zone in getattr(file, "zones", ()):
        found[getattr(zone, "gateway", "")] = f"the gateway of zone {getattr(zone, 'name', '')}"
    found[getattr(getattr(file, "cluster", None), "endpoint", "")] = "the endpoint"
    return {address: what for address, what in found.items() if re.match(IPV4_PATTERN, address)}


def host_ranges(site: Site, zone: Zone) -> Iterator[tuple[IPv4Address, IPv4Address]]:
    """The first and the last address of each range of a zone that its hosts may have."""
    return ranges(*zone.span, map(IPv4Address, reserved(site)))


def ranges(first: A, last: A, taken: Iterable[A]) -> Iterator[tuple[A, A]]:
    """The first and the last address of each range between two that leaves out what is taken."""
    for each in sorted(each for each in taken if first <= each <= last):
        if first < each:
            yield first, each - 1
        first = each + 1
    if first <= last:
        yield first, last
