"""What was edited between two sides of a site: each value, its place, and how to do it alone.

Compared are values, not lines: comments, formatting and the order of keys are no edit. Items of
lists are told apart by their name.
"""

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path as FilePath
from typing import Any, NamedTuple

from preview.result import Cause
from schemas.catalogued import catalogue_document, catalogue_of
from schemas.hostlist import COLUMNS, Host, cell_column
from schemas.problem import shorten
from schemas.reader import Document, Path
from schemas.release import Release
from schemas.site import Site
from schemas.sitefile import SiteFile
from schemas.typed import readable

SHOWN = 80
"""Characters of a value that are shown."""


class Input(NamedTuple):
    """One side of a site that is free of problems; ``folder`` holds its files."""

    site: Site
    document: Document
    folder: FilePath


class Edit(NamedTuple):
    """One value that was edited. ``host`` is the name of the host whose line it is in, or empty.

    ``apply`` makes of either side's site the one with this edit alone done (True) or undone
    (False). It raises ValueError or LookupError where that is no site.
    """

    cause: Cause
    apply: Callable[[Site, bool], Site]
    host: str = ""


class _Value(NamedTuple):
    """A value that differs: where it is on each side (None: not there), and what it is."""

    before_at: Path | None
    after_at: Path | None
    before: Any
    after: Any


def edits(before: Input, after: Input) -> list[Edit]:
    """Every edit between two sides, in the order of the files."""
    return [
        *_of_file(before, after),
        *_of_hosts(before, after),
        *_of_hardware(before, after),
        *_of_release(before, after),
        *_of_texts(before, after),
    ]


def _of_file(before: Input, after: Input) -> Iterator[Edit]:
    raw = {True: before.document.value, False: after.document.value}
    for value in _values(before.document.value, after.document.value, (), ()):

        def apply(site: Site, forward: bool, value: _Value = value) -> Site:
            changed = _put(raw[forward], value if forward else _mirrored(value))
            file = SiteFile.model_validate(changed)
            other = after.site if forward else before.site
            release = site.release if file.release == site.file.release else other.release
            return replace(
                site,
                file=file,
                release=release,
                hardware={**site.hardware, **file.hardware},
                texts={**other.texts, **site.texts},
            )

        yield Edit(_cause(before.document, after.document, value), apply)


def _of_hosts(before: Input, after: Input) -> Iterator[Edit]:
    sides = [_HostText.of(before), _HostText.of(after)]
    old = {host.name: host for host in before.site.hosts}
    new = {host.name: host for host in after.site.hosts}
    for name in dict.fromkeys((*new, *old)):
        mine, theirs = old.get(name), new.get(name)
        if mine is not None and theirs is not None and mine[:-1] == theirs[:-1]:
            continue

        def apply(
            site: Site, forward: bool, mine: Host | None = mine, theirs: Host | None = theirs
        ) -> Site:
            wanted = theirs if forward else mine
            name = (mine or theirs or site.hosts[0]).name
            hosts = [h for h in site.hosts if h.name != name]
            return replace(site, hosts=(*hosts, wanted) if wanted else tuple(hosts))

        for cause in _host_causes(mine, theirs, sides):
            yield Edit(cause, apply, name)


class _HostText(NamedTuple):
    """The lines of a host list, to say where a cell stands."""

    file: str
    lines: list[str]

    @classmethod
    def of(cls, side: Input) -> "_HostText":
        file = f"sites/{side.site.name}.hosts.csv"
        return cls(file, (side.folder / file).read_text(encoding="utf-8").split("\n"))

    def column(self, host: Host, name: str) -> int:
        header = self.lines[0].rstrip("\r").split(",")
        return cell_column(self.lines[host.line - 1], header, name)


def _host_causes(
    mine: Host | None, theirs: Host | None, sides: list[_HostText]
) -> Iterator[Cause]:
    if mine is None and theirs is not None:
        yield Cause(sides[1].file, theirs.line, 1, f"hosts.{theirs.name}", "", "a new line")
    elif theirs is None and mine is not None:
        yield Cause(sides[0].file, mine.line, 1, f"hosts.{mine.name}", "its line", "", gone=True)
    elif mine is not None and theirs is not None:
        for name in COLUMNS:
            old, new = getattr(mine, name), getattr(theirs, name)
            if old != new:
                at = (sides[1].file, theirs.line, sides[1].column(theirs, name))
                yield Cause(*at, f"hosts.{theirs.name}.{name}", old, new)


def _of_hardware(before: Input, after: Input) -> Iterator[Edit]:
    """Edits of profiles in the catalogue that the site uses."""
    used = {pool.hardware for side in (before, after) for pool in side.site.file.pools}
    own = before.site.file.hardware.keys() | after.site.file.hardware.keys()
    names = sorted(
        name
        for name in used - own
        if before.site.hardware.get(name) != after.site.hardware.get(name)
    )
    if not names:
        return
    first = catalogue_document("hardware.yaml", catalogue_of(before.folder))
    second = catalogue_document("hardware.yaml", catalogue_of(after.folder))
    for name in names:

        def apply(site: Site, forward: bool, name: str = name) -> Site:
            wanted = (after if forward else before).site.hardware
            return replace(site, hardware={**site.hardware, name: wanted[name]})

        if first is None or second is None:
            continue
        for value in _values(first.value, second.value, (), ()):
            if (value.after_at or value.before_at or ())[:2] == ("hardware", name):
                yield Edit(_cause(first, second, value), apply)


def _of_release(before: Input, after: Input) -> Iterator[Edit]:
    """Edits of the release that both sides name."""
    name = before.site.file.release
    if name != after.site.file.release or before.site.release == after.site.release:
        return
    path = f"releases/{name}.yaml"
    first = catalogue_document(path, catalogue_of(before.folder))
    second = catalogue_document(path, catalogue_of(after.folder))
    if first is None or second is None:
        return
    raw = {True: first.value, False: second.value}
    for value in _values(first.value, second.value, (), ()):

        def apply(site: Site, forward: bool, value: _Value = value) -> Site:
            changed = _put(raw[forward], value if forward else _mirrored(value))
            return replace(site, release=Release.model_validate(changed))

        yield Edit(_cause(first, second, value), apply)


def _of_texts(before: Input, after: Input) -> Iterator[Edit]:
    """Edits of files that both sides name."""
    mine, theirs = before.site.texts, after.site.texts
    for path in sorted(mine.keys() & theirs.keys()):
        if mine[path] == theirs[path]:
            continue

        def apply(site: Site, forward: bool, path: str = path) -> Site:
            return replace(site, texts={**site.texts, path: (theirs if forward else mine)[path]})

        old, new = mine[path].splitlines(), theirs[path].splitlines()
        pairs = enumerate(zip(old, new, strict=False))
        line = next((i for i, (a, b) in pairs if a != b), min(len(old), len(new)))
        at = min(line + 1, max(1, len(new)))
        said = (_line(old, line), _line(new, line))
        yield Edit(Cause(f"sites/{path}", at, 1, path, *said), apply)


def _line(lines: list[str], index: int) -> str:
    return shorten(lines[index].strip(), SHOWN) if index < len(lines) else ""


def _values(before: Any, after: Any, old: Path, new: Path) -> Iterator[_Value]:
    """The values that differ, as deep down as both sides have the same shape."""
    if isinstance(before, dict) and isinstance(after, dict):
        for key in dict.fromkeys((*after, *before)):
            if key not in before:
                yield _Value(None, (*new, key), None, after[key])
            elif key not in after:
                yield _Value((*old, key), None, before[key], None)
            else:
                yield from _values(before[key], after[key], (*old, key), (*new, key))
    elif (mine := _named(before)) is not None and (theirs := _named(after)) is not None:
        for name in dict.fromkeys((*theirs, *mine)):
            if name not in mine:
                yield _Value(None, (*new, theirs[name]), None, after[theirs[name]])
            elif name not in theirs:
                yield _Value((*old, mine[name]), None, before[mine[name]], None)
            else:
                i, j = mine[name], theirs[name]
                yield from _values(before[i], after[j], (*old, i), (*new, j))
    elif type(before) is not type(after) or before != after:
        yield _Value(old, new, before, after)


def _named(value: Any) -> dict[str, int] | None:
    """The index of each item by its name; None for what is no list of named maps."""
    if not isinstance(value, list) or not value:
        return None
    names = [item.get("name") if isinstance(item, dict) else None for item in value]
    texts = [name for name in names if isinstance(name, str)]
    return {n: i for i, n in enumerate(texts)} if len(set(texts)) == len(value) else None


def _mirrored(value: _Value) -> _Value:
    return _Value(value.after_at, value.before_at, value.after, value.before)


def _put(data: Any, value: _Value) -> Any:
    """A copy of ``data``, which is the before side, with one value as the other side has it."""
    if value.before_at is None:
        return _changed(data, value.after_at or (), lambda parent, step: _with(parent, step, value))
    if value.after_at is None:
        return _changed(data, value.before_at, _without)
    if not value.before_at:
        return value.after
    return _changed(data, value.before_at, lambda parent, step: _replaced(parent, step, value))


def _changed(data: Any, at: Path, change: Callable[[Any, Any], Any]) -> Any:
    """A copy of ``data`` whose part around the last step of a path is changed."""
    if len(at) == 1:
        return change(data, at[0])
    inner = _changed(data[at[0]], at[1:], change)
    if isinstance(data, list):
        return [inner if index == at[0] else item for index, item in enumerate(data)]
    return {**data, at[0]: inner}


def _with(parent: Any, step: Any, value: _Value) -> Any:
    if isinstance(parent, list):  # an item that is new goes to its place, or to the end
        return [*parent[:step], value.after, *parent[step:]]
    return {**parent, step: value.after}


def _without(parent: Any, step: Any) -> Any:
    if isinstance(parent, list):
        return [item for index, item in enumerate(parent) if index != step]
    return {key: item for key, item in parent.items() if key != step}


def _replaced(parent: Any, step: Any, value: _Value) -> Any:
    if isinstance(parent, list):
        return [value.after if index == step else item for index, item in enumerate(parent)]
    return {**parent, step: value.after}


def _cause(before: Document, after: Document, value: _Value) -> Cause:
    gone = value.after_at is None
    document = before if gone else after
    at = (value.before_at if gone else value.after_at) or ()
    return Cause(
        document.file,
        *document.position(at, key=value.before_at is None),
        readable(document, at),
        _text(value.before) if value.before_at is not None else "",
        _text(value.after) if not gone else "",
        gone,
    )


def _text(value: Any) -> str:
    if isinstance(value, Mapping | list):
        return shorten(json.dumps(value, ensure_ascii=False), SHOWN)
    return shorten(value if isinstance(value, str) else json.dumps(value), SHOWN)
