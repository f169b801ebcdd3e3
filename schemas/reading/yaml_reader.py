"""The only reader of YAML: from bytes to plain data with places, or to problems. Owns what is
accepted: the subset of YAML 1.2 that has one meaning in every tool, by the core schema (``yes`` and
``12:30`` are text). What the data must mean belongs to the models."""

import math
import re
from typing import Any, Final

import yaml

from schemas.kubernetes.masking import shorten
from schemas.model.problem import Problem
from schemas.model.texts import Words, words
from schemas.reading import yaml_text
from schemas.reading.document import Branch, Document, Json, Path, Place, start_of

__all__ = ["Document", "Json", "Path", "read_yaml"]

MAX_DEPTH: Final = 32
MAX_VALUES: Final = 10_000
"""Keys and values of one file; few bytes can spell many, and each costs time."""
_KINDS: Final = {type(None): "null", bool: "true or false", int: "a number", float: "a number"}
_CONSTANTS: dict[str, bool | None] = {
    **dict.fromkeys(("", "~", "null", "Null", "NULL"), None),
    **dict.fromkeys(("true", "True", "TRUE"), True),
    **dict.fromkeys(("false", "False", "FALSE"), False),
}
_TYPED = frozenset({"", *"~nNtTfF+-.0123456789"})
"""First characters of scalars that are not text; this test spares most scalars all others."""
_NUMBER = re.compile(
    r"(?P<decimal>[-+]?[0-9]+)|0o(?P<octal>[0-7]+)|0x(?P<hex>[0-9a-fA-F]+)"
    r"|(?P<float>[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?)"
    r"|(?P<endless>[-+]?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN))"
)
_BASES = {"decimal": 10, "octal": 8, "hex": 16}
_LEADING_ZERO = re.compile(r"[-+]?0[0-9_]+")
"""Octal to readers of YAML 1.1, decimal to those of 1.2."""


def read_yaml(data: bytes, file: str) -> tuple[Document | None, list[Problem]]:
    """The data of a file, or every problem that keeps it from having exactly one meaning: one of
    the two. ``file`` is the name that problems show. Bytes that are no text are not parsed, and the
    parser stops at its first fault; otherwise all problems come at once."""
    text, problems = yaml_text.decode(data, file)
    if problems:
        return None, problems
    findings = yaml_text.Findings(file, text)
    composer = _Composer(data, findings)
    value: Json = None
    root: Place = 0
    try:
        value, root = composer.document()
    except yaml.YAMLError as error:
        yaml_text.add_syntax_error(findings, error, composer.bracket)
    except _StopError:
        pass
    if not findings:
        yaml_text.add_layout_faults(findings, composer.spans)
    if findings:
        return None, findings.in_order()
    return Document(file, value, text, root), []


# Of any type: mypy would take the class of an event for all that is known of it.
_DOCUMENT: Any = yaml.DocumentStartEvent
_ALIAS: Any = yaml.AliasEvent
_SCALAR: Any = yaml.ScalarEvent
_MAPPING: Any = yaml.MappingStartEvent
_MAPPING_END: Any = yaml.MappingEndEvent
_SEQUENCE_END: Any = yaml.SequenceEndEvent


class _StopError(Exception):
    """Ends the reading of a file that is too deep, holds too much, or has too many problems."""


class _Composer:
    """Builds values and places from libyaml's events, noting what is refused by policy."""

    def __init__(self, data: bytes, findings: yaml_text.Findings) -> None:
        self._next: Any = yaml.CBaseLoader(data).get_event
        self._findings = findings
        self._path: list[str | int] = []  # one step for each open collection
        self._indent = -1  # the column of the innermost block collection
        self.bracket = -1  # where the outermost open flow collection starts
        self._values_left = MAX_VALUES
        self.spans: list[yaml_text.Span] = []

    def document(self) -> tuple[Json, Place]:
        """The one document of the text."""
        value: Json = None
        root: Place | None = None
        self._next()
        while type(event := self._next()) is _DOCUMENT:
            start = event.start_mark.index
            if root is not None:
                self._add(words("yaml-second-document"), start)
                break
            if event.version or event.tags:
                self._add(words("yaml-directive"), start)
            value, root = self._node(self._next())
            self._next()
        if value is None and not self._findings:
            index = None if root is None else start_of(root)
            self._add(words("yaml-without-data"), index)
        return value, root or 0

    def _add(self, said: Words, index: int | None, value: str = "") -> None:
        path = ".".join(str(step) for step in self._path if step != "")
        self._findings.add(said, index, value=value, path=path)
        if len(self._findings) == yaml_text.MAX_PROBLEMS:
            raise _StopError

    def _node(self, event: Any) -> tuple[Json, Place]:
        """The value that ``event`` starts, and its place."""
        start = event.start_mark.index
        kind = type(event)
        self._values_left -= 1
        if self._values_left < 0:
            self._add(words("yaml-values-too-many", MAX_VALUES, yaml_text.SPLIT_FILE), start)
            raise _StopError
        if kind is _ALIAS:
            self._add(words("yaml-alias", event.anchor), start, f"*{event.anchor}")
            return None, start
        if event.anchor is not None or event.tag is not None:
            self._add_properties(event, start)
        if kind is not _SCALAR:
            return self._collection(event, start)
        style = event.style
        self.spans.append((start, event.end_mark.index, style, self._indent))
        if style == "":
            value = _resolve(event.value)
            if type(value) is float and not math.isfinite(value):
                self._add(_number_fault(event.value), start, event.value)
            return value, start
        if style == '"' and not event.value.isprintable():
            for hidden in sorted(yaml_text.hidden_characters(event.value)):
                self._add(words("yaml-escape", yaml_text.name_of(hidden)), start)
        return event.value, start

    def _collection(self, event: Any, start: int) -> tuple[Json, Branch]:
        if len(self._path) == MAX_DEPTH:
            self._add(words("yaml-too-deep", MAX_DEPTH), start)
            raise _StopError
        outside = self._indent, self.bracket
        if not event.flow_style:
            self._indent = event.start_mark.column
        elif self.bracket < 0:
            self.bracket = start
        self._path.append("")
        branch, value, end = (self._mapping if type(event) is _MAPPING else self._sequence)(start)
        self._path.pop()
        self._indent, self.bracket = outside
        if event.flow_style and self.bracket < 0:
            self.spans.append((start, end, "[", self._indent))
        return value, branch

    def _mapping(self, start: int) -> tuple[Branch, Json, int]:
        values: dict[str, Json] = {}
        places: dict[str | int, Place] = {}
        keys: dict[str | int, int] = {}
        while type(event := self._next()) is not _MAPPING_END:
            self._path[-1] = ""
            key = self._key(event)
            at = event.start_mark.index
            if key in keys:
                self._add_duplicate(key, keys[key], at)
                key = None
            self._path[-1] = "?" if key is None else key
            value, place = self._node(self._next())
            if key is not None:
                values[key], places[key], keys[key] = value, place, at
        return Branch(start, keys, places), values, event.end_mark.index

    def _sequence(self, start: int) -> tuple[Branch, Json, int]:
        values: list[Json] = []
        places: dict[str | int, Place] = {}
        while type(event := self._next()) is not _SEQUENCE_END:
            index = self._path[-1] = len(values)
            value, places[index] = self._node(event)
            values.append(value)
        return Branch(start, {}, places), values, event.end_mark.index

    def _key(self, event: Any) -> str | None:
        """The key that ``event`` starts, if it can be one."""
        key, _ = self._node(event)
        start = event.start_mark.index
        if isinstance(key, str):
            if key == "<<" and event.style == "":
                self._add(words("yaml-merge"), start)
            return key
        if type(event) is _SCALAR:
            said = words("yaml-key-unquoted", shorten(event.value), _KINDS[type(key)])
            said = said if event.value else words("yaml-key-missing")
            self._add(said, start, event.value)
        elif type(event) is not _ALIAS:
            self._add(words("yaml-key-of-many"), start)
        return None

    def _add_duplicate(self, key: str, first: int, second: int) -> None:
        place = yaml_text.locate(self._findings.text, first)
        self._add(words("yaml-key-twice", shorten(key), *place), second, key)

    def _add_properties(self, event: Any, start: int) -> None:
        if event.anchor is not None:
            name = f"&{event.anchor}"
            index = self._findings.text.find(name, start)
            self._add(words("yaml-anchor", event.anchor), index, name)
        if event.tag is not None:
            index = self._findings.text.find("!", start)
            self._add(words("yaml-tag", shorten(event.tag)), index, event.tag)


def _resolve(text: str) -> str | int | float | bool | None:
    """The meaning of an unquoted scalar by the core schema; infinity where no tool can hold it."""
    if text[:1] not in _TYPED:
        return text
    if text in _CONSTANTS:
        return _CONSTANTS[text]
    match = _NUMBER.fullmatch(text)
    if match is None:
        return text
    kind = match.lastgroup or ""
    if kind == "endless" or _LEADING_ZERO.fullmatch(text):
        return math.inf
    if kind == "float":
        return float(text)
    # Python refuses to convert thousands of digits, and 64 bits are never that long.
    number = int(match[kind], _BASES[kind]) if len(text) <= 64 else math.inf
    return number if -(2**63) <= number < 2**63 else math.inf


def _number_fault(text: str) -> Words:
    """Why tools differ on a number that ``_resolve`` finds infinite, and what to write."""
    if _LEADING_ZERO.fullmatch(text):
        return words("yaml-octal", shorten(text), shorten(text.lstrip("+-0") or "0"))
    return words("yaml-number-too-large", shorten(text))
