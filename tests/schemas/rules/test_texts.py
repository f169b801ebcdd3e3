"""Texts of findings: each row is some rule's, and each rule gives what its rows take."""

import ast
import re
from collections.abc import Iterator
from functools import cache
from string import Formatter
from typing import Any

import pytest

from schemas.kubernetes.tables import read_table
from schemas.model.codes import Code
from schemas.model.site_file import SiteFile
from schemas.model.texts import SCHEMAS, TABLES, rows
from schemas.reading.wording import schema_at, schema_of
from schemas.rules import once
from schemas.rules.finding import say

ROWS = rows()
ROOMS = ("model", "reading", "rules")
SCHEMA = schema_of(SiteFile)
TOGETHER = read_table(once.__file__, "together.toml")["part"]


@cache
def _nodes() -> tuple[ast.AST, ...]:
    """All nodes of the modules that name rows."""
    names = (
        SCHEMAS / "load.py",
        SCHEMAS.parent / "foresite" / "judged.py",
        *(each for room in ROOMS for each in SCHEMAS.glob(f"{room}/*.py")),
    )
    modules = [ast.parse(each.read_text("utf-8")) for each in names]
    return tuple(node for module in modules for node in ast.walk(module))


def _names() -> Iterator[str]:
    """Patterns of the texts in modules: those that are rows' names, and those they are made of."""
    tables = read_table(once.__file__)
    yield from (each["row"] for kind in ("list", "value") for each in tables[kind])
    yield from (each["row"] for each in TOGETHER)
    for node in _nodes():
        if isinstance(node, ast.JoinedStr):
            parts = [each.value if isinstance(each, ast.Constant) else None for each in node.values]
            yield "".join(".+" if each is None else re.escape(str(each)) for each in parts)
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield re.escape(node.value)


def _roots(row: dict[str, Any]) -> set[str]:
    """The names of the values in a row's braces."""
    found = (part[1] for text in (row["message"], row["fix"]) for part in Formatter().parse(text))
    return {re.split(r"[.\[]", each)[0] for each in found if each is not None}


def test_every_row_is_some_rules_own() -> None:
    patterns = {each for each in _names() if re.search(r"-[a-z]", each)}
    unused = {row for row in ROWS if not any(re.fullmatch(each, row) for each in patterns)}
    assert not unused


def test_no_row_is_in_two_tables() -> None:
    heads = [
        line
        for table in TABLES
        for line in table.read_text("utf-8").splitlines()
        if re.fullmatch(r"\[.*\]", line)
    ]
    assert len(heads) == len(set(heads)) == len(ROWS)


@pytest.mark.parametrize("name", ROWS)
def test_a_row_is_whole(name: str) -> None:
    row = ROWS[name]
    assert row.keys() <= {"code", "message", "fix", "values", "key"}
    assert row["code"] in {code.value for code in Code}
    assert row["message"]
    assert row["fix"]
    assert _roots(row) <= set(row.get("values", ()))


def test_calls_give_what_their_rows_take() -> None:
    calls = [
        node
        for node in _nodes()
        if isinstance(node, ast.Call)
        and isinstance(node.func, ast.Name)
        and node.func.id in ("say", "words")
        and isinstance(node.args[0], ast.Constant)
    ]
    assert len(calls) >= 150
    for call in calls:
        row = ROWS[ast.literal_eval(call.args[0])]
        if not any(isinstance(each, ast.Starred) for each in call.args):
            given = len(call.args) - (2 if ast.unparse(call.func) == "say" else 1)
            assert given == len(row.get("values", ())), ast.unparse(call)


@pytest.mark.parametrize("row", TOGETHER, ids=lambda row: str(row["row"]))
def test_values_that_do_not_go_together_are_fields(row: dict[str, Any]) -> None:
    assert row.keys() <= {"at", "when", "where", "tell", "written", "image", "row", "values"}
    assert len(row.get("values", ())) == len(ROWS[row["row"]].get("values", ()))
    fields = [f"{at}.{path}" for at in row["at"] for path in (*row["when"], *row.get("tell", ()))]
    for path in (*fields, *row.get("where", ())):
        at: tuple[str | int, ...] = ()
        for step in path.split("."):
            listed = schema_at(SCHEMA, at).get("type") == "array"
            at = (*at, 0 if listed else step)
        assert schema_at(SCHEMA, at), path


def test_too_few_values_are_an_error() -> None:
    with pytest.raises(ValueError, match="shorter"):
        say("listed-twice", ("pools",))
    with pytest.raises(ValueError, match="longer"):
        say("listed-twice", ("pools",), "a", "b")
