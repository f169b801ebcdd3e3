"""The addresses that no machine may get: what else answers in the zones' networks."""

import re
from collections.abc import Iterator
from ipaddress import IPv4Address

from schemas.facts.site import Site
from schemas.model.primitives import IPV4_PATTERN
from schemas.model.site_file import Zone


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
    first, last = zone.span
    for taken in sorted(map(IPv4Address, reserved(site))):
        if first <= taken <= last:
            if first < taken:
                yield first, taken - 1
            first = taken + 1
    if first <= last:
        yield first, last
