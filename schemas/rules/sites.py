"""Rules between sites: two that are valid alone must not clash once both are merged.

Each site leaves a footprint, made without judging the site, so that a fault in one site does not
hide a clash with it; one pass over all footprints finds every clash, however many sites there are.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from ipaddress import ip_network
from itertools import islice
from typing import Any

from schemas.kubernetes.bodies import mapping
from schemas.kubernetes.masking import shorten
from schemas.model.addresses import AnyNetwork
from schemas.model.cluster import Cluster
from schemas.model.primitives import IPV4_PATTERN
from schemas.model.vocabulary import VirtualIp
from schemas.reading.host_list import Host
from schemas.rules.addresses import ENDPOINT
from schemas.rules.finding import Finding, HostCell, Path, say
from schemas.rules.identity import UNIQUE_COLUMNS

_IPV4 = re.compile(IPV4_PATTERN)
MOST_NAMED = 3
"""Other sites that a site names of those that already have an address or a network."""
Found = dict[str, list[Finding]]


@dataclass(frozen=True, slots=True)
class Footprint:
    """The resources of the world that one site takes, and that all sites share.

    ``networks`` are (what for, place in the site file, network); ``cells`` maps each unique column
    of the host list to its values, in the order of ``lines``; ``announced`` says that the endpoint
    is announced by ARP, so that no other port of the address can be someone else's.
    """

    site: str
    hosts_file: str
    networks: Sequence[tuple[str, Path, AnyNetwork]] = ()
    endpoint: str | None = None
    port: object = None
    announced: bool = True
    context: str | None = None
    cells: Mapping[str, Sequence[str]] = field(default_factory=dict)
    lines: Sequence[int] = ()


def footprint(site: str, hosts_file: str, data: Any, hosts: Sequence[Host]) -> Footprint:
    """The footprint of a site from its file's data, valid or not, and its hosts."""
    macs = [(mac, host.line) for host in hosts for name, mac in host.more if name[:4] == "mac_"]
    hosts = [*hosts, *(Host("", "", "", "", "", mac, "", "", line) for mac, line in macs)]
    columns = dict(zip(Host._fields, zip(*hosts, strict=True), strict=True)) if hosts else {}
    cluster = mapping(data, "cluster")
    endpoint, context = cluster.get("endpoint"), cluster.get("context")
    valid = isinstance(endpoint, str) and _IPV4.fullmatch(endpoint)
    return Footprint(
        site,
        hosts_file,
        tuple(_networks(mapping(data))),
        endpoint if valid else None,
        cluster.get("port", Cluster.model_fields["port"].default),
        cluster.get("virtual_ip") != VirtualIp.EXTERNAL.value,
        context if isinstance(context, str) else None,
        {name: columns[name] for name in UNIQUE_COLUMNS} if columns else {},
        columns.get("line", ()),
    )


def _networks(data: dict[str, Any]) -> Iterator[tuple[str, Path, AnyNetwork]]:
    zones = data.get("zones")
    candidates: list[tuple[str, Path, Any]] = [("the BMCs", ("bmc", "network"), data.get("bmc"))]
    for index, zone in enumerate(zones if isinstance(zones, list) else ()):
        name = f"zone {shorten(mapping(zone).get('name'))}"
        candidates.append((name, ("zones", index, "network"), zone))
        candidates.append((f"{name} (IPv6)", ("zones", index, "network6"), zone))
    for name, network in mapping(data, "networks").items():
        for zone, subnet in mapping(network, "zones").items():
            at = ("networks", str(name), "zones", str(zone), "network")
            candidates.append((shorten(name), at, subnet))
    for name, place, holder in candidates:
        text = mapping(holder).get(str(place[-1]))
        if isinstance(text, str) and "/" in text:
            try:
                yield name, place, ip_network(text)
            except ValueError:
                continue  # the site's own check says what is wrong with it


def clashes(footprints: Sequence[Footprint]) -> Found:
    """The clashes between sites, as findings of both, by site: each site that clashes has some. Of
    many sites that share one thing, each names a few others, so that the time stays linear."""
    found: Found = {each.site: [] for each in footprints}
    _network_clashes(footprints, found)
    _endpoint_clashes(footprints, found)
    _context_clashes(footprints, found)
    owners = {column: _cell_clashes(footprints, column, found) for column in UNIQUE_COLUMNS}
    for mine in footprints:
        for column in ("ip", "bmc"):
            other = owners[column].get(mine.endpoint) if mine.endpoint else None
            if other is not None and other.site != mine.site:
                _endpoint_of_host(mine, other, column, found)
    return found


def _cell_clashes(
    footprints: Sequence[Footprint], column: str, found: Found
) -> dict[str, Footprint]:
    """Note the values of a column that two sites have; the owner of each value."""
    owners: dict[str, Footprint] = {}
    lines: dict[str, dict[str, int]] = {}  # by site and value, of those that clash at all
    for mine in footprints:
        values = mine.cells.get(column, ())
        # Most sites share nothing: ask for the whole list at once before looking at each value.
        if not owners.keys().isdisjoint(values):
            for value, line in zip(values, mine.lines, strict=True):
                other = owners.get(value) if value else None
                if other is not None:
                    if other.site not in lines:
                        lines[other.site] = dict(zip(other.cells[column], other.lines, strict=True))
                    theirs = lines[other.site][value]
                    found[mine.site].append(_cell(column, value, line, theirs, other))
                    found[other.site].append(_cell(column, value, theirs, line, mine))
        owners.update(dict.fromkeys(values, mine))
    return owners


def _cell(column: str, value: str, line: int, there: int, other: Footprint) -> Finding:
    return say("cell-of-two-sites", HostCell(line, column), column, value, there, other)


def _endpoint_of_host(mine: Footprint, other: Footprint, column: str, found: Found) -> None:
    address = str(mine.endpoint)
    line = other.lines[other.cells[column].index(address)]
    kind = "the BMC" if column == "bmc" else "the address"
    what = f"{kind} of the host on line {line} of {other.hosts_file}"
    found[mine.site].append(say("endpoint-is-host", ENDPOINT, address, what))
    cell = HostCell(line, column)
    found[other.site].append(say("host-is-endpoint", cell, column, address, mine))


def _endpoint_clashes(footprints: Sequence[Footprint], found: Found) -> None:
    owners: dict[str, list[Footprint]] = {}
    for mine in footprints:
        if mine.endpoint is None:
            continue
        known = owners.setdefault(mine.endpoint, [])
        same = (e for e in known if mine.announced or e.announced or mine.port == e.port)
        for other in islice(same, MOST_NAMED):
            _note_both(found, "endpoint-of-two-sites", ENDPOINT, mine, other)
        known.append(mine)


def _note_both(found: Found, row: str, place: Path, mine: Footprint, other: Footprint) -> None:
    for each, its in ((mine, other), (other, mine)):
        found[each.site].append(say(row, place, each, its))


def _context_clashes(footprints: Sequence[Footprint], found: Found) -> None:
    owners: dict[str, Footprint] = {}
    for mine in footprints:
        other = owners.setdefault(mine.context, mine) if mine.context else mine
        if other is not mine:
            _note_both(found, "context-of-two-sites", ("cluster", "context"), mine, other)


def _network_clashes(footprints: Sequence[Footprint], found: Found) -> None:
    spans = [
        (int(network[0]), int(network[-1]), each.site, name, place, network)
        for each in footprints
        for name, place, network in each.networks
    ]
    # Of two networks that overlap one holds the other: sorted, what holds this one is still open.
    around: list[tuple[int, int, str, str, Path, AnyNetwork]] = []
    for span in sorted(spans, key=lambda each: (each[0], -each[1])):
        while around and around[-1][1] < span[0]:
            around.pop()
        others = (each for each in reversed(around) if each[2] != span[2])
        for other in islice(others, MOST_NAMED):
            for mine, its in ((span, other), (other, span)):
                _, _, site, name, place, network = mine
                values = network, name, its[5], its[3], its[2]
                found[site].append(say("networks-of-two-sites", place, *values))
        around.append(span)
