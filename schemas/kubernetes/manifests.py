"""Kubernetes manifests that a site brings, read into plain data.

These are Kubernetes' own YAML, not site files: several documents, and scalars mean what they mean
to kubectl (YAML 1.1 by sigs.k8s.io/yaml 1.6). Judged by the real schemas. Refused is what different
tools read differently, and what would take them without end.
"""

import functools
import math
import re
from typing import Any

import yaml

MAX_DEPTH = 100
"""Levels of nesting; the deepest CRD has half as many."""
MAX_VALUES = 40_000
"""Keys and values; the largest pod networks have half of it."""

_WORDS: dict[str, bool | None] = {
    **dict.fromkeys(("", "~", "null", "Null", "NULL"), None),
    **{form: True for word in ("y", "yes", "true", "on") for form in
       (word, word.capitalize(), word.upper())},
    **{form: False for word in ("n", "no", "false", "off") for form in
       (word, word.capitalize(), word.upper())},
}  # fmt: skip
_INTEGER = re.compile(
    r"(?P<sign>[-+]?)(?:0[xX](?P<hex>[0-9a-fA-F]+)|0[bB](?P<binary>[01]+)|0[oO]?(?P<octal>[0-7]+)"
    r"|(?P<decimal>0|[1-9][0-9]*))"
)
_BASES = {"hex": 16, "binary": 2, "octal": 8, "decimal": 10}
_FLOAT = re.compile(r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?")
_ENDLESS = re.compile(r"[-+]?\.(inf|Inf|INF)|\.(nan|NaN|NAN)")
_TEXT_TAGS = ("tag:yaml.org,2002:str", "!")
_KINDS: tuple[type[object], ...] = (
    yaml.MappingStartEvent,
    yaml.MappingEndEvent,
    yaml.SequenceStartEvent,
    yaml.SequenceEndEvent,
    yaml.AliasEvent,
    yaml.DocumentStartEvent,
)
_MAP, _MAP_END, _LIST, _LIST_END, _ALIAS, _DOCUMENT = _KINDS


class ManifestError(ValueError):
    """A fault in a text of manifests, at a line and a column that count from 1, with the fix."""

    def __init__(self, message: str, fix: str, line: int = 1, column: int = 1) -> None:
        super().__init__(message)
        self.fix, self.line, self.column = fix, line, column


def read_manifests(text: str) -> tuple[dict[str, Any], ...]:
    """The objects of a YAML stream, in its order, with ``List`` objects taken apart.

    Raises ManifestError, a ValueError, where the text is not YAML, or an object has no apiVersion,
    kind or name.
    """
    return tuple(item for item, _ in read_objects(text))


@functools.lru_cache(maxsize=64)
def read_objects(text: str) -> tuple[tuple[dict[str, Any], int], ...]:
    """The objects of ``read_manifests``, each with the line that its document starts on."""
    objects: list[tuple[dict[str, Any], int]] = []
    for document, line in read_documents(text):
        listed = isinstance(document, dict) and document.get("kind") == "List"
        items = document.get("items") if listed else [document]
        for item in items if isinstance(items, list) else [items]:
            _demand_identity(item, line)
            objects.append((item, line))
    return tuple(objects)


@functools.lru_cache(maxsize=64)
def read_documents(text: str) -> tuple[tuple[Any, int], ...]:
    """The documents of a YAML stream that are not empty, each with the line that it starts on.

    Raises ManifestError.
    """
    composer = _Composer(text)
    try:
        found = tuple(composer.documents())
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None) or getattr(error, "context_mark", None)
        line, column = (mark.line + 1, mark.column + 1) if mark else (1, 1)
        fix = "compare the line with those above: quotes, brackets, indentation"
        raise ManifestError("this is not YAML", fix, line, column) from None
    return tuple((value, line) for value, line in found if value is not None)


class _Composer:
    """Builds values from libyaml's events: PyYAML's own way down has no end that it checks."""

    def __init__(self, text: str) -> None:
        self._next: Any = yaml.CBaseLoader(text).get_event
        self._values, self._depth = 0, 0

    def documents(self) -> list[tuple[Any, int]]:
        """Each document's value and line."""
        found = []
        self._next()
        while isinstance(self._next(), _DOCUMENT):
            event = self._next()
            found.append((self._node(event), event.start_mark.line + 1))
            self._next()
        return found

    def _node(self, event: Any) -> Any:
        kind = type(event)
        self._values += 1
        if self._values > MAX_VALUES:
            message = f"the file holds more than {MAX_VALUES} keys and values"
            raise _at(event, message, "leave out what the site does not need")
        if kind is _ALIAS or event.anchor is not None:
            message = "an anchor or alias stands for a value elsewhere"
            raise _at(event, message, "write the value out in each place")
        if event.tag is not None and event.tag not in _TEXT_TAGS:
            raise _at(event, "a tag says how to read a value", "remove it; use quotes for text")
        if kind is not _MAP and kind is not _LIST:
            if event.style or event.tag is not None:
                return event.value
            return _scalar(event)
        self._depth += 1
        if self._depth > MAX_DEPTH:
            message = f"the data is nested more than {MAX_DEPTH} levels deep"
            raise _at(event, message, "nest it less")
        value = self._mapping() if kind is _MAP else self._sequence()
        self._depth -= 1
        return value

    def _mapping(self) -> dict[str, Any]:
        values: dict[str, Any] = {}
        while type(event := self._next()) is not _MAP_END:
            key = self._node(event)
            if isinstance(key, bool):
                key = "true" if key else "false"  # as kubectl does on the way to JSON
            if isinstance(key, int):
                key = str(key)
            if not isinstance(key, str):
                raise _at(event, "a key is not text", "write a name")
            if key == "<<" and not event.style:
                message = "'<<' merges the fields of another value"
                raise _at(event, message, "write the fields out in each place")
            if key in values:
                raise _at(event, "the key is here a second time", "keep one of the two")
            values[key] = self._node(self._next())
        return values

    def _sequence(self) -> list[Any]:
        values = []
        while type(event := self._next()) is not _LIST_END:
            values.append(self._node(event))
        return values


def _at(event: Any, message: str, fix: str) -> ManifestError:
    return ManifestError(message, fix, event.start_mark.line + 1, event.start_mark.column + 1)


def _scalar(event: Any) -> str | int | float | bool | None:
    """What an unquoted scalar means to kubectl."""
    text = event.value
    if text in _WORDS:
        return _WORDS[text]
    if _ENDLESS.fullmatch(text):
        raise _at(event, "JSON has no such number", "put quotes around the text")
    if text[0] not in "+-.0123456789":
        return str(text)
    plain = text.replace("_", "") if text[0] != "." else text
    # Python refuses to convert thousands of digits, and 64 bits are never that long.
    match = _INTEGER.fullmatch(plain) if len(plain) <= 68 else None
    if match:
        kind = match.lastgroup or ""
        number = int(match["sign"] + match[kind], _BASES[kind])
        if -(2**63) <= number < 2**64:
            return number
    if _FLOAT.fullmatch(plain) and math.isfinite(float(plain)):
        return float(plain)
    return str(text)


def _demand_identity(item: Any, line: int) -> None:
    metadata = item.get("metadata") if isinstance(item, dict) else None
    name = metadata.get("name") if isinstance(metadata, dict) else None
    if not isinstance(metadata, dict) or not isinstance(name, str):
        fix = "write a Kubernetes object, with metadata.name"
        raise ManifestError("an object has no metadata.name", fix, line)
    if not all(isinstance(item.get(key), str) for key in ("apiVersion", "kind")):
        fix = "write a Kubernetes object, with apiVersion and kind"
        raise ManifestError("an object has no apiVersion or kind", fix, line)
    if not isinstance(metadata.get("namespace", ""), str):
        fix = "write metadata.namespace as text"
        raise ManifestError("the namespace of an object is not text", fix, line)
    if metadata.get("labels") is None:
        metadata.pop("labels", None)
    if not isinstance(metadata.get("labels", {}), dict):
        fix = "write metadata.labels as a map"
        raise ManifestError("the labels of an object are not a map", fix, line)
