"""Values in a site's data by their paths, in plain data as in models, also in such with holes."""

from collections.abc import Iterable, Iterator
from typing import Any

from schemas.kubernetes.bodies import nodes
from schemas.model.primitives import Model
from schemas.reading.document import Path


def each_at(value: Any, *patterns: str) -> Iterator[tuple[Path, Any]]:
    """The values at some patterns of paths, each with its path. ``pools.*.name`` is the name of
    each pool: ``*`` is any item of a list or a map. What is not there is left out."""
    for pattern in patterns:
        found: list[tuple[Path, Any]] = [((), value)]
        for step in pattern.split("."):
            found = [((*at, key), item) for at, each in found for key, item in _items(each, step)]
        yield from found


def _items(value: Any, step: str) -> Iterable[tuple[str | int, Any]]:
    fields = vars(value) if isinstance(value, Model) else value
    if isinstance(fields, dict):
        one = ((step, fields[step]),) if step in fields else ()
        return fields.items() if step == "*" else one
    return enumerate(fields) if step == "*" and isinstance(fields, list) else ()


def leaves(value: Any, at: Path = ()) -> Iterator[tuple[Path, Any]]:
    """Everything in plain data that is neither a map nor a list, with its path below ``at``."""
    return (each for each in nodes(value, at) if not isinstance(each[1], dict | list))
