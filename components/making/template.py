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
def documents(module: Path | str) -> tuple[Json, ...]:
    """The documents of the file beside a module, once for all; nobody may change them."""
    text = Path(module).with_suffix(".yaml").read_text("utf-8")
    return tuple(yaml.load_all(text, Loader=yaml.CSafeLoader))


def filled(module: Path | str, /, **values: Any) -> list[Json]:
    """The documents beside a module, with each value in its place."""
    return [fill(each, values) for each in documents(module)]


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
