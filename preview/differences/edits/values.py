"""The edited values between two sides of a site: each value, its place, and how to apply it alone.
Comments, formatting and the order of keys are no edit; items of lists are told by name."""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from copy import deepcopy
from dataclasses import replace
from functools import lru_cache, reduce
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
    """A value that differs: where it is on each side (None: not there), and what it is. ``order``:
    a list's names on each side where only their order differs."""

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


Make = Callable[[Site, bool, Any], Site]
"""A site with a document as it stands after one edit; True where the edit is done, not undone."""


def _of_documents(
    before: Document | None, after: Document | None, make: Make, below: Path = ()
) -> Iterator[Edit]:
    """Edits of a document that both sides have, as far as they are ``below`` a path."""
    if before is None or after is None:
        return
    for value in _values_of(before, after):
        at = value.after_at or value.before_at or ()
        if at[: len(below)] != below:
            continue

        def apply(site: Site, forward: bool, value: _Value = value) -> Site:
            document, wanted = (before, value) if forward else (after, _mirror(value))
            return make(site, forward, _put(document.value, wanted))

        yield Edit(_cause(before, after, value), apply)


def _of_file(before: Input, after: Input) -> Iterator[Edit]:
    def make(site: Site, forward: bool, changed: Any) -> Site:
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

    return _of_documents(before.document, after.document, make)


def _own_models(file: SiteFile) -> Mapping[str, AcceleratorModel]:
    return file.accelerators.models if file.accelerators else {}


def _of_catalogue(before: Input, after: Input) -> Iterator[Edit]:
    """Edits of what the site uses from the catalogue."""
    for part, name in _entries_used((before.site, after.site)):
        old, new = (getattr(side.site, part).get(name) for side in (before, after))
        if old == new:
            continue

        def make(site: Site, forward: bool, _: Any, part: str = part, name: str = name) -> Site:
            wanted = getattr((after if forward else before).site, part)
            changed: dict[str, Any] = {part: {**getattr(site, part), name: wanted[name]}}
            return replace(site, **changed)

        first, second = (
            catalogue_document(f"{part}.yaml", (part, name), catalogue_of(side.folder))
            for side in (before, after)
        )
        yield from _of_documents(first, second, make, (part, name))


def _entries_used(sites: Sequence[Site]) -> Iterator[tuple[str, str]]:
    """The entries of the catalogue that sites use: its part, which is also a file's name, its top
    key and a field of a site, and the entry's name."""
    pools = [(site, pool.hardware) for site in sites for pool in site.file.pools]
    profiles = [site.hardware.get(name) for site, name in pools if site.file.accelerators]
    models = {each.accelerators.model for each in profiles if each and each.accelerators}
    own = {name for site in sites for name in site.file.hardware}
    yield from (("hardware", name) for name in sorted({name for _, name in pools} - own))
    own = {name for site in sites for name in _own_models(site.file)}
    yield from (("accelerators", name) for name in sorted(models - own))


def _of_release(before: Input, after: Input) -> Iterator[Edit]:
    """Edits of the release that both sides name."""
    name = before.site.file.release
    if name != after.site.file.release or before.site.release == after.site.release:
        return iter(())

    def make(site: Site, _: bool, changed: Any) -> Site:
        return replace(site, release=Release.model_validate(changed))

    first, second = (
        catalogue_document(f"releases/{name}.yaml", (), catalogue_of(side.folder))
        for side in (before, after)
    )
    return _of_documents(first, second, make)


def _of_management(before: Input, after: Input) -> Iterator[Edit]:
    """Edits of the management cluster that both sides name, and of the manifests that it names."""
    found = [read_management(each.folder, before.site.file.management) for each in (before, after)]
    first, second = (each.document if each else None for each in found)
    mine, theirs = before.site.managed, after.site.managed
    if first is None or second is None or not theirs or not mine or theirs.name != mine.name:
        return

    def make(site: Site, forward: bool, changed: Any) -> Site:
        file, now = ManagementFile.model_validate(changed), site.managed or mine
        other = theirs if forward else mine
        release = now.release if file.release == now.file.release else other.release
        return replace(site, managed=Managed(file, release, {**other.texts, **now.texts}))

    yield from _of_documents(first, second, make)
    for path in sorted(mine.texts.keys() & theirs.texts.keys()):
        if mine.texts[path] != theirs.texts[path]:

            def exchange(site: Site, forward: bool, path: str = path) -> Site:
                now, other = site.managed or mine, theirs if forward else mine
                return replace(
                    site, managed=replace(now, texts={**now.texts, path: other.texts[path]})
                )

            yield Edit(Cause(f"{FOLDER}/{path}", 1, 1, path, "", "other content"), exchange)


@lru_cache(maxsize=16)  # of what many sites name, once
def _values_of(before: Document, after: Document) -> tuple[_Value, ...]:
    return tuple(_values(before.value, after.value, (), ()))


def _values(before: Any, after: Any, old: Path, new: Path) -> Iterator[_Value]:
    """The values that differ, as deep down as both sides have the same shape."""
    mine, theirs = _steps(before), _steps(after)
    alike = isinstance(before, dict) is isinstance(after, dict)
    if mine is None or theirs is None or not alike:
        if type(before) is not type(after) or before != after:
            yield _Value(old, new, before, after)
        return
    for name in dict.fromkeys((*theirs, *mine)):
        if name not in mine:
            yield _Value(None, (*new, theirs[name]), None, after[theirs[name]])
        elif name not in theirs:
            yield _Value((*old, mine[name]), None, before[mine[name]], None)
        else:
            i, j = mine[name], theirs[name]
            yield from _values(before[i], after[j], (*old, i), (*new, j))
    if isinstance(before, list):
        yield from _order(before, after, old, new)


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


def _steps(value: Any) -> dict[str, Any] | None:
    """The step to each entry of a map, and to each item of a list by the item's name; None for a
    value that is neither, or a list of which not each item has a name of its own."""
    if isinstance(value, dict):
        return {key: key for key in value}
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
