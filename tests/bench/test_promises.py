"""docs/promises.md says of each promise what proved it, and nothing of it is written by hand."""

import ast
import re
from typing import Any

import pytest

from tests.kit.repository import ROOT
from tests.measure.promises import MEASURES, PAGE, promises

PROMISES = promises()
ROWS = [
    [cell.strip() for cell in line.strip("|").split("|")]
    for line in PAGE.read_text("utf-8").splitlines()
    if line.startswith("| ") and not line.startswith("| promise |")
]


def test_the_page_has_every_promise_in_its_order() -> None:
    assert [row[:2] for row in ROWS] == [[each["promise"], each["holds_for"]] for each in PROMISES]


@pytest.mark.parametrize("promise", PROMISES, ids=lambda each: each["promise"])
def test_a_promise_names_tests_that_are_there(promise: dict[str, Any]) -> None:
    assert promise["tests"]
    assert promise.get("measured", next(iter(MEASURES))) in MEASURES
    for each in promise["tests"]:
        file, _, name = each.partition("::")
        tree = ast.parse((ROOT / file).read_text("utf-8"))
        assert name in {node.name for node in tree.body if isinstance(node, ast.FunctionDef)}, each


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row[0])
def test_a_promise_was_proved(row: list[str]) -> None:
    proof = row[2]
    assert "not proved" not in proof and "failed" not in proof
    (promise,) = (each for each in PROMISES if each["promise"] == row[0])
    passed = re.findall(r"\]\(\.\./(tests/[\w/]+\.py)\): (\d+) passed", proof)
    assert [file for file, _ in passed] == [each.partition("::")[0] for each in promise["tests"]]
    assert all(int(count) > 0 for _, count in passed)
    assert bool(row[3]) == ("measured" in promise)
