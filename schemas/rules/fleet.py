"""Rules between sites: two that are valid alone must not clash once both are merged.

Each site leaves a footprint, made without judging the site, so that a fault in one site does not
hide a clash with it; one pass over all footprints finds every clash, however many sites there are.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from ipaddress import IPv4Network
from typing import Any

from schemas.codes import Code
from schemas.rules.finding import Finding, HostCell
from schemas.rules.hosts import UNIQUE_COLUMNS

Path = tuple[str | int, ...]


@dataclass(frozen=True, slots=True)
class Footprint:
    """What one site takes of the world that all sites share.

    ``networks`` are (what for, place in the site file, network); ``cells`` maps each unique column
    of the host list to its values, in the order of its lines from line 2 on.
    """

    site: str
    hosts_file: str
    networks: Sequence[tuple[str, Path, IPv4Network]] = ()
    endpoint: str | None = None
    cells: Mapping[str, Sequence[str]] = field(default_factory=dict)


def footprint(site: str, hosts_file: str, data: Any, hosts: str) -> Footprint:
    """The footprint of a site from its file's data and its host list's text, valid or not."""
    lines = [line.split(",") for line in hosts.splitlines()]
    header = lines[0] if lines else []
    rows = zip(*(row for row in lines[1:] if len(row) == len(header)), strict=False)
    columns = dict(zip(header, rows, strict=False))
    cells = {name: columns[name] for name in UNIQUE_COLUMNS if name in columns}
    data = data if isinstance(data, dict) else {}
    cluster = data.get("cluster")
    endpoint = cluster.get("endpoint") if isinstance(cluster, dict) else None
    networks = tuple(_networks(data))
    return Footprint(site, hosts_file, networks, endpoint if networks else None, cells)


def _networks(data: dict[str, Any]) -> Iterator[tuple[str, Path, IPv4Network]]:
    zones = data.get("zones")
    candidates: list[tuple[str, Path, Any]] = [("BMCs", ("bmc", "network"), data.get("bmc"))]
    for index, zone in enumerate(zones if isinstance(zones, list) else ()):
        name = zone.get("name") if isinstance(zone, dict) else None
        candidates.append((f"zone {name}", ("zones", index, "network"), zone))
    for name, place, holder in candidates:
        try:
            yield name, place, IPv4Network(holder["network"])
        except (ValueError, TypeError, KeyError):
            continue  # the site's own check says what is wrong with it


def clashes(footprints: Sequence[Footprint]) -> dict[str, list[Finding]]:
    """Every clash between two sites, as findings of both, by site."""
    found: dict[str, list[Finding]] = {each.site: [] for each in footprints}
    _network_clashes(footprints, found)
    _endpoint_clashes(footprints, found)
    for column in UNIQUE_COLUMNS:
        _cell_clashes(footprints, column, found)
    return found


def _cell_clashes(
    footprints: Sequence[Footprint], column: str, found: dict[str, list[Finding]]
) -> None:
    owners: dict[str, Footprint] = {}
    for mine in footprints:
        values = mine.cells.get(column, ())
        # Most sites share nothing: ask for the whole list at once before looking at each value.
        if not owners.keys().isdisjoint(values):
            for number, value in enumerate(values, start=2):
                other = owners.get(value)
                if other is not None:
                    line = list(other.cells[column]).index(value) + 2
                    found[mine.site].append(_cell(column, value, number, other, line))
                    found[other.site].append(_cell(column, value, line, mine, number))
        owners.update(dict.fromkeys(values, mine))


def _cell(column: str, value: str, line: int, other: Footprint, other_line: int) -> Finding:
    return Finding(
        Code.SITES_CLASH,
        HostCell(line, column),
        f"{column} {value} is also on line {other_line} of {other.hosts_file}",
        "write the value that this host really has, or remove it from one of the sites",
    )


def _endpoint_clashes(footprints: Sequence[Footprint], found: dict[str, list[Finding]]) -> None:
    owners: dict[str, str] = {}
    for mine in footprints:
        if mine.endpoint is None:
            continue
        other = owners.setdefault(str(mine.endpoint), mine.site)
        if other != mine.site:
            for site, clashing in ((mine.site, other), (other, mine.site)):
                found[site].append(
                    Finding(
                        Code.SITES_CLASH,
                        ("cluster", "endpoint"),
                        f"{mine.endpoint} is also the endpoint of site {clashing}",
                        "choose an address that no other site has",
                    )
                )


def _network_clashes(footprints: Sequence[Footprint], found: dict[str, list[Finding]]) -> None:
    spans = sorted(
        (int(network[0]), int(network[-1]), each.site, name, place, network)
        for each in footprints
        for name, place, network in each.networks
    )
    for index, (_, last, site, name, place, network) in enumerate(spans):
        for first, _, other, other_name, other_place, other_network in spans[index + 1 :]:
            if first > last:
                break  # sorted by first address: nothing further on can overlap
            if other != site:
                found[site].append(_network(place, name, network, other, other_name, other_network))
                found[other].append(
                    _network(other_place, other_name, other_network, site, name, network)
                )


def _network(
    place: Path, name: str, network: IPv4Network, other: str, other_name: str, theirs: IPv4Network
) -> Finding:
    return Finding(
        Code.SITES_CLASH,
        place,
        f"{network} of {name} overlaps {theirs} of {other_name} in site {other}",
        "choose a network that no other site has",
    )
