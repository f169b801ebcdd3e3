"""The sites that a change can concern, and both sides of each, read and made into objects.

Cost follows the change: of the other sites at most the bytes are searched, for what the change
takes that they may have too.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from ipaddress import IPv4Network
from pathlib import Path

from preview.states.snapshot import Snapshot
from schemas.model.extra import LOCK, RENDERED, VALUES
from schemas.model.management import FOLDER
from schemas.reading.catalogue import OWN, SHOWN, catalogue_of, hardware_catalogue
from schemas.reading.regions import FLEET
from schemas.reading.tree import Tree
from schemas.rules.identity import UNIQUE_COLUMNS

FEW = 64
"""Words that Git looks for in every host list; for more each list is read."""
SITE, HOSTS = ".yaml", ".hosts.csv"
_ENDINGS = (HOSTS, SITE, ".yml")
_SHARED = ("regions", FOLDER)
_CATALOGUES = (f"{SHOWN}/", f"{OWN}/")
_HARDWARE = {f"{each}hardware.yaml" for each in _CATALOGUES}
_NETWORK = re.compile(rb"(?<![0-9.])(?:[0-9]{1,3}\.){3}[0-9]{1,3}/[0-9]{1,2}(?![0-9])")
_ADDRESS = re.compile(rb"(?<![0-9.])(?:[0-9]{1,3}\.){3}[0-9]{1,3}(?![0-9./])")
_NETWORK6 = re.compile(rb"(?<![0-9a-f:])[0-9a-f]{1,4}:[0-9a-f:]+/[0-9]{1,3}(?![0-9])")
_UNIQUE = tuple(name.encode() for name in UNIQUE_COLUMNS)
_CONTEXT = re.compile(rb"context:\s*[\"']?([^\s\"',}]+)")


def site_of(path: str) -> str | None:
    """The site that a file below sites/ belongs to; None for a file that several may name."""
    folder, _, name = path.rpartition("/")
    if folder != "sites" or name.startswith("."):
        return None
    return next((name.removesuffix(end) for end in _ENDINGS if name.endswith(end)), None)


def region_of(path: str) -> str | None:
    """The region or the management cluster that a file is of; None for any other file."""
    folder, _, name = path.rpartition("/")
    return name.removesuffix(SITE) if folder in _SHARED and name.endswith(SITE) else None


def _named(region: str) -> bytes:
    """The text by which a site's file names a region; the fleet has every site."""
    return b"" if region == FLEET else region.encode()


def site_names(side: Snapshot) -> list[str]:
    """The sites of one side, sorted."""
    return sorted({name for path in side.files if (name := site_of(path))})


def differing(before: Snapshot, after: Snapshot) -> list[str]:
    """The files whose content differs, sorted."""
    every = before.files.keys() | after.files.keys()
    return sorted(path for path in every if before.files.get(path) != after.files.get(path))


def changed_sites(before: Snapshot, after: Snapshot) -> list[str]:
    """The sites that a change can concern, sorted: those whose own files differ, and those that
    name a changed file, profile or release."""
    changed = differing(before, after)
    names = {name for path in changed if (name := site_of(path))}
    needles = set(_needles(before, after, changed))
    if needles:
        # Twice: a region may name a management cluster, whose file names what differs.
        for side in (before, after) * 2:
            regions = {path: name for path in side.files if (name := region_of(path))}
            held = side.read(regions)
            needles |= {_named(n) for p, n in regions.items() if holds(held.get(p, b"\\"), needles)}
        for side in (before, after):
            files = {
                path: name for path in side.files if path.endswith(SITE) and (name := site_of(path))
            }
            rest = [path for path, name in files.items() if name not in names]
            read = side.read(rest)
            # What cannot be read may name anything.
            names |= {files[path] for path in rest if holds(read.get(path, b"\\"), needles)}
    return sorted(names)


def holds(data: bytes, needles: Iterable[bytes]) -> bool:
    """True if a site's file may name one of the needles: a text can be spelled with escapes."""
    return b"\\" in data or any(needle in data for needle in needles)


def _needles(before: Snapshot, after: Snapshot, changed: Iterable[str]) -> Iterator[bytes]:
    """Texts in a site's files by which another file's change concerns the site."""
    for path in changed:
        if path in _HARDWARE:
            yield from _profiles(before, after)
        elif path.startswith(_CATALOGUES):
            yield Path(path).stem.encode()
        elif site_of(path) is None:
            if region := region_of(path):
                yield _named(region)
                continue
            yield from names_of(path)


def names_of(path: str) -> Iterator[bytes]:
    """The texts by which a site or a region names a file below sites/ that several may name, or a
    management cluster one of its manifests."""
    path = path.removeprefix("sites/").removeprefix(f"{FOLDER}/")
    folder, _, name = path.rpartition("/")
    yield path.encode()
    # A pattern names it up to a star, a chart by its folder.
    yield from (f"{folder}/{name[:end]}*".encode() for end in range(len(name) + 1))
    if name in (LOCK, VALUES, RENDERED):
        yield folder.encode()


def _profiles(before: Snapshot, after: Snapshot) -> Iterator[bytes]:
    """The names of the hardware profiles that differ; of all, where one side has problems."""
    first, second = (
        hardware_catalogue(catalogue_of(Tree(side.contents(_HARDWARE & side.files.keys()))))
        for side in (before, after)
    )
    names = first.entries.keys() | second.entries.keys()
    faulty = bool(first.problems or second.problems)
    for name in sorted(names):
        if faulty or first.entries.get(name) != second.entries.get(name):
            yield name.encode()


def suspects(before: Snapshot, after: Snapshot, names: Iterable[str]) -> set[str]:
    """Sites that may have what one of the named ones newly takes: an address, a network, a serial.
    Two that may clash are both in it. A superset, found in the bytes of the files; whether two
    sites really clash is for the rules to say."""
    taken: dict[bytes, set[str]] = {}
    for name in names:
        for cell in _new_cells(before, after, name):
            taken.setdefault(cell, set()).add(name)
    found = {name for owners in taken.values() if len(owners) > 1 for name in owners}
    for path, data in after.read(_candidates(after, taken)).items():
        cells = _cells([data])
        owners = {owner for cell in taken.keys() & cells for owner in taken[cell]}
        if path.endswith(SITE):
            owners |= _overlapping(taken, cells, escapes=b"\\" in data)
        if others := owners - {site_of(path)}:
            found |= others
            found.add(site_of(path) or "")
    return found - {""}


def _candidates(after: Snapshot, taken: Mapping[bytes, set[str]]) -> Iterable[str]:
    """The files of sites that are worth reading for what is newly taken."""
    if not taken:
        return ()
    lists = [path for path in after.files if path.endswith(HOSTS)]
    if len(taken) <= FEW:
        words = [cell.decode("utf-8", "replace") for cell in taken]
        lists = sorted(after.holding(words, "sites/*.csv") & set(lists))
    # A network can overlap another that is spelled differently, so site files are all read.
    return [*lists, *(path for path in after.files if path.endswith(SITE))]


def _new_cells(before: Snapshot, after: Snapshot, name: str) -> set[bytes]:
    """The cells of a site on the later side that it did not have before."""
    own = [f"sites/{name}{end}" for end in _ENDINGS]
    new = [path for path in own if path in after.files]
    if all(before.files.get(path) == after.files[path] for path in new):
        return set()
    old = [path for path in own if path in before.files]
    return _cells(after.read(new).values()) - _cells(before.read(old).values())


def owners(before: Snapshot, after: Snapshot, names: Iterable[str]) -> dict[str, dict[str, str]]:
    """Hosts of the sites whose BMC is another host's on the earlier side, by site and name: whose
    it is, also one of a site that is not looked at. Such as hosts that are renamed, or go to
    another site: as nothing deletes the former host for good by itself, two would command one
    machine. A host that was out is deleted."""
    lists = {f"sites/{name}{HOSTS}": name for name in names}
    changed = [path for path in lists if before.files.get(path) != after.files.get(path)]
    left = [
        path
        for path, held in before.files.items()
        if changed and path.endswith(HOSTS) and after.files.get(path) != held
    ]
    had: dict[bytes, tuple[str, str]] = {}
    for path, data in before.read(left).items():
        out = {name for name, state in _rows(data, b"name", b"state") if state == b"out"}
        rows = (each for each in _rows(data, b"name", b"bmc") if each[0] not in out)
        had |= {bmc: (site_of(path) or "", name) for name, bmc in rows}
    found: dict[str, dict[str, str]] = {}
    for path, data in after.read(p for p in changed if p in after.files).items():
        for name, bmc in _rows(data, b"name", b"bmc"):
            owner = had.get(bmc, (lists[path], name))
            if owner != (lists[path], name):
                found.setdefault(lists[path], {})[name] = "/".join(owner)
    return found


def _rows(data: bytes, name: bytes, column: bytes) -> Iterator[tuple[str, bytes]]:
    """The name and another cell of each line of a host list; none where it lacks the columns."""
    header, _, rows = data.partition(b"\n")
    columns = [each.strip() for each in header.split(b",")]
    if name in columns and column in columns:
        first, second = columns.index(name), columns.index(column)
        for row in rows.split(b"\n"):
            cells = row.strip().split(b",")
            if len(cells) == len(columns):
                yield cells[first].decode("utf-8", "replace"), cells[second]


def _cells(contents: Iterable[bytes]) -> set[bytes]:
    """The values that two sites must not share, wherever in a host list or site file they stand."""
    found: set[bytes] = set()
    for data in contents:
        header, _, rows = data.partition(b"\n")
        columns = [each.strip() for each in header.split(b",")]
        at = [n for n, name in enumerate(columns) if name in _UNIQUE or name.startswith(b"mac_")]
        if len(at) > 1:
            cells = [row.strip().split(b",") for row in rows.split(b"\n")]
            found.update(row[index] for row in cells if len(row) > max(at) for index in at)
        else:
            for pattern in (_NETWORK, _NETWORK6, _ADDRESS, _CONTEXT):
                found.update(pattern.findall(data))
    return found


def _network(text: bytes) -> IPv4Network | None:
    try:
        return IPv4Network(text.decode("ascii")) if b"/" in text else None
    except ValueError:
        return None


def _overlapping(
    taken: Mapping[bytes, set[str]], cells: Iterable[bytes], *, escapes: bool
) -> set[str]:
    """The owners of networks that overlap one of a site's, or may: it can hide behind escapes."""
    networks = [(network, owners) for each, owners in taken.items() if (network := _network(each))]
    theirs = [network for each in cells if (network := _network(each))] if networks else []
    return {
        owner
        for network, owners in networks
        for owner in owners
        if escapes or any(network.overlaps(other) for other in theirs)
    }
