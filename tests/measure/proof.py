"""How long the proofs took, from what pytest has left of its runs (``--junitxml``).

``python -m tests.measure.proof show`` prints the ten slowest tests of the last ``make test`` and
the time of each of its parts. ``record`` adds them to tests/measure/proof.jsonl, which also counts
the landings (tests/kit/proof.py), and writes the tables of docs/proof.md.
"""

import argparse
import json
import subprocess
import sys
from collections.abc import Iterable, Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple
from xml.etree import ElementTree

from bench.offline import OUT
from tests.measure.page import replace_parts

ROOT = Path(__file__).resolve().parents[2]
RESULTS = OUT / "proof"
TREND = Path(__file__).with_suffix(".jsonl")
PAGE = ROOT / "docs" / "proof.md"
SLOWEST = 10


class Case(NamedTuple):
    """One test: its name, its seconds, and the command that runs it always."""

    name: str
    seconds: float
    command: str
    skipped: bool


class Part(NamedTuple):
    """The results of one run of pytest; ``start`` is in seconds of the clock."""

    name: str
    start: float
    seconds: float
    cases: Sequence[Case]


def main(arguments: list[str] | None = None) -> int:
    """Print, and record where that is asked for; 1 where there is nothing to read."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("what", choices=("show", "record"))
    options = parser.parse_args(arguments)
    parts = [read(path) for path in sorted(RESULTS.glob("*.xml"))]
    if not parts:
        print(f"tests.measure.proof: no results in {RESULTS}: run make test", file=sys.stderr)
        return 1
    print("\n".join(summary_lines(parts)))
    if options.what == "record":
        record(parts)
    return 0


def read(path: Path) -> Part:
    """The results of one run."""
    suites = list(ElementTree.parse(path).iter("testsuite"))
    cases = [_case(each) for suite in suites for each in suite.iter("testcase")]
    start = datetime.fromisoformat(suites[0].attrib["timestamp"]).timestamp()
    return Part(path.stem, start, sum(float(each.attrib["time"]) for each in suites), cases)


def _case(element: ElementTree.Element) -> Case:
    file = element.attrib["classname"].replace(".", "/") + ".py"
    properties = {each.attrib["name"]: each.attrib["value"] for each in element.iter("property")}
    skipped = element.find("skipped") is not None
    seconds, command = float(element.attrib["time"]), properties.get("command", "")
    return Case(f"{file}::{element.attrib['name']}", seconds, command, skipped)


def slowest(parts: Iterable[Part]) -> list[Case]:
    """The tests that took longest, set-up included."""
    cases = (case for part in parts for case in part.cases)
    return sorted(cases, key=lambda case: -case.seconds)[:SLOWEST]


def total(parts: Sequence[Part]) -> float:
    """Seconds from the start of the first part to the end of the last."""
    return max(each.start + each.seconds for each in parts) - min(each.start for each in parts)


def summary_lines(parts: Sequence[Part]) -> Iterator[str]:
    """The slowest tests, and the time of each part; real and cache-server run side by side."""
    yield f"--- the {SLOWEST} slowest tests ---"
    for case in slowest(parts):
        yield f"{case.seconds:7.1f} s  {case.name}"
    yield "--- parts ---"
    for part in parts:
        ran = sum(not case.skipped for case in part.cases)
        left = len(part.cases) - ran
        yield f"{part.seconds:7.1f} s  {part.name}: {ran} tests run, {left} skipped"
    yield f"{total(parts):7.1f} s  in all"


def record(parts: Sequence[Part]) -> None:
    """Add a landing to the trend, and write the page's tables."""
    commit = ["git", "rev-parse", "--short=10", "HEAD"]
    row = {
        "date": f"{datetime.now(UTC):%Y-%m-%d}",
        "commit": subprocess.check_output(commit, cwd=ROOT, text=True).strip(),
        "seconds": {"in all": round(total(parts))}
        | {part.name: round(part.seconds) for part in parts},
        "slowest": {case.name: round(case.seconds, 1) for case in slowest(parts)},
    }
    with TREND.open("a", encoding="utf-8") as file:
        file.write(json.dumps(row) + "\n")
    rows = [json.loads(line) for line in TREND.read_text("utf-8").splitlines()]
    tables = {"areas": "\n".join(_areas(parts)), "trend": "\n".join(_trend(rows))}
    PAGE.write_text(replace_parts("proof", PAGE.read_text("utf-8"), tables), "utf-8")


def _areas(parts: Iterable[Part]) -> Iterator[str]:
    """A row for each file of tests: which command runs it, how many tests, how many seconds."""
    found: dict[tuple[str, str], list[Case]] = {}
    for part in parts:
        for case in part.cases:
            command = "test" if part.name == "cache-server" and not case.command else case.command
            found.setdefault((case.name.partition("::")[0], command), []).append(case)
    yield "| tests | command | number | seconds |"
    yield "|---|---|---:|---:|"
    for (file, command), cases in sorted(found.items()):
        ran = [case for case in cases if not case.skipped]
        seconds = f"{sum(case.seconds for case in ran):.0f}" if ran else "not run"
        yield f"| {file} | make {command} | {len(cases)} | {seconds} |"


def _trend(rows: Sequence[Any]) -> Iterator[str]:
    names = sorted({name for row in rows for name in row["seconds"]})
    yield f"| date | commit | {' | '.join(names)} | slowest |"
    yield f"|---|---|{'---:|' * len(names)}---|"
    for row in rows[-20:]:
        seconds = " | ".join(f"{row['seconds'].get(name, '')}" for name in names)
        name, longest = next(iter(row["slowest"].items()))
        yield f"| {row['date']} | {row['commit']} | {seconds} | {name}, {longest} s |"


if __name__ == "__main__":
    sys.exit(main())
