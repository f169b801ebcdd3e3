"""The field of a site's files that a place in an object comes from: by changing it, and looking.
Only on the way to showing a problem, as each value that is tried makes a component's objects anew.
As in components/trace.py, what is said is true by construction. Fields with a default count too: a
site may write another value there."""

import json
import re
from collections.abc import Iterable, Iterator
from fnmatch import fnmatchcase
from functools import cached_property
from pathlib import Path as FilePath
from typing import Any, NamedTuple

from components.making.json_patch import Selected, tokens
from components.making.manifest import Json, Spot
from components.making.patches import patches_of
from components.making.validation import EXTRA
from components.site import COMPONENTS
from components.trace import other_values
from policies import Object
from schemas.facts.brought import OWN
from schemas.facts.site import Site
from schemas.kubernetes.manifests import ManifestError, read_objects
from schemas.load import Loaded
from schemas.model.primitives import Model
from schemas.reading.catalogue import catalogue_of
from schemas.reading.typed_document import readable, value_at
from schemas.resolve import Meaning, UnknownPathError, resolve

BUDGET = 200
"""Values that are tried for all problems of a site; the objects of a large one take a tenth of a
second. What comes later is placed by what was tried before."""
TRIED = 12
"""Values that are tried for one place."""
_TEXT = 3
"""Characters of a text, from which on it is looked for in longer ones."""
_LONG = 8
"""Characters of a text of the release, likewise: shorter ones are words of many things."""
_ELSEWHERE = ("hosts", "release")
"""Starts of paths that lead out of the site file."""
_EVERYWHERE = ("site", "region", "management")
"""Fields that nearly every object carries: they say nothing of one."""

Path = tuple[str | int, ...]


class Origin(NamedTuple):
    """The place that a spot comes from; line and column count from 1. ``field`` is a path that
    ``foresite explain`` takes; empty for an object that the site brings. ``whole``: the object as
    such is there for that field."""

    file: str
    line: int
    column: int
    field: str = ""
    whole: bool = False


class Origins:
    """The origins of spots in the objects of one site of the repository at ``root``."""

    def __init__(self, loaded: Loaded, root: FilePath) -> None:
        if loaded.site is None or loaded.document is None:
            raise ValueError(f"{loaded.name} was not read")
        self._site, self._document, self._root = loaded.site, loaded.document, root
        self._now: dict[str, dict[str, Json]] = {}
        self._made: dict[tuple[str, Path], list[dict[str, Json | None]]] = {}
        self._left = BUDGET

    def find(self, spot: Spot) -> Origin | None:
        """The origin of a spot; None where it is no one field of a site's files: it follows from
        several, or from Foresite itself."""
        if spot.component not in COMPONENTS or spot.name not in self._objects(spot.component):
            return None
        body = self._objects(spot.component)[spot.name]
        own = (OWN, spot.name.partition("/")[0])
        if spot.component == EXTRA and getattr(self._site.file.components, own[1], None):
            return self._origin(own)._replace(whole=True)
        return (
            self._in_patches(spot)
            or _in_manifests(self._site, spot, body)
            or self._by_value(spot, _at(body, spot.path))
            or self._by_name(spot)
        )

    def _in_patches(self, spot: Spot) -> Origin | None:
        """The last operation of a patch that wrote what is at the spot."""
        steps = re.findall(r"[^.\[\]]+", spot.path)
        for number, patch in reversed(patches_of(self._site, spot.component)):
            for index, each in enumerate(patch.operations):
                ours = (isinstance(one, Selected) or one in ("-", other)
                        for one, other in zip(tokens(each.path), steps, strict=False))  # fmt: skip
                if steps and fnmatchcase(spot.name, patch.object) and all(ours):
                    return self._origin(("patches", number, "operations", index, "path"))
        return None

    def _objects(self, component: str) -> dict[str, Json]:
        if component not in self._now:
            self._now[component] = _bodies(component, self._site)
        return self._now[component]

    def _by_value(self, spot: Spot, value: Any) -> Origin | None:
        """The field whose value, or a part of it, is at the spot, and changes with it."""
        text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
        alike = (
            (not _same(each, value), path, each)
            for path, each in self._leaves(spot)
            if _same(each, value) or (path[0] not in _EVERYWHERE and _holds(text, each))
        )
        for path in _likeliest(alike) if value is not None else ():
            for then in self._variants(spot.component, path):
                other = then.get(spot.name)
                if other is not None and _at(other, spot.path) != value:
                    return self._origin(path)
        return None

    def _by_name(self, spot: Spot) -> Origin | None:
        """The field that the object is there for: a host, a pool, a team, a section."""
        named = (
            (str(each) not in re.split(r"[/.]", spot.name), path, each)
            for path, each in self._leaves(spot)
            if isinstance(each, str) and _holds(spot.name, each)
        )
        sections: list[Path] = [(name,) for name, each in self._site.file if _is_map(each)]
        for path in (*_likeliest(named), *sections):
            if any(each.get(spot.name, 0) is None for each in self._variants(spot.component, path)):
                return self._origin(path)._replace(whole=True)
        return None

    def _leaves(self, spot: Spot) -> Iterator[tuple[Path, Any]]:
        """Every value that a person may have written, or could write: the path, and what it is."""
        parts = {*re.split(r"[/.]", spot.name)}
        for host in self._site.hosts:
            if host.name in parts:
                for name in host.columns:
                    yield ("hosts", host.name, name), host.cell(name)
        yield from _leaves(self._site.file, ())
        for path, each in _leaves(self._site.release, ("release",)):
            if isinstance(each, str) and len(each) > _LONG:
                yield path, each

    def _variants(self, component: str, path: Path) -> list[dict[str, Json | None]]:
        """The objects that differ with other values at a path, by name; None: it is gone."""
        key = (component, path)
        if key not in self._made:
            self._made[key] = list(self._tried(component, path))
        return self._made[key]

    def _tried(self, component: str, path: Path) -> Iterator[dict[str, Json | None]]:
        meaning = self._meaning(path)
        if meaning is None or meaning.change is None or self._left <= 0:
            return
        value = meaning.value
        others = [None] if _is_map(value) else [*meaning.others[:1], *other_values(value)]
        now = self._objects(component)
        for other in others:
            try:
                then = _bodies(component, meaning.change(other))
            except (ValueError, TypeError, LookupError, StopIteration, AttributeError):
                continue  # a value that does not fit the site
            self._left -= 1
            yield {name: then.get(name) for name, body in now.items() if then.get(name) != body}
            if isinstance(other, str):
                return  # of texts one other stands for all

    def _meaning(self, path: Path) -> Meaning | None:
        text = ".".join(map(str, path)) if path[0] in _ELSEWHERE else readable(self._document, path)
        try:
            return resolve(self._site, self._document, self._hosts, text, catalogue_of(self._root))
        except UnknownPathError:
            return None

    @cached_property
    def _hosts(self) -> str:
        return (self._root / "sites" / f"{self._site.name}.hosts.csv").read_text("utf-8")

    def _origin(self, path: Path) -> Origin:
        meaning = self._meaning(path)
        if meaning is not None and meaning.place:
            file, line, column = meaning.place.rsplit(":", 2)
            return Origin(file, int(line), int(column), meaning.path)
        while path and value_at(self._document, path) is None:
            path = path[:-1]  # a default stands nowhere: what it is a part of does
        field = f"{meaning.path} (default)" if meaning else ""
        return Origin(*self._document.place(path), field)


def _bodies(component: str, site: Site) -> dict[str, Json]:
    return {each.name: each.body for each in COMPONENTS[component].objects(site)}


def _in_manifests(site: Site, spot: Spot, body: Json) -> Origin | None:
    """Where an object begins in a file that the site brings: itself, or one that it holds."""
    for path, text in site.texts.items():
        if path.endswith((".yaml", ".yml")):
            try:
                objects = read_objects(text)
            except ManifestError:
                continue
            for item, line in objects:
                held = f":{_title(item)}." in f"{spot.path}."
                if held or (_title(item), item["apiVersion"]) == (_title(body), body["apiVersion"]):
                    return Origin(f"sites/{path}", line, 1)
    return None


def _title(body: Json) -> str:
    return Object("", body).title


def _is_map(value: Any) -> bool:
    return isinstance(value, Model | dict | list)


def _likeliest(found: Iterable[tuple[bool, Path, Any]]) -> list[Path]:
    """The paths to try: first what fits best, then what is longest, then by their order."""
    ranked = sorted(found, key=lambda each: (each[0], -len(str(each[2]))))
    return [path for _, path, _ in ranked[:TRIED]]


def _holds(text: str, leaf: Any) -> bool:
    return len(str(leaf)) >= _TEXT and str(leaf) in text


def _same(leaf: Any, value: Any) -> bool:
    return type(leaf) is type(value) and leaf == value


def _leaves(value: Any, path: Path) -> Iterator[tuple[Path, Any]]:
    if isinstance(value, dict | list):
        value = value.items() if isinstance(value, dict) else enumerate(value)
    elif not isinstance(value, Model):
        yield from () if value is None else [(path, value)]
        return
    for step, item in value:
        yield from _leaves(item, (*path, step))


def _at(body: Any, path: str) -> Any:
    """The value at a path such as ``spec.containers[0].image``; None where there is none."""
    for step in re.findall(r"\[[^\]]*\]|[^.\[\]]+", path):
        inner = step.removeprefix("[").removesuffix("]")
        if isinstance(body, list) and inner.isdigit() and int(inner) < len(body):
            body = body[int(inner)]
        elif isinstance(body, dict):
            body = body.get(inner)
        else:
            return None
    return body
