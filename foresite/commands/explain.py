"""``foresite explain``: what a value is, where it comes from, and which objects carry it; of a map
or a list, each value in it with its origin."""

import argparse
import json
from collections.abc import Iterator
from fnmatch import fnmatchcase
from functools import partial
from typing import Any

from pydantic_core import to_jsonable_python

from components.making.dump import dump
from components.making.manifest import Json
from components.making.patches import patches_of
from components.trace import Carriers, carriers
from foresite.command import OK, count, print_report, repository, show
from foresite.commands.check import read_site
from schemas.kubernetes.grouping import group_by_key
from schemas.kubernetes.masking import shorten
from schemas.model.patches import Patch
from schemas.model.primitives import Model
from schemas.reading.catalogue import catalogue_of
from schemas.resolve import Meaning, resolve

SHOWN = 12
"""Objects of one kind that are named; the others are counted."""
LEAVES, LONGEST = 100, 300
"""Values of a map that are shown, and characters of a text; what is over is counted, or cut."""
_WIDTH = 45
"""Columns up to which origins stand below each other, so that most lines fit a terminal."""

Line = tuple[str, str]
"""A line of YAML, and the path of the value in it; no path where it holds none."""


def run(options: argparse.Namespace) -> int:
    """Explain one path of one site; the site must be free of problems."""
    root = repository(options)
    site, document = read_site(root, options.site, options.format)
    hosts = (root / "sites" / f"{options.site}.hosts.csv").read_text(encoding="utf-8")
    find = partial(resolve, site, document, hosts, catalogue=catalogue_of(root))
    meaning = find(path=options.path)
    is_map = isinstance(meaning.value, Model | dict | list) and bool(meaning.value)
    lines = list(_block(meaning.value, meaning.path)) if is_map else []
    leaves = [path for _, path in lines if path]
    meant = ((path, find(path=path)) for path in leaves[:LEAVES])
    origins = {path: each.place or each.origin.value for path, each in meant}
    found = _carriers(site, meaning)
    patches = {f"patches[{number}]": each for number, each in _patches(site, found)}
    data = _as_data(meaning, found, origins, len(leaves), list(patches))
    print_report(options.format, data, _as_lines(meaning, found, is_map=is_map))
    if options.format != "json":
        for path, patch in patches.items():
            place = find(path=path).place
            show(f"  but:  {place} patches {patch.object} ({patch.owner}, until {patch.until}): ")
            show(f"        {', '.join(each.path for each in patch.operations)}; {patch.reason}")
        show(*_with_origins(lines, origins, len(leaves)), end="\n" if lines else "")
    return OK


def _block(value: Any, path: str) -> Iterator[Line]:
    """A map or a list as YAML, a line each; not cut yet."""
    if isinstance(value, list):
        for index, item in enumerate(value):
            below = list(_entry("-", item, f"{path}[{index}]"))
            if below[1:]:  # the first entry of a map stands behind the dash
                below[:2] = [(f"- {below[1][0].lstrip()}", below[1][1])]
            yield from below
        return
    for key, item in value if isinstance(value, Model) else value.items():
        step = f"[{key}]" if "." in key else f".{key}"
        yield from _entry(dump({key: None}).removesuffix(" null\n"), item, f"{path}{step}")


def _entry(label: str, value: Any, path: str) -> Iterator[Line]:
    if isinstance(value, Model | dict | list) and value:
        yield label, ""
        yield from ((f"  {text}", leaf) for text, leaf in _block(value, path))
        return
    plain = _plain(value)
    text = dump(shorten(plain, LONGEST) if isinstance(plain, str) else plain)
    yield f"{label} {text}".rstrip(), path


def _with_origins(lines: list[Line], origins: dict[str, str], total: int) -> Iterator[str]:
    width = min(_WIDTH, max((len(text) for text, path in lines if path in origins), default=0))
    for text, path in lines:
        if path and path not in origins:
            yield f"# and {total - LEAVES} more values: explain a longer path"
            return
        yield f"{text:{width}}  # {origins[path]}" if path else text


def _carriers(site: Any, meaning: Meaning) -> Carriers | None:
    """The objects that carry a value; None for maps, lists of maps and what is computed."""
    value, others = meaning.value, meaning.others
    if value and isinstance(value, list) and all(isinstance(each, str) for each in value):
        others = tuple(_other_lists(value))
    elif isinstance(value, dict | list | Model) or value is None:
        return None
    return None if meaning.change is None else carriers(site, value, meaning.change, others)


def _other_lists(items: list[str]) -> Iterator[list[str]]:
    """Lists of names without one of them, or with another one in its place."""
    for index, item in enumerate(items):
        yield [*items[:index], *items[index + 1 :]]
        yield [*items[:index], f"{item}x", *items[index + 1 :]]


def _plain(value: Any) -> Any:
    return to_jsonable_python(value, by_alias=False)


def _patches(site: Any, found: Carriers | None) -> Iterator[tuple[int, Patch]]:
    """The patches of objects that carry a value: there, they are the source of what they write."""
    for component, manifests in found.objects.items() if found else ():
        for number, each in patches_of(site, component):
            if any(fnmatchcase(manifest.name, each.object) for manifest in manifests):
                yield number, each


def _as_data(
    meaning: Meaning, found: Carriers | None, origins: dict[str, str], total: int,
    patches: list[str],
) -> Json:  # fmt: skip
    objects = found.objects.items() if found and found.known else None
    return {
        "path": meaning.path, "value": _plain(meaning.value), "description": meaning.description,
        "origin": meaning.origin.value, "place": meaning.place,
        "by": meaning.by or None, "replaces": meaning.replaces or None,
        "objects": None if objects is None else {k: [m.title for m in each] for k, each in objects},
        "origins": origins or None, "patches": patches, "origins_left_out": total - len(origins),
    }  # fmt: skip


def _as_lines(meaning: Meaning, found: Carriers | None, *, is_map: bool) -> list[str]:
    where = f", {meaning.place}" if meaning.place else ""
    value = "" if is_map else f" = {json.dumps(_plain(meaning.value), ensure_ascii=False)}"
    lines = [
        f"{meaning.path}{value}",
        f"  what: {meaning.description}",
        f"  from: {meaning.origin.value}{where}",
    ]
    lines += [f"  by:   {meaning.by}"] if meaning.by else []
    lines += [f"  not:  region, {meaning.replaces} (replaced)"] if meaning.replaces else []
    return [*lines, *_carrier_lines(found), *([""] if is_map else ())]


def _carrier_lines(found: Carriers | None) -> list[str]:
    if found is None:
        return []
    if not found.known:
        return ["  in:   unknown: no other value could be tried"]
    if not found.objects:
        return ["  in:   no object; it is used by checks, or to connect to a cluster"]
    lines = [f"  in:   {count(sum(map(len, found.objects.values())), 'object')}"]
    for component, manifests in found.objects.items():
        for group in group_by_key((each.kind, each) for each in manifests).values():
            lines += [f"        {component}: {each.title}" for each in group[:SHOWN]]
            if len(group) > SHOWN:
                lines.append(f"        {component}: and {len(group) - SHOWN} more {group[0].kind}s")
    return lines
