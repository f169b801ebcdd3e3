"""Rows of tables of effects that decide between sentences, and paths with dots in a step."""

import tomllib
from pathlib import Path
from typing import Any

import pytest

from components.effects.rules import path
from components.effects.table import read_kinds
from components.effects.vocabulary import FieldChange, ObjectChange, SiteChange
from components.making.manifest import Manifest
from tests.kit.repository import ROOT

TABLE = """
[judges]
size = [
    {when = "grown", why = "it grows by {more}", source = "<book>"},
    {when = "gone", judge = "other"},
    {why = "it shrinks", source = "<book>"},
]
"""
MANIFEST = Manifest("Thing/a", {"apiVersion": "v1", "kind": "Thing", "metadata": {"name": "a"}})


def grown(_site: SiteChange, _change: ObjectChange, field: FieldChange) -> dict[str, int]:
    """How much more it is."""
    return {"more": field.after - field.before} if field.after > field.before else {}


def gone(_site: SiteChange, _change: ObjectChange, field: FieldChange) -> bool:
    """True if nothing is left."""
    return bool(field.after == 0)


def _module(folder: Path, text: str) -> dict[str, Any]:
    (folder / "module.toml").write_text(text, "utf-8")
    named = {"grown": grown, "gone": gone, "other": lambda *_: ["gone"]}
    return {"__file__": str(folder / "module.py"), "BOOK": "a book", **named}


def test_the_first_row_whose_condition_holds_decides(tmp_path: Path) -> None:
    judge: Any = read_kinds(_module(tmp_path, TABLE)).judges["size"]
    change = ObjectChange("component", MANIFEST, MANIFEST)
    more, less = (list(judge(None, change, FieldChange(("a",), 3, now))) for now in (5, 1))
    assert [(more[0].why, more[0].source), less[0].why] == [
        ("it grows by 2", "a book"),
        "it shrinks",
    ]
    assert judge(None, change, FieldChange(("a",), 3, 0)) == ["gone"]


def test_a_condition_that_no_module_has_is_found_when_the_table_is_read(tmp_path: Path) -> None:
    with pytest.raises(KeyError, match="grows"):
        read_kinds(_module(tmp_path, TABLE.replace("grown", "grows")))


def test_a_row_without_a_path_is_for_the_object_as_a_whole(tmp_path: Path) -> None:
    row = '[kinds.Thing]\nadded = "other"\ngone = "other"\nfields = {"" = "size"}'
    (kind,) = read_kinds(_module(tmp_path, TABLE + row)).kinds
    assert [at for at, _ in kind.fields] == [""]


def test_of_each_list_of_rows_the_last_holds_always() -> None:
    def lists(said: Any) -> list[Any]:
        inner = [each for one in said.values() if isinstance(one, dict) for each in lists(one)]
        return [*(each for each in said.values() if isinstance(each, list)), *inner]

    for file in ROOT.glob("components/**/*.toml"):
        for rows in lists(tomllib.loads(file.read_text("utf-8"))):
            if any(isinstance(row, dict) and "when" in row for row in rows):
                assert "when" not in rows[-1], file


def test_a_step_in_brackets_may_have_dots() -> None:
    assert path("metadata.labels[a.b/c]") == ("metadata", "labels", "a.b/c")
    assert path("metadata.annotations[*]") == path("metadata.annotations.*")
    assert path("") == ()
