"""Check that tools made the same objects: each is read back and compared, field by field."""

import json
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import yaml

from components.making.manifest import SITE_LABEL, Json, Manifest

Key = tuple[str, ...]


def key(body: Json) -> Key:
    """What tells an object from all others, also from its like in another site's own cluster."""
    site = body["metadata"].get("labels", {}).get(SITE_LABEL)
    place = Manifest("", body).key
    return (*place, site) if site else place


def read(path: Path) -> list[Json]:
    """The objects in a file of JSON or YAML, however they are nested."""
    text = path.read_text(encoding="utf-8")
    plain = text[:1] in "[{"
    read_all = json.loads(text) if plain else list(yaml.load_all(text, Loader=yaml.CSafeLoader))
    return list(_objects(read_all))


def _objects(node: Any) -> Iterator[Json]:
    if isinstance(node, dict) and "apiVersion" in node and "kind" in node:
        yield node
    elif isinstance(node, dict | list):
        for child in node.values() if isinstance(node, dict) else node:
            yield from _objects(child)


def differences(wanted: Iterable[Json], made: Iterable[Json]) -> list[str]:
    """The objects that are missing, too much, there twice, or different; empty where none is."""
    ours, found = {key(body): body for body in wanted}, {}
    said = []
    for body in made:
        name = " ".join(key(body))
        if key(body) in found:
            said.append(f"twice: {name}")
        elif key(body) not in ours:
            said.append(f"too much: {name}")
        elif body != ours[key(body)]:
            said.append(f"different: {name}")
        found[key(body)] = body
    return said + [f"missing: {' '.join(each)}" for each in ours if each not in found]
