"""``python -m tests.real.live.host_report``: run what is tried on the real Metal3 (hosts.py), and
write its table in docs/predictions.md. ``--from FILE`` takes the ``result.json`` of an earlier run.
"""

import argparse
import json
import os
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tests.real.live.predictions import disagreements
from tests.real.live.report import PAGE, describe, more, put
from tests.real.live.run import from_json, observe
from tests.real.live.trials import SOURCES, STEPS, TRIALS, differences

MODULE = "tests.real.live.hosts"
_PART = re.compile(r"<!-- measure.predictions hosts -->.*<!-- end of hosts -->", re.DOTALL)


def main(arguments: list[str] | None = None) -> int:
    """Write the table into its part of the page."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--from", dest="result", type=Path, help="a result.json")
    file = parser.parse_args(arguments).result
    put("hosts", "\n".join(_lines(json.loads(file.read_text()) if file else observe(MODULE))))
    return 0


def written() -> list[str]:
    """The changes that the page has a row of."""
    parts = _PART.findall(PAGE.read_text("utf-8"))
    return re.findall(r"^\| (?!change)(.+?) \|", parts[0], re.MULTILINE)


def _lines(result: dict[str, Any]) -> Iterator[str]:
    """The table of a run, with a sentence before it."""
    rows: list[tuple[Any, ...]] = []
    held = 0
    for step in STEPS:
        said, seen = step.experiment.predicted, from_json(result["rollouts"][step.experiment.name])
        held += not disagreements(said, seen)
        words = said.says if any(said.says in each for each in seen.said) else ""
        cells = (
            "; ".join([one.outcome, *describe(one.groups), *more(changed, told)])
            for one, changed, told in (
                (said, step.experiment.in_place, said.says),
                (seen, seen.updated, words),
            )
        )
        rows.append((step.experiment.name, *cells, seen.seconds, step.experiment.source))
    for trial, found in zip(TRIALS, result["trials"], strict=True):
        held += not differences(trial, found)
        words = f"<br>“{trial.says}”" if trial.says else ""
        predicted = f"{trial.trail}; Machine {trial.machine}{words}"
        observed = f"{found['trail']}; Machine {found['machine']}{words if found['said'] else ''}"
        rows.append((trial.name, predicted, observed, found["seconds"], SOURCES[trial.source]))
    seconds = result["seconds"]
    yield (
        f"**{held} of {len(rows)} predictions held**, in {seconds['all']:.0f} s, of them "
        f"{seconds['site']:.0f} s until the site of {len(STEPS[0].before.hosts)} hosts was up, on "
        f"{os.cpu_count()} cores that were not idle besides.\n"
    )
    yield "| change | predicted | observed | s | rule |"
    yield "|---|---|---|---|---|"
    for name, predicted, observed, took, source in rows:
        yield f"| {name} | {predicted} | {observed} | {took:.0f} | {source} |"


if __name__ == "__main__":
    sys.exit(main())
