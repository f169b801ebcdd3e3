"""JSON and YAML inside texts, read as data where that is safe and means one thing. What is too
long, too deep, has anchors, or does not parse is a text."""

import json
import math
from typing import Any, NamedTuple

from preview.differences.fields.listkeys import Item
from schemas.kubernetes.manifests import MAX_DEPTH, MAX_VALUES, ManifestError, read_documents

MAX_BYTES = 2**20
"""As large as a ConfigMap can be."""
SUFFIXES = (".json", ".yaml", ".yml")


class _NoDataError(ValueError):
    """A text that is not to be read as data."""


class Documents(NamedTuple):
    """The documents of a text: of Kubernetes objects by kind, namespace and name."""

    values: list[Any]
    by_name: dict[str, Any] | None

    @property
    def one(self) -> Any:
        """The only document, if it is no Kubernetes object; else None."""
        return self.values[0] if len(self.values) == 1 and self.by_name is None else None


def documents(text: str, key: str) -> Documents | None:
    """The documents of a text, or None if it is only a text. If its name ``key`` does not end as
    that of data, each has to be a mapping or a list of these, as to YAML any text is a scalar."""
    try:
        if len(text) > MAX_BYTES or len(text.encode()) > MAX_BYTES:
            return None
        values = _parse_text(text)
    except (_NoDataError, UnicodeEncodeError):
        return None
    told = key.endswith(SUFFIXES)
    if not values or not all(_is_data(value, told) for value in values):
        return None
    named: dict[str, Any] = {name: value for value in values if (name := _name(value)) is not None}
    # None if one is no Kubernetes object, or has the name of another.
    return Documents(values, named if len(named) == len(values) else None)


def _parse_text(text: str) -> list[Any]:
    """JSON by JSON's own rules, as YAML lacks some of its escapes; all else as kubectl reads it."""
    if text.lstrip(" \t\r\n")[:1] in ("{", "["):
        try:
            value = json.loads(text, **_STRICT)
        except _NoDataError:
            raise
        except RecursionError as error:
            raise _NoDataError("too deep") from error
        except ValueError:
            pass  # YAML in the flow style begins alike
        else:
            _demand_small(value)
            return [value]
    try:
        return [value for value, _ in read_documents(text)]
    except ManifestError as error:
        raise _NoDataError(str(error)) from error


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        raise _NoDataError("a key is there twice")
    return found


def _finite(number: str) -> float:
    value = float(number)
    if not math.isfinite(value):
        raise _NoDataError(f"{number} is no number that every tool can hold")
    return value


_STRICT: dict[str, Any] = {
    "object_pairs_hook": _unique,
    "parse_constant": _finite,
    "parse_float": _finite,
}


def _demand_small(value: Any) -> None:
    level, count = [value], 0
    for _ in range(MAX_DEPTH):
        count += len(level)
        if not level or count > MAX_VALUES:
            break
        inner = (list(each.values()) if isinstance(each, dict) else each for each in level)
        level = [value for values in inner if isinstance(values, list) for value in values]
    if level:
        raise _NoDataError("too deep, or too much")


def _is_data(value: Any, told: bool) -> bool:
    if isinstance(value, list):
        return told or (value != [] and all(isinstance(item, dict) for item in value))
    return isinstance(value, dict)


def _name(value: Any) -> Item | None:
    metadata = value.get("metadata") if isinstance(value, dict) else None
    if not isinstance(metadata, dict) or not isinstance(value.get("apiVersion"), str):
        return None
    parts = (value.get("kind"), metadata.get("namespace", ""), metadata.get("name"))
    if not all(isinstance(part, str) for part in parts):
        return None
    return Item("/".join(part for part in parts if part))
