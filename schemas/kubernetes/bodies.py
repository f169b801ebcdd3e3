"""Reads fields of objects that no schema has judged: what is of a wrong type counts as absent."""

from collections.abc import Iterator
from typing import Any

Json = dict[str, Any]
Path = tuple[str | int, ...]


def mapping(holder: Json, *keys: str) -> Json:
    """The map below ``keys``; empty where there is none."""
    found: Any = holder
    for key in keys:
        found = found.get(key) if isinstance(found, dict) else None
    return found if isinstance(found, dict) else {}


def identity(body: Json) -> tuple[str, str, str, str]:
    """The identity of an object: API group, kind, namespace (or empty) and name."""
    group, metadata = str(body["apiVersion"]).rpartition("/")[0], body["metadata"]
    return group, str(body["kind"]), metadata.get("namespace") or "", metadata["name"]


def items(holder: Json, key: str) -> list[Json]:
    """The maps in a list."""
    return [each for each in _list(holder, key) if isinstance(each, dict)]


def texts(holder: Json, key: str) -> list[str]:
    """The texts in a list."""
    return [each for each in _list(holder, key) if isinstance(each, str)]


def nodes(value: Any, at: Path = ()) -> Iterator[tuple[Path, Any]]:
    """Plain data and all that is in it, each with its path below ``at``."""
    rest = [(at, value)]
    while rest:
        at, value = rest.pop()
        yield at, value
        if isinstance(value, dict | list):
            items = value.items() if isinstance(value, dict) else enumerate(value)
            rest += [((*at, key), each) for key, each in items][::-1]


def _list(holder: Json, key: str) -> list[Any]:
    found = holder.get(key)
    return found if isinstance(found, list) else []
