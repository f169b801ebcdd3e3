"""Objects that are data: YAML documents in which ``$name`` stands for a value.

A text that is such a name alone becomes the value, of whatever type. A key that is one makes room
for the fields of a map. A name that gets no value is a KeyError.
"""

from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

import yaml

from components.making.manifest import Json


@cache
def documents(path: Path) -> tuple[Json, ...]:
    """The documents of a file, once for all; nobody may change them."""
    return tuple(yaml.load_all(path.read_text("utf-8"), Loader=yaml.CSafeLoader))


def filled(path: Path, /, **values: Any) -> list[Json]:
    """The documents of a file, with each value in its place."""
    return [fill(each, values) for each in documents(path)]


def fill(said: Any, values: Mapping[str, Any]) -> Any:
    """Data with each value in its place."""
    if isinstance(said, str) and said.startswith("$"):
        return values[said[1:]]
    if isinstance(said, list):
        return [fill(each, values) for each in said]
    if not isinstance(said, dict):
        return said
    found: Json = {}
    for key, each in said.items():
        found |= values[key[1:]] if key.startswith("$") else {key: fill(each, values)}
    return found
