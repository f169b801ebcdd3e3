"""How many interrupted runs ``foresite recover`` and the next ``up`` bring back to what a site is.

``python -m bench.studies.survival --seeds 50`` kills by seed (bench/studies/kills.py), and writes
bench/out/survival.json and the tables of docs/survival-kills.md. Exit code 1 where a seed does not
converge.
"""

import argparse
import multiprocessing
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from itertools import chain
from pathlib import Path

from bench import machine
from bench.offline import OUT
from bench.page import replace_parts, write_results
from bench.studies.kills import survive
from bench.studies.kills_plan import Outcome, Plan
from bench.studies.kills_world import World

PAGE = Path(__file__).resolve().parents[2] / "docs" / "survival-kills.md"


def play_seeds(seeds: Sequence[int]) -> list[Outcome]:
    """The seeds one after the other, in a world of their own."""
    with tempfile.TemporaryDirectory(prefix="foresite-kills-") as folder:
        world = World(Path(folder))
        try:
            outcomes = []
            for seed in seeds:
                outcomes.append(survive(world, Plan.of(seed)))
                _say(outcomes[-1])
            return outcomes
        finally:
            world.close()


def _say(outcome: Outcome) -> None:
    verdict = "; ".join(outcome.wrong) or "converged"
    print(
        f"{outcome.seed:3} {outcome.plan}: {outcome.hits} kills, {outcome.written} objects were "
        f"written, {outcome.orphans} orphans: {verdict}, {outcome.seconds} s",
        file=sys.stderr, flush=True,
    )  # fmt: skip


def summary(outcomes: list[Outcome]) -> Iterator[str]:
    """The figure, and what the seeds were."""
    good = [each for each in outcomes if not each.wrong]
    kills = sum(each.hits for each in outcomes)
    amid = sum(each.written > 0 for each in outcomes)
    orphans = sum(each.orphans for each in outcomes)
    yield (
        f"{len(good)} of {len(outcomes)} seeds converge: {kills} kills, {amid} of them amid the "
        f"writing of objects, {orphans} orphans found and deleted."
    )
    yield ""
    yield "| what was killed, and when it was | seeds | converged |"
    yield "|---|---|---|"
    kinds = Counter(_kind(each) for each in outcomes)
    for kind in sorted(kinds):
        yield f"| {kind} | {kinds[kind]} | {sum(_kind(each) == kind for each in good)} |"


def _kind(outcome: Outcome) -> str:
    plan = Plan.of(outcome.seed)
    how = "with" if plan.checkpoints else "without"
    return f"{plan.case}: {plan.victim} by {plan.signal.name}, {how} checkpoints"


def main(arguments: list[str] | None = None) -> int:
    """Play all seeds in a few processes; 1 where one does not converge."""
    parser = argparse.ArgumentParser(prog="bench.studies.survival", description=__doc__)
    parser.add_argument("--seeds", type=int, default=50)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--processes", type=int, default=2)
    options = parser.parse_args(arguments)
    seeds = range(options.first, options.first + options.seeds)
    shares = [seeds[start :: options.processes] for start in range(options.processes)]
    with multiprocessing.get_context("spawn").Pool(options.processes) as pool:
        several = pool.map(play_seeds, shares, 1)
    outcomes = sorted(chain.from_iterable(several), key=lambda each: each.seed)
    text = "\n".join(summary(outcomes))
    write_results(OUT / "survival", {"seeds": [asdict(each) for each in outcomes]}, text)
    page = PAGE.read_text(encoding="utf-8")
    parts = {"seeds": text, "machine": f"Machine: {machine.description()}."}
    PAGE.write_text(replace_parts("studies.survival", page, parts), encoding="utf-8")
    return 1 if any(each.wrong for each in outcomes) else 0


if __name__ == "__main__":
    sys.exit(main())
