"""The value of a site's files that a place in an object comes from: by changing it, and looking.

Only on the way to showing a problem, as each value that is tried makes a component's objects anew.
As in components/trace.py, what is said is true by construction.
"""

import re
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from components.site import COMPONENTS
from policies import Object
from schemas.facts.site import Site
from schemas.kubernetes.manifests import ManifestError, read_objects
from schemas.load import Loaded
from schemas.reading.typed_document import readable
from schemas.reading.yaml_reader import Document
from schemas.resolve import UnknownPathError, resolve

TRIED = 6
"""Values that are tried for one place; the objects of a large site take a tenth of a second."""
_TEXT = 3
"""Characters of a text, from which on it is looked for in longer ones."""


class Spot(NamedTuple):
    """A place in an object: its component, its logical name, and the field."""

    component: str
    name: str
    path: str


class Place(NamedTuple):
    """A place in a file of the repository; line and column count from 1."""

    file: str
    line: int
    column: int


def origin(loaded: Loaded, spot: Spot) -> Place | None:
    """The place of the value at ``spot``. None where that is not one value of a site's files: it
    follows from several, from a release, or from Foresite itself."""
    site, document = loaded.site, loaded.document
    if site is None or document is None or spot.component not in COMPONENTS:
        return None
    body = _body(site, spot)
    if body is None:
        return None
    return _in_manifests(site, spot, body) or _in_site_file(site, document, spot, body)


def _body(site: Site, spot: Spot) -> dict[str, Any] | None:
    manifests = COMPONENTS[spot.component].objects(site)
    return next((each.body for each in manifests if each.name == spot.name), None)


def _in_manifests(site: Site, spot: Spot, body: dict[str, Any]) -> Place | None:
    """The place where an object begins in a file that the site brings: itself, or one that it
    holds."""
    for path, text in site.texts.items():
        if path.endswith((".yaml", ".yml")):
            try:
                objects = read_objects(text)
            except ManifestError:
                continue
            for item, line in objects:
                held = f":{_title(item)}." in f"{spot.path}."
                if held or (_title(item), item["apiVersion"]) == (_title(body), body["apiVersion"]):
                    return Place(f"sites/{path}", line, 1)
    return None


def _title(body: dict[str, Any]) -> str:
    return Object("", body).title


def _in_site_file(site: Site, document: Document, spot: Spot, body: dict[str, Any]) -> Place | None:
    value = _at(body, spot.path)
    alike = [path for path, leaf in _leaves(document.value) if _could_be(leaf, value)]
    for path in alike[:TRIED]:
        try:
            meaning = resolve(site, document, "", readable(document, path))
        except UnknownPathError:
            continue
        if meaning.change and _moves(meaning.change, meaning.value, meaning.others, spot, value):
            return Place(document.file, *document.position(path))
    return None


def _leaves(value: Any, path: tuple[str | int, ...] = ()) -> Iterator[tuple[Any, Any]]:
    if isinstance(value, dict):
        for key, item in value.items():
            yield from _leaves(item, (*path, key))
    elif isinstance(value, list):
        for index, item in enumerate(value):
            yield from _leaves(item, (*path, index))
    else:
        yield path, value


def _could_be(leaf: Any, value: Any) -> bool:
    """True if a value of a site file could be the one in an object."""
    if isinstance(value, str) and not isinstance(leaf, bool | None):
        text = str(leaf)
        return text == value or (len(text) >= _TEXT and text in value)
    return type(leaf) is type(value) and leaf == value and leaf is not None


def _moves(
    change: Callable[[Any], Site], now: Any, others: tuple[Any, ...], spot: Spot, value: Any
) -> bool:
    """True if another value changes the value at the spot, or takes its object away."""
    for other in [*others[:1], *_others(now)]:
        try:
            body = _body(change(other), spot)
        except (ValueError, TypeError, LookupError, StopIteration):
            continue  # a value that does not fit the site
        if body is None or _at(body, spot.path) != value:
            return True
    return False


def _others(value: Any) -> list[Any]:
    if isinstance(value, bool):
        return [not value]
    return [value + 1] if isinstance(value, int) else [f"{value}x"]


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
