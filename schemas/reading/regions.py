"""A site's document and its region's as one: what the site does not say, the region may.

``regions/<region>.yaml`` is read and judged once, however many sites name it. A key of the closed
list (schemas/model/region.py) that the site writes replaces the region's whole value; nothing is
merged. A region has no region, and only sites name bundles. Paths of files in a region are those
of a site: below sites/. What ``regions/fleet.yaml`` brings, every site has beside its own.
"""

import functools
import re
import textwrap
from collections.abc import Iterator
from dataclasses import replace
from typing import Any, NamedTuple

from schemas.kubernetes.masking import shorten
from schemas.model.codes import Code
from schemas.model.primitives import DnsLabel
from schemas.model.problem import Problem, whole_file
from schemas.model.region import BUNDLED, KEYS, RegionFile, is_required, section_of
from schemas.model.site_file import SiteFile
from schemas.model.texts import nearest, words
from schemas.reading.document import Given
from schemas.reading.literal_secrets import in_file, merge_literals
from schemas.reading.paths import each_at, leaves
from schemas.reading.site_files import SITE_FILE, names_in, read
from schemas.reading.tree import Folder, Refused
from schemas.reading.typed_document import TODO, parse, place, readable, value_at
from schemas.reading.wording import pattern_of
from schemas.reading.yaml_reader import Document, Path, read_yaml

FOLDER = "regions"
_USELESS = "its sites would get nothing of it"
FLEET = "fleet"
"""Name of the file of all sites; no region has it."""
FLEET_FILE = f"{FOLDER}/{FLEET}{SITE_FILE}"
_BROUGHT: Path = ("extra",)
"""The one key of that file."""
_NOTHING = object()


class Region(NamedTuple):
    """The file of a region, as far as it can be read, and its problems."""

    document: Document | None
    problems: tuple[Problem, ...]


def read_region(root: Folder, name: str) -> Region | None:
    """The region of that name; None where there is no such file: then the name is free text."""
    data = read(root / FOLDER, name + SITE_FILE, FOLDER)
    if not isinstance(data, Refused):
        return _judge(data, f"{FOLDER}/{name}{SITE_FILE}")
    if data.code is Code.FILE_MISSING:
        return None
    return Region(None, (whole_file(f"{FOLDER}/{name}{SITE_FILE}", *data),))


def region_problems(root: Folder) -> list[Problem]:
    """The problems of all files in regions/, also of those that no site names, and a fleet.yml,
    whose settings would silently do nothing."""
    other = read(root, "fleet.yml", ".")
    absent = isinstance(other, Refused) and other.code is Code.FILE_MISSING
    found = [] if absent else [whole_file("fleet.yml", *words("fleet-of-other-ending"))]
    for name in names_in(root / FOLDER):
        region, shown = read_region(root, name), f"{FOLDER}/{shorten(name, 200)}{SITE_FILE}"
        if _is_name(name) and region is not None:
            found += region.problems
        else:
            fault = "region-of-other-ending" if _is_name(name) else "region-unnamable"
            found.append(replace(whole_file(shown, *words(fault)), reason=_USELESS))
    return found


@functools.lru_cache(maxsize=64)
def _judge(data: bytes, file: str) -> Region:
    """The region of a content; many sites ask for the same one."""
    document, problems = read_yaml(data, file)
    problems += in_file(file, data)
    problems += parse(RegionFile, document)[1] if document else []
    if document and _is_fleet(document) and isinstance(document.value, dict):
        others = [key for key in document.value if key not in _BROUGHT]
        problems += (place(document, (key,), *words("fleet-key", key)) for key in others)
    return Region(document, tuple(merge_literals(map(_explain, problems))))


def _explain(problem: Problem) -> Problem:
    """A field that only sites have is not unknown: say whose it is."""
    first, _, second = problem.path.partition(".")
    field = SiteFile.model_fields.get(first)
    section = section_of(field) if field else None
    if problem.code is Code.FILE_EMPTY:
        return replace(problem, reason=_USELESS)
    if problem.code is Code.WRONG_TYPE and (first, second) in BUNDLED.values():
        return replace(problem, fix="write the value out: only a site can name a bundle")
    if problem.code is not Code.UNKNOWN_FIELD or not field:
        return problem
    if second and (section is None or second not in section.model_fields):
        return problem
    message = f"{problem.path} is for a site to say, and not for a region"
    known = textwrap.shorten(", ".join(map(".".join, KEYS)), 130, placeholder=" …")
    fix = f"write it into the sites' files; a region may say {known}"
    if problem.path == "region":
        message, fix = "a region has no region: there is one level", "remove it"
    return replace(problem, message=message, fix=fix)


def _is_name(name: Any) -> bool:
    return isinstance(name, str) and bool(re.fullmatch(pattern_of(DnsLabel), name))


def with_region(root: Folder, site: Document) -> tuple[Document | None, list[Problem]]:
    """A site's document with what its region and the fleet say, and the problems of all being one;
    None where one cannot be read, so that nothing can be said of what the site lacks."""
    document, problems = _with_own(root, site)
    fleet = read_region(root, FLEET)
    if document is None or fleet is None:
        return document, problems
    joined = _with_fleet(document, fleet.document) if fleet.document else None
    return joined, [*problems, *fleet.problems]


def _with_fleet(document: Document, fleet: Document) -> Document:
    """The document with what every site brings after its own."""
    every, own = _at(fleet.value, _BROUGHT), _at(document.value, _BROUGHT)
    mine = [] if own is _NOTHING else own
    if not isinstance(every, list) or not isinstance(mine, list):
        return document
    given = dict(document.given)
    if region := given.pop(_BROUGHT, None):
        given |= {
            (*_BROUGHT, n): Given(region.document, (*region.path, n)) for n in range(len(mine))
        }
    for n in range(len(every)):
        given[*_BROUGHT, len(mine) + n] = Given(fleet, (*_BROUGHT, n))
    return replace(document, value=_put(document.value, _BROUGHT, [*mine, *every]), given=given)


def _is_fleet(document: Document) -> bool:
    return document.file == FLEET_FILE


def _with_own(root: Folder, site: Document) -> tuple[Document | None, list[Problem]]:
    name = site.value.get("region") if isinstance(site.value, dict) else None
    if not isinstance(name, str) or not _is_name(name) or name == FLEET:
        return site, []  # a wrong value is told as such
    region = read_region(root, name)
    if region is None:
        return site, []
    if region.document is None:
        return None, list(region.problems)
    document, faults = _compose(site, region.document)
    return document, [*region.problems, *faults]


def misspelt_region(root: Folder, site: Document) -> Iterator[Problem]:
    """A hint where a site's region has no file, and one with almost that name has."""
    name, known = _at(site.value, ("region",)), names_in(root / FOLDER)
    near = nearest(name, known) if isinstance(name, str) and name not in known else None
    if near:
        yield place(site, ("region",), *words("region-unknown", shorten(name), near))


# Both states of a repository have most files alike. What is kept here is never changed.
@functools.lru_cache(maxsize=4)
def _compose(site: Document, region: Document) -> tuple[Document, tuple[Problem, ...]]:
    """The two documents as one, and the bundles that there are not."""
    value, theirs = site.value, region.value
    given: dict[Path, Given] = {}
    replaced: dict[Path, Given] = {}
    for key in KEYS:
        said, mine = _at(theirs, key), _at(value, key)
        there = isinstance(_at(value, key[:-1]), dict)
        there |= is_required(key) and _at(value, key[:1]) is _NOTHING
        if said is not _NOTHING and there:
            (given if mine is _NOTHING else replaced)[key] = Given(region, key)
            value = _put(value, key, said) if mine is _NOTHING else value
    faults = []
    for kind, pattern in BUNDLED.items():
        bundles = _at(theirs, ("bundles", kind))
        for path, name in each_at(site.value, ".".join(pattern)):
            if not isinstance(name, str) or not isinstance(bundles, dict):
                continue
            if name in bundles:
                given[path] = Given(region, ("bundles", kind, name))
                value = _put(value, path, bundles[name])
            elif not name.startswith(TODO):
                near = nearest(name, bundles)
                fix = f"write {near}" if near else f"bundles here: {', '.join(bundles) or 'none'}"
                said = words("bundle-unknown", region.file, shorten(name), kind, fix)
                faults.append(place(site, path, *said))
    return replace(site, value=value, given=given, replaced=replaced), tuple(faults)


def _at(value: Any, path: Path) -> Any:
    for step in path:
        value = value.get(step, _NOTHING) if isinstance(value, dict) else _NOTHING
    return value


def _put(value: Any, path: Path, new: Any) -> Any:
    """A copy of ``value`` with another one at ``path``."""
    if not path:
        return new
    if isinstance(value, list):
        return [_put(e, path[1:], new) if i == path[0] else e for i, e in enumerate(value)]
    return {**value, path[0]: _put(value.get(path[0], {}), path[1:], new)}


def naming(document: Document, path: Path) -> str:
    """The place in a site's file by which another file says the value at ``path``: where it names
    its region, or a bundle; empty where its own file says it."""
    source, start = document.origin(path)
    if source is document:
        return ""
    at: Path = ("site",) if _is_fleet(source) else ("region",)
    if start[0] == "bundles":
        at = path[: len(path) - len(start) + 3]
    line, column = document.position(at)
    return f"{document.file}:{line}:{column} {readable(document, at)}"


def is_idle(document: Document, path: Path, code: Code) -> bool:
    """True for a finding that a region's whole value does nothing here; others use it."""
    return path in document.given and code.value.endswith("-meaningless")


def name_both(document: Document, path: Path, problem: Problem) -> Problem:
    """A site's problem at ``path``: where a region says that value, both files are named."""
    named = naming(document, path)
    if not named:
        return problem
    if _is_fleet(document.origin(path).document):
        return replace(problem, also=(named, *problem.also))
    keys = (path[:size] for size in range(1, len(path) + 1) if path[:size] in document.given)
    key = next(keys, path)
    fix = f"{problem.fix}; or write {readable(document, key)} in the site's own file"
    return replace(problem, fix=fix, also=(named, *problem.also))


def mention(document: Document, problem: Problem) -> Problem:
    """A problem in a site's own files, with the places of the region's values that it shows."""
    shown = []
    if problem.file != next((each.document.file for each in document.given.values()), problem.file):
        given = ((value_at(document, path), path) for path in document.given)
        for path, value in (leaf for each in given for leaf in leaves(*each)):
            text = re.escape(str(value))
            names = not isinstance(value, bool) and len(str(value)) > 4
            if names and re.search(rf"(?<![\w.]){text}(?!\w)", problem.message):
                shown.append(
                    ":".join(map(str, document.place(path))) + f" {readable(document, path)}"
                )
    return replace(problem, also=(*problem.also, *shown)) if shown else problem


def replaced(document: Document, path: Path) -> str:
    """The place of the region's value that the site's own at ``path`` replaces; or empty."""
    ends = (document.replaced.get(path[:size]) for size in range(1, len(path) + 1))
    return next((":".join(map(str, other.place(at))) for other, at in filter(None, ends)), "")


def own_problems(document: Document, read: list[Problem], typed: list[Problem]) -> list[Problem]:
    """Of the problems of a site's types those that are not told yet: those of a region's values are
    told with the region, and a name of no bundle as such."""
    names = {(e.line, e.column) for e in read if e.code is Code.UNKNOWN_BUNDLE}
    own = (each for each in typed if each.file == document.file)
    return [each for each in own if (each.line, each.column) not in names]
