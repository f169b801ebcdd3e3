"""The only reader of YAML: from bytes to plain data with places, or to problems.

Owns what is accepted: the subset of YAML 1.2 that has one meaning in every tool, by the core
schema (``yes`` and ``12:30`` are text). What the data must mean belongs to the models.
"""

import math
from collections.abc import Callable
from typing import Final, Protocol, cast

import yaml

from schemas.kubernetes.masking import shorten
from schemas.model.codes import Code
from schemas.model.problem import Problem
from schemas.reading.document import Branch, Document, Json, Path, Place, start_of
from schemas.reading.yaml_scalars import number_fault, resolve
from schemas.reading.yaml_text import (
    MAX_PROBLEMS,
    SPLIT_FILE,
    Findings,
    Span,
    add_layout_faults,
    add_syntax_error,
    decode,
    hidden_characters,
    locate,
    name_of,
)

__all__ = ["Document", "Json", "Path", "read_yaml"]

MAX_DEPTH: Final = 32
MAX_VALUES: Final = 10_000
"""Keys and values of one file; few bytes can spell many, and each costs time."""

_ONE_EACH: Final = "use one file for each document"
_COPY: Final = "write the value out in each place"
_KINDS: Final = {type(None): "null", bool: "true or false", int: "a number", float: "a number"}


def read_yaml(data: bytes, file: str) -> tuple[Document | None, list[Problem]]:
    """The data of a file, or every problem that keeps it from having exactly one meaning.

    Exactly one of the two is given: a document comes without problems. ``file`` is the name that
    problems show. Bytes that are no text are not parsed, and the parser stops at its first fault;
    otherwise all problems come at once.
    """
    text, problems = decode(data, file)
    if problems:
        return None, problems
    findings = Findings(file, text)
    composer = _Composer(data, findings)
    value: Json = None
    root: Place = 0
    try:
        value, root = composer.document()
    except yaml.YAMLError as error:
        add_syntax_error(findings, error, composer.bracket)
    except _StopError:
        pass
    if not findings:
        add_layout_faults(findings, composer.spans)
    if findings:
        return None, findings.in_order()
    return Document(file, value, text, root), []


# Typed as any class, since an event is seen as the one shape below.
_DOCUMENT: type[object] = yaml.DocumentStartEvent
_ALIAS: type[object] = yaml.AliasEvent
_SCALAR: type[object] = yaml.ScalarEvent
_MAPPING: type[object] = yaml.MappingStartEvent
_MAPPING_END: type[object] = yaml.MappingEndEvent
_SEQUENCE_END: type[object] = yaml.SequenceEndEvent


class _StopError(Exception):
    """Ends the reading of a file that is too deep, holds too much, or has too many problems."""


class _Mark(Protocol):
    index: int
    column: int


class _Event(Protocol):
    """The fields of all kinds of events; a kind has those that its name suggests."""

    start_mark: _Mark
    end_mark: _Mark
    anchor: str | None
    tag: str | None
    value: str
    style: str
    flow_style: bool
    version: object
    tags: object


class _Composer:
    """Builds values and places from libyaml's events, noting what is refused by policy."""

    def __init__(self, data: bytes, findings: Findings) -> None:
        parser = yaml.CBaseLoader(data)
        # One shape for all events: a check of each field's presence would cost as much as parsing.
        self._next = cast("Callable[[], _Event]", parser.get_event)
        self._findings = findings
        self._path: list[str | int] = []  # one step for each open collection
        self._indent = -1  # the column of the innermost block collection
        self.bracket = -1  # where the outermost open flow collection starts
        self._values_left = MAX_VALUES
        self.spans: list[Span] = []

    def document(self) -> tuple[Json, Place]:
        """The one document of the text."""
        value: Json = None
        root: Place | None = None
        self._next()
        while type(event := self._next()) is _DOCUMENT:
            start = event.start_mark.index
            if root is not None:
                self._add(Code.YAML_DOCUMENTS, start, "a second document starts here", _ONE_EACH)
                break
            if event.version or event.tags:
                self._add(Code.YAML_DIRECTIVE, start, "a line starts with '%'", "delete the line")
            value, root = self._node(self._next())
            self._next()
        if value is None and not self._findings:
            index = None if root is None else start_of(root)
            self._add(Code.FILE_EMPTY, index, "the file holds no data", "write its fields")
        return value, root or 0

    def _add(self, code: Code, index: int | None, message: str, fix: str, value: str = "") -> None:
        path = ".".join(str(step) for step in self._path if step != "")
        self._findings.add(code, index, message, fix, value=value, path=path)
        if len(self._findings) == MAX_PROBLEMS:
            raise _StopError

    def _node(self, event: _Event) -> tuple[Json, Place]:
        """The value that ``event`` starts, and its place."""
        start = event.start_mark.index
        kind = type(event)
        self._values_left -= 1
        if self._values_left < 0:
            message = f"the file holds more than {MAX_VALUES} keys and values"
            self._add(Code.FILE_TOO_LARGE, start, message, SPLIT_FILE)
            raise _StopError
        if kind is _ALIAS:
            name = f"*{event.anchor}"
            self._add(Code.YAML_ANCHOR, start, f"{name} stands for a value elsewhere", _COPY, name)
            return None, start
        if event.anchor is not None or event.tag is not None:
            self._add_properties(event, start)
        if kind is not _SCALAR:
            return self._collection(event, start)
        style = event.style
        self.spans.append((start, event.end_mark.index, style, self._indent))
        if style == "":
            value = resolve(event.value)
            if type(value) is float and not math.isfinite(value):
                self._add(Code.YAML_NUMBER, start, *number_fault(event.value), event.value)
            return value, start
        if style == '"' and not event.value.isprintable():
            for hidden in sorted(hidden_characters(event.value)):
                message = f"an escape stands for the invisible character {name_of(hidden)}"
                self._add(Code.FILE_CHARACTER, start, message, "delete the escape")
        return event.value, start

    def _collection(self, event: _Event, start: int) -> tuple[Json, Branch]:
        if len(self._path) == MAX_DEPTH:
            message = f"the data is nested more than {MAX_DEPTH} levels deep"
            self._add(Code.YAML_TOO_DEEP, start, message, "nest it less")
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

    def _key(self, event: _Event) -> str | None:
        """The key that ``event`` starts, if it can be one."""
        key, _ = self._node(event)
        start = event.start_mark.index
        if isinstance(key, str):
            if key == "<<" and event.style == "":
                message = "'<<' merges the fields of another value"
                self._add(Code.YAML_MERGE_KEY, start, message, _COPY)
            return key
        if type(event) is _SCALAR:
            message = f"the key {shorten(event.value)} is {_KINDS[type(key)]}, not text"
            fix = f'put it in quotes: "{shorten(event.value)}"'
            if event.value == "":
                message, fix = "a value has no key", "write a key before the ':'"
            self._add(Code.YAML_KEY_TYPE, start, message, fix, event.value)
        elif type(event) is not _ALIAS:
            self._add(Code.YAML_KEY_TYPE, start, "a list or a mapping is a key", "write a name")
        return None

    def _add_duplicate(self, key: str, first: int, second: int) -> None:
        line, column = locate(self._findings.text, first)
        name = shorten(key)
        message = f"the key {name} is here again, after line {line}, column {column}"
        self._add(Code.YAML_DUPLICATE_KEY, second, message, "keep one, or rename one", key)

    def _add_properties(self, event: _Event, start: int) -> None:
        if event.anchor is not None:
            name = f"&{event.anchor}"
            index = self._findings.text.find(name, start)
            message = f"{name} marks a value for use elsewhere"
            self._add(Code.YAML_ANCHOR, index, message, _COPY, name)
        if event.tag is not None:
            index = self._findings.text.find("!", start)
            message = f"the tag {shorten(event.tag)} says how to read a value"
            self._add(Code.YAML_TAG, index, message, "delete it; use quotes for text", event.tag)
