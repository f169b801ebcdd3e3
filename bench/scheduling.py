"""How fast gangs start beside single pods: the gang scheduler and the default one, side by side.

``python -m bench.scheduling`` brings up the twin of a site (a real control plane, real schedulers,
KWOK nodes) and gives each scheduler the same pods in turn. Timed are the way from the creation of
the first pod to the last bind, and from the first bind to the last. A gang starts once all of it is
known and another pod has passed, so its whole time holds that wait.
"""

import argparse
import sys
import tempfile
import time
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median

from bench.fleet import ROOT
from bench.offline import OUT
from bench.page import write_results
from schemas.load import load_site
from tests.kit.twin.pods import Shape, gang, pod
from tests.kit.twin.schedulers import DEFAULT, GANG
from tests.kit.twin.world import World, world

SITE = "tokyo-1"
SIZES = (8, 64, 512)
SCHEDULERS = (DEFAULT, GANG)
_REQUESTS = {"cpu": "4", "nvidia.com/gpu": "2"}
SHAPE: Shape = {"requests": _REQUESTS, "tolerations": [{"operator": "Exists"}]}
"""Requests and tolerations of each pod: 2,000 GPUs hold 1,000 pods."""
CREATED, BOUND = "from creation", "first to last bind"
RATE = "pods per second, binding"


@dataclass(slots=True)
class Rounds:
    """Of one scheduler and size, each round: seconds from the first pod's creation to the last
    bind, and from the first bind to the last."""

    whole: list[float] = field(default_factory=list)
    binding: list[float] = field(default_factory=list)

    def as_dict(self, size: int) -> dict[str, float | int]:
        """The medians, with the pods bound per second of each."""
        whole, binding = median(self.whole), median(self.binding)
        return {
            "rounds": len(self.whole),
            CREATED: round(whole, 3),
            BOUND: round(binding, 3),
            "pods per second, from creation": round(size / whole, 1),
            RATE: round((size - 1) / max(binding, 1e-3), 1),
        }


Results = dict[str, dict[int, Rounds]]
"""By scheduler and number of pods."""


def measure(here: World, scheduler: str, size: int, rounds: Rounds) -> None:
    """Start ``size`` pods with a scheduler, note the times, and clear the site again."""
    namespace = here.t.namespace("bench")
    shape: Shape = {**SHAPE, "scheduler": scheduler}
    if scheduler == GANG:
        pods = gang("job", namespace, size, **shape)
    else:
        pods = [pod(f"job-{number}", namespace, **shape) for number in range(size)]

    def is_done() -> bool:
        return len(here.watch.bound(namespace)) == size

    started = time.monotonic()
    here.run(pods)
    if scheduler == GANG:
        here.jostle(GANG, f"{size} pods", is_done, seconds=300)
    else:
        here.watch.until(f"{size} pods", is_done, seconds=300)
    binds = here.watch.binds(namespace)
    rounds.whole.append(binds[-1].seconds - started)
    rounds.binding.append(binds[-1].seconds - binds[0].seconds)
    here.clear(namespace)


def compare(here: World, sizes: Iterable[int], rounds: int) -> Results:
    """Rounds of every size with each scheduler, in turns. Exits where one is not there."""
    if why := here.absent.get(GANG):
        sys.exit(why)
    results = {name: {size: Rounds() for size in sizes} for name in SCHEDULERS}
    for number in range(rounds):
        for size in results[GANG]:
            for name in SCHEDULERS:
                measure(here, name, size, results[name][size])
        print(f"round {number + 1} of {rounds} done", file=sys.stderr, flush=True)
    return results


def write(results: Results) -> None:
    """Put the figures and a table into bench/out/, and print the table: in brackets the gang
    scheduler's ratio to the default one."""
    figures = {name: {n: e.as_dict(n) for n, e in sizes.items()} for name, sizes in results.items()}
    head = f"| pods | scheduler | {CREATED} | {BOUND} | bound per second |"
    lines = [head, "|---" * 5 + "|"]
    for size, base in figures[DEFAULT].items():
        for name in SCHEDULERS:
            each = figures[name][size]
            whole = f"{each[CREATED]:.2f} s ({each[CREATED] / base[CREATED]:.2f})"
            lines.append(f"| {size} | {name} | {whole} | {each[BOUND]:.2f} s | {each[RATE]:.0f} |")
    write_results(OUT / "scheduling", figures, "\n".join(lines))


def main() -> None:
    """Measure, and write the table and the figures to bench/out/."""
    parser = argparse.ArgumentParser(prog="python -m bench.scheduling", description=__doc__)
    parser.add_argument("--rounds", type=int, default=5, help="of each size and scheduler")
    arguments = parser.parse_args()
    site = load_site(ROOT, SITE).site
    if site is None:
        sys.exit(f"{SITE} has problems: run `foresite check`")
    with tempfile.TemporaryDirectory() as directory, world(Path(directory), site) as here:
        results = compare(here, SIZES, arguments.rounds)
    write(results)


if __name__ == "__main__":
    main()
