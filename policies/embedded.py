"""Kubernetes objects that are text in others (manifests in a ConfigMap, static pods in a file of
cloud-init), which the API server never judges as they pass it. They are read as those who apply
them do, and what cannot be read is told."""

import re
from collections.abc import Collection, Iterator
from typing import Any, NamedTuple

from policies.memo import may_embed, memoize
from policies.rule import Json, Object
from schemas.kubernetes.bodies import Path, nodes
from schemas.kubernetes.manifests import ManifestError, read_documents

MAX_CHARACTERS = 2_000_000
"""An object of Kubernetes has at most 1.5 MiB (etcd, --max-request-bytes)."""
_FIELD = r"^[ \t{{,-]*[\"']?{}[\"']?[ \t]*:"
_FIELDS = tuple(re.compile(_FIELD.format(name), re.MULTILINE) for name in ("apiVersion", "kind"))
"""The fields that every object has, each at the start of a line."""


class Read(NamedTuple):
    """The objects of a text, or why a text that has some cannot be read; neither of a text that is
    something else, such as a script."""

    objects: tuple[Json, ...] = ()
    fault: str = ""


def read(text: str) -> Read:
    """The Kubernetes objects of a YAML or JSON text, lists of them taken apart."""
    try:
        if len(text) > MAX_CHARACTERS:
            return _fault(text, f"it has more than {MAX_CHARACTERS} characters")
        documents = read_documents(text, strict=False)
        return Read(tuple(each for document, _ in documents for each in _objects_in(document)))
    except ManifestError as error:
        return _fault(text, f"{error.detail or error} (line {error.line})")
    except UnicodeError as error:
        return _fault(text, str(error))


def _fault(text: str, why: str) -> Read:
    # A script that writes a manifest has these fields as well, within its lines.
    named = all(field.search(text) for field in _FIELDS)
    return Read(fault=why if named else "")


def _objects_in(document: Any) -> Iterator[Json]:
    if not isinstance(document, dict):
        return
    if document.get("kind") == "List" and isinstance(document.get("items"), list):
        for item in document["items"]:
            yield from _objects_in(item)
    elif document.get("apiVersion") and isinstance(document.get("kind"), str):
        yield document


@memoize
def embedded_objects(body: Json) -> tuple[tuple[str, Json], ...]:
    """The objects that are written in texts of an object, each with its place:
    ``data["manifests.yaml"]:DaemonSet kube-flannel/flannel``."""
    found = ((path, each) for path, text in _manifests(body) for each in read(text).objects)
    return tuple((f"{format_path(path)}:{Object('', each).title}", each) for path, each in found)


def unreadable(body: Json) -> Iterator[tuple[str, str]]:
    """The texts of an object that have manifests which cannot be read: their place, and why."""
    for path, text in _manifests(body):
        if read(text).fault:
            yield format_path(path), read(text).fault


def makers(body: Json, path: str) -> tuple[str, ...]:
    """The titles of objects written in an object that a place is in, as ``DaemonSet a/b``; none of
    a place of its own. More than one where a name with dots lets the place be read in two ways."""
    inner = (e for place, e in embedded_objects(body) if f"{path}.".startswith(f"{place}."))
    return tuple(Object("", each).title for each in inner)


def _manifests(body: Json) -> Iterator[tuple[Path, str]]:
    """The texts of an object that may have others in them."""
    if may_embed(body):
        for path, text in nodes(body):
            if isinstance(text, str) and "apiVersion" in text and "kind" in text:
                yield path, text


def format_path(path: Path) -> str:
    """A place as messages have it: ``spec.containers[0].image``, ``data["a.yaml"]``."""
    text = ""
    for step in path:
        if isinstance(step, int):
            text += f"[{step}]"
        elif step and not set(step) & set('."[]/ '):
            text += f".{step}" if text else step
        else:
            text += f'["{step}"]'
    return text


def bodies(each: Object, kinds: Collection[str]) -> Iterator[tuple[str, Json]]:
    """An object if it is of one of some kinds, and those of these kinds that are text in it, each
    with what its paths start with."""
    if each.kind in kinds:
        yield "", each.body
    for place, body in embedded_objects(each.body):
        if body["kind"] in kinds:
            yield f"{place}.", body
