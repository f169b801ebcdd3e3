"""Keys and passwords that stand in a site's files, as problems that never show them.

Values of the site file are judged where they stand, by their form and by their name; every text,
comments and all, by its form; manifests also by the names in them. What a key looks like is in
schemas/kubernetes/secret_forms.py. Whoever finds a literal twice, as a value and in the text, tells
it once.
"""

import functools
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from schemas.kubernetes import secret_scan
from schemas.kubernetes.bodies import nodes
from schemas.kubernetes.manifests import ManifestError, read_objects
from schemas.kubernetes.masking import shorten
from schemas.kubernetes.secret_forms import IN_TEXT
from schemas.kubernetes.tables import read_table
from schemas.model.codes import Code
from schemas.model.problem import Problem
from schemas.model.region import BUNDLED
from schemas.reading.wording import Node, schema_at
from schemas.reading.yaml_reader import Document, Path

KNOWN = "everyone who reads Git has it"
_FIXES = read_table(__file__)
_MAX_FOUND = 100
"""Literals of one file that are told."""
REFERENCES = frozenset[Path](tuple(each.split(".")) for each in _FIXES["references"])
"""Fields that name a Secret or a key in it, where people put the secret itself; without indexes."""
ROUTING_KEY = re.compile(r"(?=.*[0-9])[0-9A-Za-z]{32,}")
"""A secret in place of a Secret's name or key: 32 letters and digits (PagerDuty, Events API v2)."""


class Literal(NamedTuple):
    """A literal secret and the advice for it; ``key``: its name reveals it, and gives its place."""

    message: str
    fix: str
    key: bool = False


Schema = Callable[[], Node]
"""Gives the JSON Schema of a document, which is only made where it is asked for."""


def in_document(document: Document, schema: Schema) -> Iterator[tuple[Path, Literal]]:
    """Every value of a site file that looks like a secret, with its path."""
    for path, value in nodes(document.value):
        if isinstance(value, list):
            yield from (((*path, i), _by_name(path, flag)) for i, flag in _arguments(value))
        found = _value(path, value, schema)
        if found is not None:
            yield path, found


def refers(path: Path) -> bool:
    """True if a field names a Secret. A wrong value there is often the secret itself."""
    return tuple(step for step in _in_site(path) if isinstance(step, str)) in REFERENCES


def _in_site(path: Path) -> Path:
    """A path in a region's bundle as that in a site's file; any other as it is."""
    bundle = path[:1] == ("bundles",) and BUNDLED.get(str(path[1])) if path[1:] else None
    return (*bundle, *path[3:]) if bundle else path


def _value(path: Path, value: Any, schema: Schema) -> Literal | None:
    if isinstance(value, str):
        what = secret_scan.kind_of(value)
        if what:
            return Literal(f"this holds {what}, and {KNOWN}", _fix(path, what))
        if refers(path) and ROUTING_KEY.fullmatch(value):
            return Literal(f"this looks like the secret itself, and {KNOWN}", _fix(path))
    name = path[-1] if path else None
    if refers(path) or not isinstance(value, str | int):
        return None
    if isinstance(name, str) and secret_scan.is_secret(name, str(value)):
        around = schema_at(schema(), path[:-1])
        # A field that the model knows is none; one that it does not know is told as such.
        if not isinstance(value, bool) and "properties" not in around:
            return _by_name(path, name)._replace(key=True)
    return None


def _by_name(path: Path, name: str) -> Literal:
    return Literal(f"{shorten(name)} looks like a secret, and {KNOWN}", _fix(path))


def _fix(path: Path, what: str = "") -> str:
    at = ".".join(map(str, _in_site(path)))
    by_kind = [fix for part, fix in _FIXES["by_kind"].items() if part in what]
    places = _FIXES["by_place"].items()
    by_place = [fix for start, fix in places if f"{at}.".startswith(f"{start}.")]
    return str([*by_kind, *by_place, _FIXES["anywhere"]][0])


def _arguments(arguments: Sequence[Any]) -> Iterator[tuple[int, str]]:
    """The arguments that hold a secret by their flag, with that: by ``--flag=value``, by the word
    after a flag, or within a line for a shell. What has a form is found by it."""
    found = dict(secret_scan.in_arguments(arguments))
    for index, each in enumerate(arguments):
        for flag in _in_line(each) if isinstance(each, str) else ():
            found.setdefault(index, flag)
    yield from (each for each in found.items() if not secret_scan.kind_of(arguments[each[0]]))


def _in_line(line: str) -> Iterator[str]:
    words = line.split()
    for _, index, given in secret_scan.secret_words(words):
        # What a shell puts in place may be cut here: $(cat file) is two words.
        if secret_scan.is_literal(given) and not IN_TEXT.fullmatch(given):
            yield words[index].partition("=")[0]


# --- texts ------------------------------------------------------------------------------------


class Placed(NamedTuple):
    """A literal in a text, at a line and a column that count from 1."""

    line: int
    column: int
    literal: Literal


def in_file(file: str, data: bytes) -> list[Problem]:
    """The literals of a file that is known by their form, wherever they stand in it."""
    return [
        Problem(file, line, column, Code.SECRET_IN_FILE, "", "", said.message, said.fix)
        for line, column, said in in_text(data.decode("utf-8", "replace"))
    ]


@functools.lru_cache(maxsize=64)
def in_text(text: str) -> tuple[Placed, ...]:
    """Every key in a text that is known by its form, one a line."""
    found: dict[int, Placed] = {}
    for start, _, what in secret_scan.keys_in(text)[:_MAX_FOUND]:
        line = text.count("\n", 0, start) + 1
        column = start - text.rfind("\n", 0, start)
        said = Literal(f"this holds {what}, and {KNOWN}", _fix((), what))
        found.setdefault(line, Placed(line, column, said))
    return tuple(found.values())


@functools.lru_cache(maxsize=64)
def in_manifests(text: str) -> tuple[Placed, ...]:
    """Every value in manifests that is a secret by its name: of a field, of a variable, of a flag,
    or in a text that a ConfigMap holds. A Secret is refused as a whole, elsewhere."""
    try:
        objects = read_objects(text)
    except ManifestError:
        return ()  # told elsewhere
    lines = text.split("\n")
    found: dict[tuple[int, str], Placed] = {}
    for item, start in objects:
        named = [] if item["kind"] == "Secret" else _secret_value_names(item)
        for name in list(dict.fromkeys(named))[:_MAX_FOUND]:
            line, column = place_of(name, lines, start)
            found[line, name] = Placed(line, column, _by_name((), name))
    return tuple(found.values())


def _secret_value_names(item: Mapping[str, Any]) -> Iterator[str]:
    """The names of an object's values that are secrets by their names."""
    for _, value in nodes(item):
        if isinstance(value, dict):
            pairs = [*value.items(), (value.get("name"), value.get("value"))]
            yield from (name for name, given in pairs if _is_literal(name, given))
        elif isinstance(value, list):
            yield from (flag for _, flag in _arguments(value))
        elif isinstance(value, str) and item["kind"] == "ConfigMap":
            yield from secret_scan.secret_names(value)


def _is_literal(name: Any, given: Any) -> bool:
    plain = isinstance(given, str | int) and not isinstance(given, bool)
    return isinstance(name, str) and plain and secret_scan.is_secret(name, str(given))


def place_of(name: str, lines: list[str], start: int) -> tuple[int, int]:
    """The place where a name first stands from a line on; else the line's start."""
    for number, line in enumerate(lines[start - 1 :], start=start):
        column = line.find(name)
        if column >= 0:
            return number, column + 1
    return start, 1


# --- all together -----------------------------------------------------------------------------


def merge_literals(problems: Iterable[Problem]) -> list[Problem]:
    """Problems in their order, each once. Of a literal found in several ways on one line, only the
    first problem stays that names the value."""
    every = sorted(set(problems))
    named: dict[tuple[str, int], dict[str, Problem]] = {}
    for each in every:
        if each.code is Code.SECRET_IN_FILE:
            named.setdefault((each.file, each.line), {}).setdefault(each.path, each)
    kept = {id(each) for of in named.values() for path, each in of.items() if path or len(of) == 1}
    return [each for each in every if each.code is not Code.SECRET_IN_FILE or id(each) in kept]
