"""Kubernetes manifests, read into plain data as those who apply them read them.

These are Kubernetes' own YAML, not site files: several documents, and scalars mean what they mean
to kubectl, a kubelet and Cluster API (sigs.k8s.io/yaml 1.6; go-yaml 2.4, resolve.go). What a site
brings is read strictly: what different tools read differently is refused. What others wrote is read
as it is applied. What would take a reader without end is refused of both.
"""

import functools
import re
from typing import Any

import yaml

MAX_DEPTH = 100
"""Levels of nesting; the deepest CRD has half as many."""
MAX_VALUES = 200_000
"""Keys and values that a file of a site may have; Calico 3.32 with its definitions has a third."""
_WORDS: dict[str, bool | None] = {
    form: value
    for value, words in (
        (True, ("y", "yes", "true", "on")),
        (False, ("n", "no", "false", "off")),
        (None, ("", "~", "null")),
    )
    for word in words
    for form in (word, word.capitalize(), word.upper())
}
_INTEGER = re.compile(
    r"(?P<sign>[-+]?)(?:0[xX](?P<hex>[0-9a-fA-F]+)|0[bB](?P<binary>[-+]?[01]+)"
    r"|0[oO]?(?P<octal>[0-7]+)|(?P<decimal>0|[1-9][0-9]*))"
)
_BASES = {"hex": 16, "binary": 2, "octal": 8, "decimal": 10}
_FLOAT = re.compile(r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?")
_ENDLESS = re.compile(r"[-+]?\.(inf|Inf|INF)|\.(nan|NaN|NAN)")
_HUGE = 400
"""Characters of a number; none that is longer fits into a double."""
_TAG = "tag:yaml.org,2002:"
_TYPES = {bool: "bool", int: "int", float: "float", type(None): "null"}
_TEXT_TAGS = (f"{_TAG}str", "!")
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
    """A fault in a text of manifests, at a line and a column that count from 1, with the fix;
    ``detail`` is what the parser says, where it is the parser that says it."""

    def __init__(self, message: str, fix: str, line: int = 1, column: int = 1) -> None:
        super().__init__(message)
        self.fix, self.line, self.column = fix, line, column
        self.detail = ""


def read_manifests(text: str) -> tuple[dict[str, Any], ...]:
    """The objects of a YAML stream, in its order, with ``List`` objects taken apart. ManifestError,
    a ValueError, where the text is not YAML, or one has no apiVersion, kind or name."""
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


@functools.lru_cache(maxsize=256)
def read_documents(text: str, *, strict: bool = True) -> tuple[tuple[Any, int], ...]:
    """The documents of a YAML stream that are not empty, each with its first line. ManifestError;
    or UnicodeEncodeError for half a character of UTF-16."""
    composer = _Composer(text, strict=strict)
    try:
        found = tuple(composer.documents())
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None) or getattr(error, "context_mark", None)
        line, column = (mark.line + 1, mark.column + 1) if mark else (1, 1)
        fix = "compare the line with those above: quotes, brackets, indentation"
        fault = ManifestError("this is not YAML", fix, line, column)
        fault.detail = " ".join(str(getattr(error, "problem", None) or error).split())
        raise fault from None
    return tuple((value, line) for value, line in found if value is not None)


class _Composer:
    """Builds values from libyaml's events: PyYAML's own way down has no end that it checks."""

    def __init__(self, text: str, *, strict: bool) -> None:
        self._next: Any = yaml.CBaseLoader(text).get_event
        self._values, self._depth, self._strict = 0, 0, strict

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
        if kind is _ALIAS:
            message = f"an alias (*{event.anchor}) stands for a value elsewhere"
            raise _at(event, message, "write the value out in each place")
        if self._strict:
            self._demand_plain(event)
        if kind is not _MAP and kind is not _LIST:
            return self._scalar(event)
        if event.tag not in (None, "!", f"{_TAG}{'map' if kind is _MAP else 'seq'}"):
            raise _foreign(event)
        self._depth += 1
        if self._depth > MAX_DEPTH:
            message = f"the data is nested more than {MAX_DEPTH} levels deep"
            raise _at(event, message, "nest it less")
        value = self._mapping() if kind is _MAP else self._sequence()
        self._depth -= 1
        return value

    def _demand_plain(self, event: Any) -> None:
        """Refuse what a site may not bring, though tools read it."""
        self._values += 1
        if self._values > MAX_VALUES:
            message = f"the file holds more than {MAX_VALUES} keys and values"
            raise _at(event, message, "leave out what the site does not need")
        if event.anchor is not None:
            message = f"an anchor (&{event.anchor}) stands for a value elsewhere"
            raise _at(event, message, "write the value out in each place")
        if event.tag is not None and event.tag not in _TEXT_TAGS:
            raise _foreign(event)

    def _scalar(self, event: Any) -> str | int | float | bool | None:
        text, tag = str(event.value), event.tag
        if tag in _TEXT_TAGS or (tag is None and event.style):
            return text
        value = scalar(text)
        if tag is None:
            if self._strict and _ENDLESS.fullmatch(text):
                raise _at(event, "JSON has no such number", "put quotes around the text")
            return value
        kind = tag.removeprefix(_TAG)
        if kind == "float" and type(value) is int:
            return float(value)
        if kind not in _TYPES.values():
            raise _foreign(event)
        if _TYPES.get(type(value)) != kind:
            raise _at(event, f"{text!r} is no {kind}", "write one, or leave out the tag")
        return value

    def _mapping(self) -> dict[str, Any]:
        values: dict[str, Any] = {}
        while type(event := self._next()) is not _MAP_END:
            key = self._key(event)
            if self._strict and key in values:
                raise _at(event, "the key is here a second time", "keep one of the two")
            values[key] = self._node(self._next())
        return values

    def _key(self, event: Any) -> str:
        """A key as kubectl has it on the way to JSON."""
        key = self._node(event)
        if isinstance(key, bool):
            return "true" if key else "false"
        if isinstance(key, float) and not self._strict:
            return f"{key:g}"
        if not isinstance(key, str | int):
            raise _at(event, "a key is not text", "write a name")
        if key == "<<" and not event.style and event.tag is None:
            message = "a map is merged into another one ('<<')"
            raise _at(event, message, "write the fields out in each place")
        return str(key)

    def _sequence(self) -> list[Any]:
        values = []
        while type(event := self._next()) is not _LIST_END:
            values.append(self._node(event))
        return values


def _at(event: Any, message: str, fix: str) -> ManifestError:
    return ManifestError(message, fix, event.start_mark.line + 1, event.start_mark.column + 1)


def _foreign(event: Any) -> ManifestError:
    message = f"the tag {event.tag} says how to read a value"
    return _at(event, message, "remove it; use quotes for text")


def scalar(text: str) -> str | int | float | bool | None:
    """A scalar without quotes: boolean, null, number or text, also a date (go-yaml 2.4)."""
    if text in _WORDS:
        return _WORDS[text]
    if text[0] not in "+-.0123456789":
        return text
    number = text if text[0] == "." else text.replace("_", "")
    found = _number(number) if len(number) <= _HUGE else None
    return text if found is None else found


def _number(text: str) -> int | float | None:
    match = _INTEGER.fullmatch(text)
    if match:
        base = match.lastgroup or "decimal"
        digits = match[base]
        if not (match["sign"] and digits[0] in "+-"):
            value = int(match["sign"] + digits, _BASES[base])
            if -(2**63) <= value < 2**64:
                return value
    if _FLOAT.fullmatch(text):
        number = float(text)
        return number if abs(number) != float("inf") else None
    return None


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
