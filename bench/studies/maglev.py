"""How evenly Envoy spreads objects over hosts, and how many move when hosts change.

``python -m bench.studies.maglev`` runs two real Envoys before 40 and before 400 real servers, asks
for 100,000 keys as PFIO makes them, takes a host out, puts it back, adds one, and restarts one at
another port; for Maglev with two sizes of table, and for a ring with Envoy's defaults. It compares
every answer with the prediction. Without Envoy it computes what one lost host costs by size of the
table and number of hosts. The tables of docs/hashing.md and its plot come from here.
"""

import argparse
import json
import random
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from bench import machine
from bench.offline import OUT
from bench.page import replace_parts
from bench.studies.maglev_models import HOSTS, SIZES, costs, enough, names, ring, rule, uneven
from bench.studies.maglev_plot import Panel, svg
from components.object_cache.maglev import Maglev
from tests.kit.envoy import Envoy, Upstreams, ask, run
from tests.kit.envoy.cluster import FILE, LISTENER, PREFIX, RING, bootstrap, endpoints, keys, maglev
from tests.kit.envoy.cluster import replace as give

ROOT = Path(__file__).resolve().parents[2]
PAGE, PLOT = ROOT / "docs" / "hashing.md", ROOT / "docs" / "images" / "hashing.svg"
FLEETS = (40, 400)
Find = Callable[[Sequence[str]], Callable[[str], str]]
"""From hosts to the function that predicts the host of a key."""


@dataclass(frozen=True, slots=True)
class Policy:
    """A way to spread keys: its name, Envoy's configuration, the prediction."""

    name: str
    config: Mapping[str, Any]
    find: Find


def _maglev(size: int) -> Policy:
    def find(hosts: Sequence[str]) -> Callable[[str], str]:
        return Maglev(tuple(hosts), size).host_of

    return Policy(f"MAGLEV {size:,}", maglev(size), find)


POLICIES = (
    _maglev(65_537),
    _maglev(1_048_573),
    Policy("RING_HASH, defaults", RING, lambda hosts: ring(hosts).host_of),
)


@dataclass(slots=True)
class Found:
    """The measurements of one policy and number of hosts; shares are of all keys."""

    policy: str
    hosts: int
    loads: list[float]
    """Keys of each host against the mean, the busiest first."""
    differ: int
    """Keys for which two Envoys disagreed."""
    leaves: float = 0.0
    own: float = 0.0
    returns: float = 0.0
    comes: float = 0.0
    news: float = 0.0
    restarts: float = 0.0
    wrong: int = 0
    """Answers that were predicted otherwise, in all steps."""


class Trial:
    """Servers with an Envoy before them, asked for the same keys after each change."""

    def __init__(self, nodes: Upstreams, envoy: Envoy, policy: Policy, objects: list[str]) -> None:
        self.nodes, self.envoy, self.policy, self.objects = nodes, envoy, policy, objects
        self.wrong = 0

    def ask_hosts(self, envoy: Envoy) -> list[str]:
        """The host of each key."""
        return ask(envoy.ports[LISTENER], [PREFIX + key for key in self.objects])

    def after(self, hosts: Sequence[str]) -> list[str]:
        """The host of each key once these are the hosts; notes what was predicted otherwise."""
        give(self.envoy, {host: self.nodes.ports[host] for host in hosts})
        found = self.ask_hosts(self.envoy)
        of = self.policy.find(hosts)
        self.wrong += sum(of(key) != host for key, host in zip(self.objects, found, strict=True))
        return found


def share(before: list[str], after: list[str]) -> float:
    """The share of keys with another host."""
    return sum(one != other for one, other in zip(before, after, strict=True)) / len(before)


def measure(policy: Policy, count: int, objects: list[str]) -> Found:
    """All steps with one policy and number of hosts."""
    hosts, new = names(count), "node-new"
    with Upstreams([*hosts, new]) as nodes, tempfile.TemporaryDirectory() as scratch:

        def configure(name: str, order: Sequence[str]) -> tuple[dict[str, Any], Path, str]:
            folder = Path(scratch) / name
            text = endpoints({host: nodes.ports[host] for host in order})
            return bootstrap(policy.config, folder), folder, text

        config, folder, text = configure("one", hosts)
        config2, folder2, text2 = configure("other", random.Random(1).sample(hosts, count))
        with (
            run(config, folder, files={FILE: text}) as envoy,
            run(config2, folder2, files={FILE: text2}, args=("--concurrency", "2")) as other,
        ):
            trial = Trial(nodes, envoy, policy, objects)
            first = trial.after(hosts)
            differ = sum(a != b for a, b in zip(first, trial.ask_hosts(other), strict=True))
            return _changes(
                trial, hosts, new, Found(policy.name, count, _loads(first, count), differ)
            )


def _changes(trial: Trial, hosts: list[str], new: str, found: Found) -> Found:
    first, lost = trial.after(hosts), hosts[len(hosts) // 3]
    found.own = first.count(lost) / len(first)
    found.leaves = share(first, trial.after([host for host in hosts if host != lost]))
    found.returns = share(first, trial.after(hosts))
    grown = trial.after([*hosts, new])
    found.comes, found.news = share(first, grown), grown.count(new) / len(grown)
    trial.nodes.stop(lost)
    trial.nodes.start(lost)
    found.restarts = share(first, trial.after(hosts))
    found.wrong = trial.wrong
    return found


def _loads(answers: list[str], hosts: int) -> list[float]:
    counts = sorted(Counter(answers).values(), reverse=True)
    idle = [0] * (hosts - len(counts))
    return [each * hosts / len(answers) for each in counts + idle]


def spread_table(rows: list[Found]) -> Iterator[str]:
    """The table of the spread by real Envoys."""
    yield (
        "| hosts | policy | busiest host / mean | least busy | one leaves: moved (its keys) "
        "| it returns | one comes: moved (its keys) | one restarts | two Envoys differ "
        "| predicted otherwise |"
    )
    yield "|---|---|---|---|---|---|---|---|---|---|"
    for each in rows:
        cells = [
            str(each.hosts),
            each.policy,
            f"{each.loads[0]:.2f}",
            f"{each.loads[-1]:.2f}",
            f"{each.leaves:.2%} ({each.own:.2%})",
            f"{each.returns:.0%}",
            f"{each.comes:.2%} ({each.news:.2%})",
            f"{each.restarts:.0%}",
            str(each.differ),
            str(each.wrong),
        ]
        yield f"| {' | '.join(cells)} |"


def all_keys_table() -> Iterator[str]:
    """The same without chance: what each host has of all possible keys."""
    yield "| hosts | MAGLEV 65,537 | MAGLEV 1,048,573 | RING_HASH: best, middle, worst site |"
    yield "|---|---|---|---|"
    for count in FLEETS:
        tables = [Maglev(tuple(names(count)), size) for size in (65_537, 1_048_573)]
        flat = [f"{max(each.shares().values()) * count:.4f}" for each in tables]
        rings = uneven(count)
        middle = rings[len(rings) // 2]
        yield f"| {count} | {flat[0]} | {flat[1]} | {rings[0]:.2f}, {middle:.2f}, {rings[-1]:.2f} |"


def cost_table(found: dict[int, dict[int, float]]) -> Iterator[str]:
    """The table of moved keys: multiples of its share that one lost host moves."""
    yield "| hosts | its share | " + " | ".join(f"{size:,}" for size in SIZES) + " |"
    yield "|---|---" + "|---" * len(SIZES) + "|"
    for count in HOSTS:
        cells = " | ".join(f"{found[size][count]:.2f}" for size in SIZES)
        yield f"| {count:,} | {1 / count:.2%} | {cells} |"
    most = " | ".join(f"{enough(size):,}" for size in SIZES)
    yield f"| twice its share at about | | {most} |"


def rule_text(found: dict[int, dict[int, float]]) -> str:
    """The error of the formula against the measurements, where it gives less than 5."""
    errors = [
        rule(count, size) / found[size][count] - 1
        for size in SIZES
        for count in HOSTS
        if rule(count, size) < 5
    ]
    return f"The formula differs from this table by {min(errors):+.0%} to {max(errors):+.0%}."


def times(rounds: int) -> list[tuple[float, float]]:
    """Wall clock and processor time of a prediction in processes that know nothing of it yet."""
    code = "from bench.studies.maglev_models import seconds; print(*seconds(400, 1_048_573))"
    command = [sys.executable, "-c", code]
    found = []
    for _ in range(rounds):
        done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
        wall, processor = done.stdout.split()
        found.append((float(wall), float(processor)))
    return sorted(found)


def time_text(taken: list[tuple[float, float]]) -> str:
    """The times in words."""
    processor = min(each for _, each in taken)
    return (
        f"One host of 400 lost, 1,048,573 entries: {taken[0][0]:.2f} s at best, "
        f"{taken[len(taken) // 2][0]:.2f} s in the middle of {len(taken)} new processes, "
        f"{processor:.2f} s of processor time, import of wasmtime included; on "
        f"{machine.description()}."
    )


def plot(rows: list[Found], found: dict[int, dict[int, float]]) -> str:
    """The load of 400 hosts by policy, and what one lost host costs."""
    many = [each for each in rows if each.hosts == FLEETS[-1]]
    loads = {each.policy.partition(", ")[0]: list(enumerate(each.loads, start=1)) for each in many}
    lines = {f"{size:,}": list(sizes.items()) for size, sizes in found.items()}
    return svg(
        [
            Panel(
                "Keys of each of 400 hosts, 100,000 keys, real Envoy",
                "hosts, the busiest first",
                "times the mean",
                loads,
                (0, 100, 200, 300, 400),
                (0, 1, 2, 3, 4),
            ),
            Panel(
                "What one lost host moves, by size of the table",
                "hosts",
                "times its share",
                lines,
                (10, 20, 40, 100, 200, 400, 800, 1600),
                (1, 1.5, 2, 3, 5, 8),
                logarithmic=True,
            ),
        ]
    )


def main(arguments: list[str] | None = None) -> None:
    """Measure, and write the page, the plot and bench/out/maglev.json."""
    parser = argparse.ArgumentParser(prog="python -m bench.studies.maglev", description=__doc__)
    parser.add_argument("--keys", type=int, default=100_000)
    parser.add_argument("--rounds", type=int, default=7, help="predictions that are timed")
    options = parser.parse_args(arguments)
    objects, rows = keys(options.keys), []
    for count in FLEETS:
        for policy in POLICIES:
            rows.append(measure(policy, count, objects))
            print(f"{count} hosts, {policy.name}: done", file=sys.stderr, flush=True)
    found, taken = costs(), times(options.rounds)
    parts = {
        "spread": "\n".join(spread_table(rows)),
        "all keys": "\n".join(all_keys_table()),
        "cost": "\n".join([*cost_table(found), "", rule_text(found)]),
        "time": time_text(taken),
    }
    figures = {"rows": [asdict(each) for each in rows], "cost": found, "seconds": taken}
    OUT.mkdir(parents=True, exist_ok=True)
    (OUT / "maglev.json").write_text(json.dumps(figures, indent=1) + "\n", encoding="utf-8")
    PLOT.write_text(plot(rows, found), encoding="utf-8")
    PAGE.write_text(
        replace_parts("studies.maglev", PAGE.read_text("utf-8"), parts), encoding="utf-8"
    )
    print("\n\n".join(parts.values()))


if __name__ == "__main__":
    main()
