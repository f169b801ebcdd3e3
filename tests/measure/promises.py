"""Foresite's promises, with the results of their proofs.

``python -m tests.measure.promises`` runs the tests that tests/promises.yaml names, takes its
measurements, and writes docs/promises.md of their results. ``--only WORD`` proves the promises
with that word and leaves the other rows as they are not: it prints, and writes nothing.
``--results FILE…`` takes what pytest has written of runs of this very commit (``--junitxml``), and
runs no test.
"""

import argparse
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from statistics import median
from typing import Any
from xml.etree import ElementTree

import yaml

from bench.page import description
from schemas.load import load
from tests.invalid.faults import build, fault_files, read_fault
from tests.kit.repository import ROOT

PAGE = ROOT / "docs" / "promises.md"
PROMISES = ROOT / "tests" / "promises.yaml"
Outcomes = Mapping[str, Counter[str]]
"""Of each test how many of its cases passed, failed and were skipped."""


def promises() -> list[dict[str, Any]]:
    """The promises, with the tests and the measurement that prove them."""
    found: list[dict[str, Any]] = yaml.safe_load(PROMISES.read_text("utf-8"))
    return found


def main(arguments: list[str] | None = None) -> int:
    """Prove, and write the page; 1 where a test failed or proved nothing."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", metavar="WORD", default="")
    parser.add_argument("--results", metavar="FILE", nargs="+", type=Path, default=[])
    options = parser.parse_args(arguments)
    chosen = [each for each in promises() if options.only.lower() in each["promise"].lower()]
    wanted = list(dict.fromkeys(test for each in chosen for test in each["tests"]))
    outcomes = count_outcomes(wanted, options.results) if options.results else run_tests(wanted)
    text = "\n".join(page(chosen, outcomes)) + "\n"
    if options.only:
        print(text)
    else:
        PAGE.write_text(text, "utf-8")
    return int(any(not sound(each, outcomes) for each in chosen))


def run_tests(tests: Sequence[str]) -> Outcomes:
    """Run tests, in one go, and count how their cases ended."""
    with tempfile.TemporaryDirectory() as folder:
        results = Path(folder) / "results.xml"
        command = [sys.executable, "-m", "pytest", "-q", f"--junitxml={results}", *tests]
        subprocess.run(command, cwd=ROOT, stdout=sys.stderr, check=False)
        return count_outcomes(tests, [results])


def count_outcomes(tests: Iterable[str], results: Iterable[Path]) -> Outcomes:
    """The outcomes of the cases of tests, from the reports of pytest's runs."""
    counts: dict[str, Counter[str]] = {test: Counter() for test in tests}
    cases = (case for file in results for case in ElementTree.parse(file).iter("testcase"))
    for case in cases:
        file = case.attrib["classname"].replace(".", "/") + ".py"
        test = f"{file}::{case.attrib['name'].partition('[')[0]}"
        tags = {child.tag for child in case}
        failed = bool(tags & {"failure", "error"})
        ended = "failed" if failed else "skipped" if "skipped" in tags else "passed"
        counts.setdefault(test, Counter())[ended] += 1
    return counts


def sound(promise: Mapping[str, Any], outcomes: Outcomes) -> bool:
    """True if every test of a promise passed and none of them proved nothing."""
    ends = [outcomes[test] for test in promise["tests"]]
    return bool(ends) and all(each["passed"] and not each["failed"] for each in ends)


def page(chosen: Iterable[Mapping[str, Any]], outcomes: Outcomes) -> Iterator[str]:
    """The page: a row a promise."""
    commit = subprocess.check_output(
        ["git", "rev-parse", "--short=10", "HEAD"], cwd=ROOT, text=True
    )
    yield "# Guarantees, and what proves them"
    yield ""
    yield "Made by `python -m tests.measure.promises` from what its tests and measurements gave, on"
    yield f"{datetime.now(UTC):%Y-%m-%d} at {commit.strip()}, {description()}. What is"
    yield "guaranteed, and by which tests, is in [tests/promises.yaml](../tests/promises.yaml)."
    yield ""
    yield "| promise | holds for | proof | figure |"
    yield "|---|---|---|---|"
    for each in chosen:
        proof = "<br>".join(_format_outcome(test, outcomes[test]) for test in each["tests"])
        figure = MEASURES[each["measured"]]() if "measured" in each else ""
        state = "" if sound(each, outcomes) else "**not proved**<br>"
        yield f"| {each['promise']} | {each['holds_for']} | {state}{proof} | {figure} |"


def _format_outcome(test: str, ends: Counter[str]) -> str:
    file, _, name = test.partition("::")
    counts = ", ".join(f"{ends[how]} {how}" for how in ("passed", "failed", "skipped") if ends[how])
    return f"[{name.removeprefix('test_').replace('_', ' ')}](../{file}): {counts or 'not run'}"


def bad_files() -> str:
    """How long every problem of a bad file takes, from the files on disk, in this process;
    the best of three rounds."""
    seconds = []
    with tempfile.TemporaryDirectory() as folder:
        for path in fault_files():
            fault = read_fault(path)
            root = build(fault, Path(folder) / path.stem)
            rounds = []
            for _ in range(3):
                started = time.perf_counter()
                load(root, fault.get("load"))
                rounds.append(time.perf_counter() - started)
            seconds.append(min(rounds))
    slowest, middle = max(seconds) * 1000, median(seconds) * 1000
    return f"{len(seconds)} files, median {middle:.0f} ms, slowest {slowest:.0f} ms"


MEASURES: Mapping[str, Callable[[], str]] = {"bad_files": bad_files}

if __name__ == "__main__":
    sys.exit(main())
