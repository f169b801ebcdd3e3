"""The one form in which every source hands over its hosts: cells, and where each comes from."""

import tomllib
from collections.abc import Iterable
from pathlib import Path
from typing import Any, NamedTuple
from urllib.error import HTTPError

from pydantic import ValidationError

from foresite.command import UsageError, few
from schemas.kubernetes.bodies import Json
from schemas.kubernetes.grouping import group_by_key
from schemas.kubernetes.masking import shorten
from schemas.kubernetes.tables import read_table
from schemas.model.codes import Code
from schemas.model.primitives import Model
from schemas.model.problem import Problem
from schemas.reading.bounded import read_regular
from schemas.reading.host_list import EVERY_COLUMN, MAX_HOSTS, column_of, is_further
from schemas.reading.suggested_value import fits, tidy

SOURCES: Json = read_table(__file__, "sources.toml")
MAX_FILE = 128 * 1024 * 1024
"""Size of a file that a source is read from, at most."""
_ALONE = ("name", "bmc", "mac", "ip", "serial")
"""Columns whose cells no two hosts share."""
_COUNTED = ("name", "pool", "zone", "rack")
"""Columns that a number of a spreadsheet may stand for."""


class Cell(NamedTuple):
    """A cell of the host list as a source has it; ``raw`` is how it is written there, and empty for
    a constant, which no line needs that says something."""

    value: str
    origin: str
    raw: str


class Record(NamedTuple):
    """A host of a source: ``place`` is the URL, or file and line, where a person looks it up."""

    place: str
    called: str
    cells: dict[str, Cell]

    def key(self, column: str) -> str:
        """What it is recognized by; empty where the source does not say it."""
        return self.cells[column].value.casefold() if column in self.cells else ""


class Rules(Model):
    """How a source's words become cells: sources.toml, and a file of ``--map`` above it."""

    columns: dict[str, list[str]] = {}  # noqa: RUF012 pydantic copies it
    """Where the cells of a column come from."""
    values: dict[str, dict[str, str]] = {}  # noqa: RUF012
    """Cells by what the source calls them, by column."""
    constants: dict[str, str] = {}  # noqa: RUF012
    """Cells of columns that the source does not know."""


def read_rules(source: str, path: Path | None) -> Rules:
    """The rules of a source. Raises UsageError for a file of ``--map`` that cannot be used."""
    columns = SOURCES[source]["columns"]
    try:
        said = Rules(**tomllib.loads(read_regular(path, MAX_FILE).decode())) if path else Rules()
    except (ValidationError, ValueError, RecursionError, TypeError) as error:
        raise UsageError(f"--map {path}: {shorten(str(error), 400)}") from None
    for column in (*said.columns, *said.values, *said.constants):
        if column not in EVERY_COLUMN and not is_further(column):
            known = ", ".join(EVERY_COLUMN)
            raise UsageError(f"--map {path}: {shorten(column)} is no column: {known}, mac_NAME")
    return said.model_copy(update={"columns": {**columns, **said.columns}})


def say(
    row: str, place: str, values: Json, at: tuple[int, int] = (0, 0), also: Iterable[Record] = ()
) -> Problem:
    """A problem in the words of sources.toml, at the URL or the line of what is wrong."""
    said = SOURCES["problems"][row]
    shown = {name: shorten(str(value), 200) for name, value in values.items()}
    texts = said["message"].format(**shown), said["fix"].format(**shown)
    code, others = Code(said.get("code", "host-source")), tuple(each.place for each in also)
    path = shown.get("column", "")
    return Problem(shorten(place, 200), *at, code, path, "", *texts, also=others)


def explain(error: Exception, source: str) -> str:
    """An error of a connection for a person, and what it means."""
    text, to = str(getattr(error, "reason", error)), ""
    if isinstance(error, HTTPError):
        text, to = f"HTTP {error.code}", error.headers.get("Location", "").partition("?")[0]
        error.close()
    faults = {**SOURCES[source]["faults"], **SOURCES["faults"]}
    hint = next((said for part, said in faults.items() if part in text), "")
    text = shorten(text.partition("\n")[0], 200)
    return f"{text}; {hint.replace('{to}', shorten(to, 200))}" if hint else text


class Intake:
    """The hosts of a source, as they come in, with the problems of its objects."""

    def __init__(self, rules: Rules) -> None:
        self.rules = rules
        self.records: list[Record] = []
        self.problems: list[Problem] = []

    def add(self, place: str, called: str, body: Json) -> None:
        """Take a host; what several values of ``body`` may be is a dict of them and of words."""
        if len(self.records) == MAX_HOSTS:
            raise UsageError(f"{place}: the source has more than {MAX_HOSTS} hosts; narrow it down")
        cells = {c: Cell(v, "--map constants", "") for c, v in self.rules.constants.items()}
        for column, paths in self.rules.columns.items():
            found = next(filter(None, (self._at(place, column, body, p) for p in paths)), {})
            if len(found) == 1:
                ((raw, label),) = found.items()
                cell = self._cell(place, column, raw, f"{called} {label}")
                cells |= {column: cell} if cell else {}
            elif found:
                names = few([f"{raw} ({label})" for raw, label in found.items()], 5)
                fix = SOURCES["many"].get(column, SOURCES["many"]["mac"])
                said = {"column": column, "count": len(found), "names": names, "fix": fix}
                self.problems.append(say("many", place, said))
        self.records.append(Record(place, called, cells))

    def _at(self, place: str, column: str, body: Json, path: str) -> dict[str, str]:
        """What stands at a path, with the words for where that is."""
        value = dig(body, path)
        if isinstance(value, float) and value.is_integer() and column in _COUNTED:
            value = int(value)
        if isinstance(value, dict):
            return {str(raw): str(label) for raw, label in value.items()}
        if value is None or isinstance(value, str) or type(value) is int:
            text = str(value or "").strip()
            return {text: path} if text else {}
        said = {"column": column, "origin": path, "value": f"{type(value).__name__} {value}"}
        self.problems.append(say("number", place, said))
        return {}

    def _cell(self, place: str, column: str, raw: str, origin: str) -> Cell | None:
        """A cell in the list's spelling; None, with a problem, for what no list may hold."""
        kind = column_of(column)
        value = self.rules.values.get(column, {}).get(raw, raw)
        if "IPv" in kind.meaning:  # a BMC may have a scheme and a path, an address a length
            value = value.rpartition("://")[2].rstrip("/")
            host, _, rest = value.partition("/")
            value = host if rest.isdigit() else value
        if not fits(value, kind.pattern):
            value = tidy(value, kind.pattern, respelt=column != "serial") or value
        said = {"column": column, "value": raw, "origin": origin, "other": value}
        if not fits(value, kind.pattern):
            said |= {"meaning": kind.meaning, "example": kind.example}
            self.problems.append(say("unfit", place, said))
            return None
        if column == "name" and value != raw and value == raw.casefold():
            self.problems.append(say("respelt", place, said))
        return Cell(value, origin, raw)

    def clashing(self) -> set[str]:
        """The places of records that share with another what one host alone has: a problem."""
        found: set[str] = set()
        for column in _ALONE:
            groups = group_by_key((record.key(column), record) for record in self.records)
            for value, (first, *rest) in groups.items():
                if value and rest:
                    others = few([each.called for each in rest], 5)
                    said = {"column": column, "value": value, "others": others}
                    self.problems.append(say("same", first.place, said, also=rest))
                    found.update(each.place for each in (first, *rest))
        return found


def dig(body: Any, path: str) -> Any:
    """What stands at a path of an object, such as ``rack.name``; None where nothing does."""
    kind, _, name = path.partition(":")
    steps = ["metadata", f"{kind}s", name] if kind in ("label", "annotation") else path.split(".")
    for step in [path] if isinstance(body, dict) and path in body else steps:
        body = body.get(step) if isinstance(body, dict) else None
    return body


def at_path(body: Any, path: str) -> str:
    """The text at a path of an object; empty where there is none."""
    found = dig(body, path)
    return str(found) if isinstance(found, str | int) else ""
