"""Files of regions that differ: how many sites change by one, of how many that name it."""

import re
from collections.abc import Iterable, Mapping

from preview.regions import RegionChange
from preview.states.fleet import differing, region_of, site_of
from preview.states.snapshot import Snapshot
from schemas.reading.regions import FLEET


def changed_regions(before: Snapshot, after: Snapshot) -> frozenset[str]:
    """The files of regions that differ."""
    return frozenset(path for path in differing(before, after) if region_of(path))


def region_changes(
    sides: tuple[Snapshot, Snapshot], names: Iterable[str], behind: Mapping[str, Iterable[str]]
) -> tuple[RegionChange, ...]:
    """Each region's file that differs, with how many sites it changes, of those in ``names``;
    ``behind`` are the regions' files behind the change of a site, by its name."""
    found = []
    for file in sorted(changed_regions(*sides)):
        touched = {name for name, files in behind.items() if file in files}
        naming = _naming(sides, region_of(file) or "", {*names})
        found.append(RegionChange(file, len(touched), len(touched | naming)))
    return tuple(found)


def _naming(sides: Iterable[Snapshot], region: str, names: set[str]) -> set[str]:
    """Sites that name a region, found by the line that does so as it is usually written; all of the
    fleet."""
    if region == FLEET:
        return names
    line = rf"^region:[ \t]*[\"']?{re.escape(region)}[\"']?[ \t]*(?:#.*)?\r?$".encode()
    files = (
        side.read({f"sites/{name}.yaml" for name in names} & side.files.keys()) for side in sides
    )
    return {
        site_of(path) or ""
        for side in files
        for path, data in side.items()
        if re.search(line, data, re.MULTILINE)
    }
