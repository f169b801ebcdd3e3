"""Regions that a change differs in: how many sites change by one, of how many that name it."""

import re
from collections.abc import Iterable, Iterator, Mapping

from preview.regions import RegionChange
from preview.states.fleet import differing, holds, names_of, region_of, site_names, site_of
from preview.states.snapshot import Snapshot
from schemas.model.management import FOLDER
from schemas.reading.document import Document
from schemas.reading.paths import leaves
from schemas.reading.regions import FLEET_FILE
from schemas.reading.typed_document import value_at

Regions = Mapping[str, tuple[str, ...]]
"""Files of regions, each with what differs of it: itself, or files that it may name."""


def changed_regions(before: Snapshot, after: Snapshot) -> Regions:
    """The files of regions that differ, or may name a file that does."""
    changed = differing(before, after)
    below = (p for p in changed if p.startswith(("sites/", f"{FOLDER}/")) and not site_of(p))
    shared = {p: {*names_of(p)} for p in below if not region_of(p)}
    found = {path: {path} for path in changed if region_of(path)}
    for side in (before, after) if shared else ():
        for region, data in side.read(filter(region_of, side.files)).items():
            if named := {path for path, words in shared.items() if holds(data, words)}:
                found.setdefault(region, set()).update(named)
    return {region: tuple(sorted(behind)) for region, behind in sorted(found.items())}


def regions_behind(
    regions: Regions,
    files: Iterable[str],
    documents: Iterable[Document | None],
    *,
    unsure: bool = False,
) -> tuple[str, ...]:
    """The regions that a site's change comes from: ``files`` are those that are behind it. A file
    that a region names counts where the site has the region's word for it, not its own. Where
    nothing can be said of the site, each region that says a part of it may be behind that."""
    sides = [side for side in documents if side]
    given = [each for side in sides for each in _given(side)]
    named = (each.value.get(FOLDER) for each in sides if isinstance(each.value, dict))
    clusters = {f"{FOLDER}/{each}.yaml" for each in named}
    behind = {*files, *(region for region, _ in given if unsure)}
    found = {
        region
        for region, changed in regions.items()
        for path in behind.intersection(changed)
        if path == region
        or region in clusters
        or any(holds(x, names_of(path)) for at, x in given if at == region)
    }
    return tuple(sorted(found))


def _given(document: Document) -> Iterator[tuple[str, bytes]]:
    """What regions say of a site: the region's file, and each text."""
    for at, each in document.given.items():
        said = (str(leaf).encode() for _, leaf in leaves(value_at(document, at)))
        yield from ((each.document.file, text) for text in said)


def region_changes(
    sides: tuple[Snapshot, Snapshot],
    regions: Regions,
    names: Iterable[str],
    behind: Mapping[str, Iterable[str]],
) -> tuple[RegionChange, ...]:
    """Each of ``regions`` that differs, with how many sites it changes, of those in ``names``;
    ``behind`` are the regions' files behind the change of a site, by the name of each that
    changes."""
    found = []
    for file, changed in regions.items():
        touched = {name for name, files in behind.items() if file in files}
        if touched or file in changed:
            every = touched | _naming(sides, file, {*names})
            others = {name for side in sides for name in site_names(side)} - {*names}
            if not every and file.startswith(f"{FOLDER}/") and _naming(sides, file, others):
                continue  # it is another sites' alone, and they are not looked at
            same = len(every - behind.keys())
            named = () if file in changed else changed
            found.append(RegionChange(file, len(touched), len(every), same, named))
    return tuple(found)


def _naming(sides: Iterable[Snapshot], file: str, names: set[str]) -> set[str]:
    """Sites that name a region, or a management cluster, found by the line that does so as it is
    usually written; all of the fleet."""
    if file == FLEET_FILE:
        return names
    key = FOLDER if file.startswith(f"{FOLDER}/") else "region"
    region = region_of(file) or ""
    line = rf"^{key}:[ \t]*[\"']?{re.escape(region)}[\"']?[ \t]*(?:#.*)?\r?$".encode()
    found = set[str | None]()
    for side in sides:
        regions = {path for path in side.files if key == FOLDER and path.startswith("regions/")}
        files = {f"sites/{name}.yaml" for name in names} & side.files.keys()
        texts = side.read(files | regions)
        own = {site_of(path) for path, data in texts.items() if b"\nmanagement:" in data}
        for path, data in texts.items():
            if re.search(line, data, re.MULTILINE):
                # A region names the management cluster for its sites that name none.
                found |= _naming([side], path, names - own) if path in regions else {site_of(path)}
    return {each for each in found if each}
