"""``python -m tests.real.live.report``: run all experiments and write their part of
docs/predictions.md.

With ``--from FILE`` it takes a ``result.json`` of an earlier run (tests.real.live.run) instead.
"""

import argparse
import json
import os
import re
import sys
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from components.effects.vocabulary import Impact
from tests.kit.repository import ROOT
from tests.measure.page import replace_parts
from tests.real.live.experiment import Step
from tests.real.live.experiments import history, predicted
from tests.real.live.namespace import why_not
from tests.real.live.predictions import Group, Observation, Prediction, disagreements, fates
from tests.real.live.run import from_json, observe
from tests.real.live.trials import STEPS

PAGE = ROOT / "docs" / "predictions.md"
ON_METAL3 = {step.experiment.name for step in STEPS}
"""The experiments that are made with the real Metal3 too (hosts.py), on fewer hosts."""
_VERBS = {Impact.REIMAGE: "re-imaged", Impact.REMOVE: "removed", Impact.ADD: "added"}
_AGAIN = "the files as they are, applied again"
_FILE = re.compile(r"^[\w.-]+(/[\w.-]+)+$")


def main(arguments: list[str] | None = None) -> int:
    """Write the part; 2 where the experiments cannot be run here."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--from", dest="result", type=Path, help="a result.json")
    options = parser.parse_args(arguments)
    if options.result is None and (reason := why_not()):
        print(f"report: {reason}", file=sys.stderr)
        return 2
    result = json.loads(options.result.read_text()) if options.result else observe()
    put("rollouts", page(result))
    return 0


def put(name: str, text: str) -> None:
    """Write a part of the page anew."""
    page = PAGE.read_text("utf-8")
    PAGE.write_text(replace_parts("predictions", page, {name: text}), encoding="utf-8")


def page(result: dict[str, Any]) -> str:
    """The page's part for what a run gave."""
    steps = [step for steps in history() for step in steps]
    seen = {name: from_json(each) for name, each in result["experiments"].items()}
    held = sum(not disagreements(predicted(s), seen[s.experiment.name]) for s in steps)
    seconds = result["seconds"]
    summary = (
        f"**{held} of {len(steps)} predictions held.** The run took {seconds['all']:.0f} s in all "
        f"({seconds['started']:.0f} s to start, {seconds['site']:.0f} s to bring up the site) and "
        f"{seconds['processor']:.0f} s of processor time, on {os.cpu_count()} cores that were not "
        "idle besides.\n"
    )
    sources = list(dict.fromkeys(each for step in steps for each in _sources(step)))
    table = "\n".join(_rows(steps, seen, sources)) + "\n"
    listed = "".join(f"{n}. {_place(each)}\n" for n, each in enumerate(sources, start=1))
    return f"{summary}\n{table}\n## Where the rules are from\n{listed}".rstrip()


def names(text: str) -> list[str]:
    """The experiments that a page has a row of, in its order."""
    return re.findall(r"^\| \*\*(.+?)\*\*", text, re.MULTILINE)


def _sources(step: Step) -> list[str]:
    return step.experiment.source.split("; ")


def _place(source: str) -> str:
    if not _FILE.match(source):
        return source
    return f"`{source}`" if (ROOT / source).exists() else f"Cluster API v1.13.6 `{source}`"


def _rows(steps: Iterable[Step], seen: dict[str, Observation], sources: list[str]) -> Iterator[str]:
    yield "| change | predicted | observed | s | rule | Metal3 |"
    yield "|---|---|---|---|---|---|"
    for step in steps:
        each, found = step.experiment, seen[step.experiment.name]
        what = "; ".join(part for part in (str(each.edit), *each.by_hand) if part) or _AGAIN
        said = predicted(step)
        wrong = disagreements(said, found)
        cells = (
            f"**{each.name}**<br>{what}",
            _said(said, each.in_place),
            _seen(found, said) + "".join(f"<br>**differs:** {one}" for one in wrong),
            f"{found.seconds:.0f}",
            ", ".join(str(sources.index(one) + 1) for one in _sources(step)),
            "fake, real" if each.name in ON_METAL3 else "fake",
        )
        yield f"| {' | '.join(cell.replace('|', '/') for cell in cells)} |"


def _said(said: Prediction, in_place: int) -> str:
    hosts = [
        f"{_VERBS[impact]}: {'' if hosts.at_most is None else f'at most {hosts.at_most} of '}"
        f"{_listed(hosts.names)}"
        for impact, hosts in said.hosts.items()
    ]
    return "<br>".join([said.outcome, *describe(said.groups), *hosts, *more(in_place, said.says)])


def _seen(found: Observation, said: Prediction) -> str:
    hosts = [f"{_VERBS[i]}: {_listed(names)}" for i, names in fates(found).items() if names]
    says = said.says if any(said.says in each for each in found.said) else ""
    others = more(found.updated, says)
    return "<br>".join([found.outcome, *describe(found.groups), *hosts, *others])


def describe(groups: Mapping[str, Group]) -> list[str]:
    """The numbers of groups as the page has them."""
    return [f"`{name}` {_numbers(group)}" for name, group in groups.items()]


def _numbers(group: Group) -> str:
    if not group.down and not group.up and not group.at_once:
        return f"untouched, {group.fewest} left"
    return f"{group.down} down, {group.up} up, {group.at_once} at once, {group.fewest} left"


def _listed(names: Iterable[str]) -> str:
    found = sorted(names)
    return ", ".join(f"`{each}`" for each in found) if len(found) < 4 else f"{len(found)} hosts"


def more(in_place: int, says: str) -> list[str]:
    """What there is to say besides the numbers."""
    some = "machine" if in_place == 1 else "machines"
    changed = [f"{in_place} {some} changed in place"] if in_place else []
    return changed + ([f"“{says}”"] if says else [])


if __name__ == "__main__":
    sys.exit(main())
