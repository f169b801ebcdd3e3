"""The edited values between two sides of a site: each value, its place, and how to apply it alone.

Compared are values, not lines: comments, formatting and the order of keys are no edit. Items of
lists are told apart by their name.
"""

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from copy import deepcopy
from dataclasses import replace
from functools import reduce
from operator import getitem
from typing import Any, NamedTuple

from preview.differences.edits.edit import SHOWN, Edit, Input
from preview.differences.edits.hosts import host_edits
from preview.differences.edits.texts import text_edits
from preview.result import Cause
from schemas.facts.management import Managed
from schemas.facts.site import Site
from schemas.kubernetes.masking import shorten
from schemas.model.accelerators import AcceleratorModel
from schemas.model.management import FOLDER, ManagementFile
from schemas.model.release import Release
from schemas.model.site_file import SiteFile
from schemas.reading.catalogue import catalogue_document, catalogue_of
from schemas.reading.typed_document import readable
from schemas.reading.yaml_reader import Document, Path
from schemas.rules.management import read_management


class _Value(NamedTuple):
    """A value that differs: where it is on each side (None: not there), and what it is.

    ``order`` are the names of a list's items on each side where only their order differs.
    """

    before_at: Path | None
    after_at: Path | None
    before: Any
    after: Any
    order: tuple[str, str] | None = None


def edits(before: Input, after: Input) -> list[Edit]:
    """Every edit between two sides, in the order of the files."""
    return [
        *_of_file(before, after),
        *host_edits(before, after),
        *_of_catalogue(before, after),
        *_of_release(before, after),
        *_of_management(before, after),
        *text_edits(before.site.texts, after.site.texts),
    ]


def _of_file(before: Input, after: Input) -> Iterator[Edit]:
    raw = {True: before.document.value, False: after.document.value}
    for value in _values(before.document.value, after.document.value, (), ()):

        def apply(site: Site, forward: bool, value: _Value = value) -> Site:
            changed = _put(raw[forward], value if forward else _mirror(value))
            file = SiteFile.model_validate(changed)
            other = after.site if forward else before.site
            release = site.release if file.release == site.file.release else other.release
            return replace(
                site,
                file=file,
                release=release,
                hardware={**site.hardware, **file.hardware},
                accelerators={**site.accelerators, **_own_models(file)},
                texts={**other.texts, **site.texts},
            )

        yield Edit(_cause(before.document, after.document, value), apply)


def _own_models(file: SiteFile) -> Mapping[str, AcceleratorModel]:
    return file.accelerators.models if file.accelerators else {}


class _Shared(NamedTuple):
    """A part of the catalogue: its file and top key, also the name of a site's field, and which of
    its entries a site uses."""

    name: str
    used: Callable[[Site], Iterable[str]]
    own: Callable[[Site], Iterable[str]]


_CATALOGUE = (
    _Shared(
        "hardware",
        lambda site: (pool.hardware for pool in site.file.pools),
        lambda site: site.file.hardware,
    ),
    _Shared(
        "accelerators",
        lambda site: (
            has.accelerators.model
            for pool in site.file.pools
            if site.file.accelerators and (has := site.hardware.get(pool.hardware))
            if has.accelerators
        ),
        lambda site: _own_models(site.file),
    ),
)


def _of_catalogue(before: Input, after: Input) -> Iterator[Edit]:
    """Edits of what the site uses from the catalogue."""
    for part in _CATALOGUE:
        sides = (before.site, after.site)
        used = {name for site in sides for name in part.used(site)}
        own = {name for site in sides for name in part.own(site)}
        old, new = (getattr(site, part.name) for site in sides)
        for name in sorted(used - own):
            if old.get(name) != new.get(name):
                yield from _of_part(part.name, name, before, after)


def _of_part(part: str, name: str, before: Input, after: Input) -> Iterator[Edit]:
    first, second = (
        catalogue_document(f"{part}.yaml", (part, name), catalogue_of(side.folder))
        for side in (before, after)
    )
    if first is None or second is None:
        return
    for value in _values(first.value, second.value, (), ()):
        at = value.after_at or value.before_at or ()
        if at[:2] != (part, name):
            continue

        def apply(site: Site, forward: bool) -> Site:
            wanted = getattr((after if forward else before).site, part)
            changed: dict[str, Any] = {part: {**getattr(site, part), name: wanted[name]}}
            return replace(site, **changed)

        yield Edit(_cause(first, second, value), apply)


def _of_release(before: Input, after: Input) -> Iterator[Edit]:
    """Edits of the release that both sides name."""
    name = before.site.file.release
    if name != after.site.file.release or before.site.release == after.site.release:
        return
    path = f"releases/{name}.yaml"
    first = catalogue_document(path, (), catalogue_of(before.folder))
    second = catalogue_document(path, (), catalogue_of(after.folder))
    if first is None or second is None:
        return
    raw = {True: first.value, False: second.value}
    for value in _values(first.value, second.value, (), ()):

        def apply(site: Site, forward: bool, value: _Value = value) -> Site:
            changed = _put(raw[forward], value if forward else _mirror(value))
            return replace(site, release=Release.model_validate(changed))

        yield Edit(_cause(first, second, value), apply)


def _of_management(before: Input, after: Input) -> Iterator[Edit]:
    """Edits of the management cluster that both sides name, and of the manifests that it names."""
    sides = {True: after.site.managed, False: before.site.managed}
    found = [read_management(each.folder, before.site.file.management) for each in (before, after)]
    first, second = (each.document if each else None for each in found)
    theirs, mine = sides[True], sides[False]
    if first is None or second is None or not theirs or not mine or theirs.name != mine.name:
        return
    raw = {True: first.value, False: second.value}
    for value in _values(raw[True], raw[False], (), ()):

        def apply(site: Site, forward: bool, value: _Value = value) -> Site:
            changed = _put(raw[forward], value if forward else _mirror(value))
            file, now = ManagementFile.model_validate(changed), site.managed or mine
            other = theirs if forward else mine
            release = now.release if file.release == now.file.release else other.release
            return replace(site, managed=Managed(file, release, {**other.texts, **now.texts}))

        yield Edit(_cause(first, second, value), apply)
    for path in sorted(mine.texts.keys() & theirs.texts.keys()):
        if mine.texts[path] != theirs.texts[path]:

            def exchange(site: Site, forward: bool, path: str = path) -> Site:
                now, other = site.managed or mine, theirs if forward else mine
                return replace(
                    site, managed=replace(now, texts={**now.texts, path: other.texts[path]})
                )

            yield Edit(Cause(f"{FOLDER}/{path}", 1, 1, path, "", "other content"), exchange)


def _values(before: Any, after: Any, old: Path, new: Path) -> Iterator[_Value]:
    """The values that differ, as deep down as both sides have the same shape."""
    mine, theirs = (_name_indexes(side) for side in (before, after))
    if isinstance(before, dict) and isinstance(after, dict):
        for key in dict.fromkeys((*after, *before)):
            if key not in before:
                yield _Value(None, (*new, key), None, after[key])
            elif key not in after:
                yield _Value((*old, key), None, before[key], None)
            else:
                yield from _values(before[key], after[key], (*old, key), (*new, key))
    elif mine is not None and theirs is not None:
        for name in dict.fromkeys((*theirs, *mine)):
            if name not in mine:
                yield _Value(None, (*new, theirs[name]), None, after[theirs[name]])
            elif name not in theirs:
                yield _Value((*old, mine[name]), None, before[mine[name]], None)
            else:
                i, j = mine[name], theirs[name]
                yield from _values(before[i], after[j], (*old, i), (*new, j))
        yield from _order(before, after, old, new)
    elif type(before) is not type(after) or before != after:
        yield _Value(old, new, before, after)


def _order(before: list[Any], after: list[Any], old: Path, new: Path) -> Iterator[_Value]:
    """The order of the items that both lists have, where it differs."""
    names = [[item["name"] for item in items] for items in (before, after)]
    mine = [name for name in names[0] if name in names[1]]
    theirs = [name for name in names[1] if name in names[0]]
    if mine != theirs:
        sides = (_sort_items(after, mine), _sort_items(before, theirs))
        yield _Value(old, new, *sides, (", ".join(mine), ", ".join(theirs)))


def _sort_items(items: list[Any], names: list[str]) -> list[Any]:
    """The items in the order of some of their names, then the others."""
    known = {item["name"]: item for item in items}
    return [*(known[name] for name in names), *(i for i in items if i["name"] not in names)]


def _name_indexes(value: Any) -> dict[str, int] | None:
    """The index of each item by its name; None for a value that is no list of named maps."""
    if not isinstance(value, list) or not value:
        return None
    names = [item.get("name") if isinstance(item, dict) else None for item in value]
    texts = [name for name in names if isinstance(name, str)]
    return {n: i for i, n in enumerate(texts)} if len(set(texts)) == len(value) else None


def _mirror(value: _Value) -> _Value:
    return _Value(value.after_at, value.before_at, value.after, value.before, value.order)


def _put(data: Any, value: _Value) -> Any:
    """A copy of ``data``, which is the before side, with one value as the other side has it."""
    at = value.before_at if value.before_at is not None else value.after_at
    if not at:
        return value.after
    data = deepcopy(data)
    parent, last = reduce(getitem, at[:-1], data), at[-1]
    if value.after_at is None:
        del parent[last]
    elif value.before_at is None and isinstance(parent, list):
        # An item that is new goes to its place, or to the end.
        parent.insert(int(last), value.after)
    else:
        parent[last] = value.after
    return data


def _cause(before: Document, after: Document, value: _Value) -> Cause:
    gone = value.after_at is None
    document = before if gone else after
    at = (value.before_at if gone else value.after_at) or ()
    if value.order:
        was, now = (shorten(f"[{names}]", SHOWN) for names in value.order)
        return Cause(*document.place(at), readable(document, at), was, now)
    was = _text(value.before) if value.before_at is not None else ""
    now = "" if gone else _text(value.after)
    # Where an entry of a map comes or goes as a whole its key is the place.
    entry = value.before_at is None or (gone and bool(at) and isinstance(at[-1], str))
    return Cause(*document.place(at, key=entry), readable(document, at), was, now, gone)


def _text(value: Any) -> str:
    if isinstance(value, Mapping | list):
        return shorten(json.dumps(value, ensure_ascii=False), SHOWN)
    return shorten(value if isinstance(value, str) else json.dumps(value), SHOWN)
