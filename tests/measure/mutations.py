"""Mutations of schemas/rules and policies: whether a test notices that a rule was changed.

``python -m tests.measure.mutations`` changes one thing at a time (mutmut), runs the tests of rules,
and writes what nobody noticed into docs/mutations.md. It works in a clone of the last commit.
Changes of texts alone are left out: what a message says is judged by people. Of the rest a share is
tried, chosen by name, so that two runs try the same; what ``--minutes`` leaves no time for is not
counted.
"""

import argparse
import ast
import hashlib
import json
import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

from tests.kit.repository import ROOT
from tests.measure.page import replace_parts

PAGE = ROOT / "docs" / "mutations.md"
PACKAGES = ("schemas/rules", "policies")
MUTMUT = Path(sys.executable).with_name("mutmut")
NOTICED = {1, 3, 24, 36, 152, 255}
"""Exit codes of pytest, or of a time limit, where a mutation is noticed (mutmut 3.8, models)."""


class Mutation(NamedTuple):
    """A change of one function, as mutmut names it, and what it changes."""

    name: str
    module: str
    before: str
    after: str


def main(arguments: list[str] | None = None) -> int:
    """Try the chosen mutations, and write the page."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--one-in", type=int, default=25, help="the share that is tried")
    parser.add_argument("--minutes", type=float, default=60, help="the longest that it may try")
    options = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory(prefix="foresite-mutations-") as folder:
        clone = Path(folder) / "clone"
        subprocess.run(["git", "clone", "--quiet", str(ROOT), str(clone)], check=True)
        _mutmut(clone, "no.such.mutation*")  # makes all mutations, and learns which test runs what
        every = [each for package in PACKAGES for each in mutations(clone, package)]
        digests = {e.name: int(hashlib.sha256(e.name.encode()).hexdigest(), 16) for e in every}
        chosen = [each for each in every if digests[each.name] % options.one_in == 0]
        _mutmut(clone, *(each.name for each in chosen), seconds=options.minutes * 60)
        codes = dict(_codes(clone))
    parts = {"result": "\n".join(_table(every, chosen, codes))}
    PAGE.write_text(replace_parts("mutations", PAGE.read_text("utf-8"), parts), "utf-8")
    return 0


def mutations(clone: Path, package: str) -> Iterator[Mutation]:
    """Every mutation of a package that changes more than a text."""
    for path in sorted((clone / "mutants" / package).rglob("*.py")):
        module = path.relative_to(clone / "mutants").as_posix()
        functions = {
            node.name: node
            for node in ast.walk(ast.parse(path.read_text("utf-8")))
            if isinstance(node, ast.FunctionDef)
        }
        for name, node in functions.items():
            stem, _, number = name.rpartition("__mutmut_")
            origin = functions.get(f"{stem}__mutmut_orig")
            if origin is None or number == "orig" or _shape(node) == _shape(origin):
                continue
            before, after = _difference(origin, node)
            dotted = module.removesuffix(".py").removesuffix("/__init__").replace("/", ".")
            yield Mutation(f"{dotted}.{name}", module, before, after)


def _shape(function: ast.FunctionDef) -> str:
    """A function without its name and without what its texts say."""
    tree = ast.parse(ast.unparse(_module(function)))
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            node.value = ""
    return ast.dump(tree)


def _difference(origin: ast.FunctionDef, mutant: ast.FunctionDef) -> tuple[str, str]:
    """The first line that differs, before and after."""
    before, after = (ast.unparse(_module(each)).splitlines() for each in (origin, mutant))
    pairs = [(a, b) for a, b in zip(before, after, strict=False) if a != b]
    return (pairs[0][0].strip(), pairs[0][1].strip()) if pairs else ("", "")


def _module(function: ast.FunctionDef) -> ast.Module:
    return ast.Module(function.body, [])


def _mutmut(clone: Path, *names: str, seconds: float | None = None) -> None:
    """Run mutmut for some mutations, and end it with all that it runs where that takes longer."""
    with subprocess.Popen(
        [str(MUTMUT), "run", "--max-children", "2", *names],
        cwd=clone, stdout=sys.stderr, stderr=subprocess.STDOUT, start_new_session=True,
    ) as process:  # fmt: skip
        try:
            process.wait(seconds)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)


def _codes(clone: Path) -> Iterator[tuple[str, int | None]]:
    for path in (clone / "mutants").rglob("*.meta"):
        yield from json.loads(path.read_text("utf-8"))["exit_code_by_key"].items()


def _table(
    every: Iterable[Mutation], chosen: list[Mutation], codes: dict[str, int | None]
) -> Iterator[str]:
    tried = [each for each in chosen if codes.get(each.name) is not None]
    left = [each for each in tried if codes[each.name] not in NOTICED]
    total = len(list(every))
    yield f"{len(tried)} of {total} mutations tried, {len(tried) - len(left)} noticed by a test."
    yield ""
    yield "| module | tried | noticed |"
    yield "|---|---|---|"
    for module in sorted({each.module for each in tried}):
        mine = [each for each in tried if each.module == module]
        noticed = sum(each not in left for each in mine)
        yield f"| {module} | {len(mine)} | {noticed} |"
    yield ""
    yield "Not noticed:"
    yield ""
    for each in left:
        yield f"- {each.module}: `{_code(each.before)}` became `{_code(each.after)}`"


def _code(text: str) -> str:
    return text.replace("`", "'")[:160]


if __name__ == "__main__":
    sys.exit(main())
