"""Sizes, names and docstrings that keep the code readable; ruff and mypy judge the rest."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.kit.repository import ROOT

PACKAGES = ("foresite", "schemas", "components", "controlplane", "policies", "preview", "tools")
FILES = sorted(path for package in PACKAGES for path in (ROOT / package).rglob("*.py"))
MAX_FILE = 300
MAX_FUNCTION = 40
MAX_FUNCTION_P95 = 30
VAGUE = {"utils", "util", "helpers", "common", "misc", "junkdrawer", "base", "core", "shared"}

LONG_FILES: dict[str, str] = {}
"""Files over the limit, each with the reason why it is not taken apart."""
LONG_FUNCTIONS: dict[str, str] = {}
"""Functions over the limit as file:name, each with its reason."""

Function = ast.FunctionDef | ast.AsyncFunctionDef


def tree(path: Path) -> ast.Module:
    return ast.parse(path.read_text("utf-8"))


def name(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


def functions(path: Path) -> Iterator[tuple[str, int]]:
    """Each function of a file with its length in lines, decorators left out."""
    for node in ast.walk(tree(path)):
        if isinstance(node, Function):
            assert node.end_lineno is not None
            yield f"{name(path)}:{node.name}", node.end_lineno - node.lineno + 1


def public(node: ast.Module | ast.ClassDef, prefix: str) -> Iterator[tuple[str, bool]]:
    """Each public class, function and method below ``node``, and whether it has a docstring."""
    for child in node.body:
        if isinstance(child, Function | ast.ClassDef) and not child.name.startswith("_"):
            yield f"{prefix}{child.name}", ast.get_docstring(child) is not None
            if isinstance(child, ast.ClassDef):
                yield from public(child, f"{prefix}{child.name}.")


@pytest.mark.parametrize("path", FILES, ids=name)
def test_a_file_is_short_and_says_what_it_owns(path: Path) -> None:
    text = path.read_text("utf-8")
    lines = text.count("\n")
    assert (lines > MAX_FILE) == (name(path) in LONG_FILES), f"{lines} lines"
    assert not text or ast.get_docstring(tree(path)), "the module has no docstring"
    assert not {path.stem, path.parent.name} & VAGUE, "the name says nothing"


def test_functions_are_short() -> None:
    every = [each for path in FILES for each in functions(path)]
    long = {key: size for key, size in every if size > MAX_FUNCTION}
    assert long.keys() == LONG_FUNCTIONS.keys(), long
    sizes = sorted(size for _, size in every)
    assert sizes[int(0.95 * len(sizes))] <= MAX_FUNCTION_P95


def test_what_is_public_is_documented() -> None:
    every = [each for path in FILES for each in public(tree(path), f"{name(path)}:")]
    silent = [what for what, documented in every if not documented]
    assert len(silent) <= 0.05 * len(every), silent


def test_every_test_file_is_collected() -> None:
    for path in (ROOT / "tests").rglob("*.py"):
        named = path.name.startswith("test_")
        tests = [key for key, _ in functions(path) if key.partition(":")[2].startswith("test_")]
        assert bool(tests) == named, f"{path.name} has {len(tests)} tests"
