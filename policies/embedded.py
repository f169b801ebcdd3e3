"""Kubernetes objects that are text in others: manifests in a ConfigMap, static pods in a file of
cloud-init. The API server never judges these as they pass it, so we do.
"""

import functools
import re
from collections.abc import Iterator
from typing import Any

import yaml

from policies.remembered import as_json, remembered
from policies.rule import Json

MAX_CHARACTERS = 2_000_000
"""An object of Kubernetes has at most 1.5 MiB (etcd, --max-request-bytes)."""
MAX_DEPTH = 100
"""Levels of nesting that are read; the deepest CRD has half as many."""
_ALIAS = re.compile(r"(?:^|[\s\[{,:?-])\*[^\s*]", re.MULTILINE)
"""What may be an alias: a star before a name, where a value starts."""
_FURTHEST = 40
_INDENTED = re.compile(rf"^[-?: \t]{{{_FURTHEST}}}", re.MULTILINE)
Step = str | int
Path = tuple[Step, ...]


def strings(value: Any, path: Path = ()) -> Iterator[tuple[Path, str]]:
    """Every text of an object and its place, keys left out."""
    if isinstance(value, str):
        yield path, value
    elif isinstance(value, dict):
        for key, item in value.items():
            yield from strings(item, (*path, str(key)))
    elif isinstance(value, list):
        for index, item in enumerate(value):
            yield from strings(item, (*path, index))


@remembered
def embedded(body: Json) -> tuple[tuple[str, Json], ...]:
    """The objects that are written in texts of an object, each with its place:
    ``data["manifests.yaml"]:DaemonSet kube-flannel/flannel``."""
    # The first one is the object's own.
    return tuple(_found(body)) if as_json(body).count("apiVersion") > 1 else ()


def _found(body: Json) -> Iterator[tuple[str, Json]]:
    for path, text in strings(body):
        if "apiVersion" in text and "kind" in text:
            for found in objects_in(text):
                metadata = found.get("metadata")
                names = metadata if isinstance(metadata, dict) else {}
                namespace = f"{names['namespace']}/" if names.get("namespace") else ""
                yield f"{written(path)}:{found['kind']} {namespace}{names.get('name', '')}", found


@functools.lru_cache(maxsize=256)
def objects_in(text: str) -> tuple[Json, ...]:
    """The Kubernetes objects of a YAML or JSON text, lists of them taken apart; none of a text that
    is neither, such as a script that writes one."""
    if len(text) > MAX_CHARACTERS or not _plain(text):
        return ()
    documents = yaml.load_all(text, Loader=yaml.CSafeLoader)
    try:
        return tuple(each for document in documents for each in _listed(document))
    except (yaml.YAMLError, ValueError):
        return ()  # a number or a day that is none: not what kubectl would apply either


def written(path: Path) -> str:
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


def _plain(text: str) -> bool:
    """Whether a text is YAML without aliases, which grow without end, and not too deep."""
    if _ALIAS.search(text) is None and _shallow(text):
        return True  # to parse it twice costs as much again
    depth = 0
    try:
        for event in yaml.parse(text, Loader=yaml.CSafeLoader):
            depth += isinstance(event, yaml.CollectionStartEvent)
            depth -= isinstance(event, yaml.CollectionEndEvent)
            if depth > MAX_DEPTH or isinstance(event, yaml.AliasEvent):
                return False
    except yaml.YAMLError:
        return False
    return True


def _shallow(text: str) -> bool:
    """Whether a text cannot be too deep: a level takes a bracket, or one more column of spaces and
    marks at the start of a line; a list may stand where its key does."""
    flow = text.count("[") + text.count("{")
    return flow + 2 * _FURTHEST < MAX_DEPTH and _INDENTED.search(text) is None


def _listed(document: Any) -> Iterator[Json]:
    if not isinstance(document, dict):
        return
    if document.get("kind") == "List" and isinstance(document.get("items"), list):
        for item in document["items"]:
            yield from _listed(item)
    elif document.get("apiVersion") and isinstance(document.get("kind"), str):
        yield document
