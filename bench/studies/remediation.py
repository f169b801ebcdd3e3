"""How long the repair of a node takes, from its condition to its return.

``python -m bench.studies.remediation`` runs the real Node Operation Controller on the twin of a
site (398 nodes with heartbeats), with the objects and programs that the site makes, and reports
faults: of an idle node, of one with a pod that may be evicted, and of ten at once. The hosts reboot
at once, so that what a reboot takes can be added. It writes the tables of docs/repair-times.md.
"""

import argparse
import json
import math
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import median

from bench import machine
from bench.offline import OUT
from bench.page import replace_parts
from components.making.faults import FAULTY_TAINT
from schemas.facts.site import Site
from schemas.load import load_site
from schemas.model.vocabulary import Fault
from tests.kit.remediation_history import State
from tests.kit.remediation_world import NOC, Repairs, repairing
from tests.kit.twin.pods import on, pod

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs" / "repair-times.md"
SITE, POOL, MANY_POOL, TEN = "tokyo-1", "h100", "v100", 10
REBOOT_MINUTES = (5, 10, 15)
RECREATED_MINUTES = 30
"""Minutes from the installation of a host's system until it has joined, as its operator says;
the host loses the data on its disks."""
PATIENCE_SECONDS = 1200.0
REST_SECONDS = 120.0
_EVERY_TAINT = ({"operator": "Exists"},)


@dataclass(frozen=True, slots=True)
class Repair:
    """Seconds from the fault's condition until a node was in each state."""

    tainted: float
    slot: float
    drained: float
    booted: float
    returned: float


STEPS = tuple(Repair.__annotations__)


def repair(here: Repairs, node: str, since: float) -> Repair:
    """The watch's record of a node's repair that began after ``since``."""
    states = [each for each in here.history.states(node) if each.seconds >= since]
    began = next(each for each in states if each.faults)

    def after(fits: Callable[[State], object]) -> float:
        return next(s.seconds for s in states if s.seconds >= began.seconds and fits(s))

    phases = here.history.operations(node)[-1].phases
    moments = (
        after(lambda state: FAULTY_TAINT in state.taints),
        after(lambda state: state.turn),
        # A phase that is over at once may be missed.
        phases.get("Drained", phases["JobCreating"]),
        after(lambda state: state.boot != began.boot),
        states[-1].seconds,
    )
    return Repair(*(round(each - began.seconds, 2) for each in moments))


def measure_repairs(here: Repairs, nodes: Sequence[str]) -> list[Repair]:
    """Report a fault of all nodes at once, and wait until each is back."""
    since = time.monotonic()
    here.fail(Fault.ACCELERATOR_MISSING, *nodes)

    def back() -> bool:
        return all(here.reboots(node) and _sound(here.history.now(node)) for node in nodes)

    here.until(f"the return of {len(nodes)} nodes", back, PATIENCE_SECONDS)
    return [repair(here, node, since) for node in nodes]


def busy(here: Repairs, node: str) -> None:
    """Run a pod on a node."""
    space = here.world.t.namespace("bench")
    requests = {"cpu": "1"}
    work = pod("work", space, requests=requests, affinity=on(node), tolerations=_EVERY_TAINT)
    here.world.run([work])

    def runs() -> bool:
        found = here.world.watch.pod(space, "work") or {}
        return bool(found.get("status", {}).get("phase") == "Running")

    here.world.watch.until("the pod", runs, 120)


def requests(here: Repairs) -> float:
    """How many requests the controller has sent so far."""
    lines = here.world.t.metrics(NOC).splitlines()
    counters = (line for line in lines if line.startswith("rest_client_requests_total{"))
    return sum(float(line.rpartition(" ")[2]) for line in counters)


def rate(here: Repairs, work: Callable[[], object]) -> float:
    """Requests a second of the controller while something is done."""
    before, started = requests(here), time.monotonic()
    work()
    return round((requests(here) - before) / (time.monotonic() - started), 2)


def times(rows: dict[str, list[Repair]]) -> Iterable[str]:
    """The steps of each kind of repair: the median, and the least and the most."""
    yield f"| node | {' | '.join(STEPS)} |"
    yield "|---|" + "---|" * len(STEPS)
    for name, repairs in rows.items():
        cells = []
        for step in STEPS:
            found = [getattr(each, step) for each in repairs]
            cells.append(f"{median(found):.0f} s ({min(found):.0f} to {max(found):.0f})")
        yield f"| {name} | {' | '.join(cells)} |"


def sums(rows: dict[str, list[Repair]], at_once: int) -> Iterable[str]:
    """From the condition to the return with reboots that take their time."""
    yield f"| a reboot takes | {' | '.join(rows)}, the last | re-created instead |"
    yield "|---|" + "---|" * (len(rows) + 1)
    for minutes in REBOOT_MINUTES:
        cells = []
        for name, repairs in rows.items():
            found = [each.returned for each in repairs]
            batches = math.ceil(TEN / at_once) if "ten" in name else 1
            seconds = max(found) if batches > 1 else median(found)
            cells.append(f"{seconds / 60 + batches * minutes:.0f} min")
        yield f"| {minutes} min | {' | '.join(cells)} | {RECREATED_MINUTES} min |"


def measure(directory: Path, site: Site, rounds: int) -> dict[str, list[Repair] | float]:
    """All repairs, one after another on one twin, and the controller's requests a second."""
    with repairing(directory, site) as here:
        here.hosts.boot_seconds = 0.0
        here.kubelet.start()
        nodes, many = here.pool(POOL), here.pool(MANY_POOL)
        found: dict[str, list[Repair] | float] = {
            "at rest": rate(here, lambda: time.sleep(REST_SECONDS)),
            "idle": [measure_repairs(here, [node])[0] for node in nodes[:rounds]],
        }
        loaded = nodes[rounds : 2 * rounds]
        for node in loaded:
            busy(here, node)
        found["busy"] = [measure_repairs(here, [node])[0] for node in loaded]
        ten: list[Repair] = []
        found["under ten"] = rate(here, lambda: ten.extend(measure_repairs(here, many[:TEN])))
        found["ten"] = ten
        here.check()
    return found


def main(arguments: list[str] | None = None) -> None:
    """Measure, and write the page and the figures."""
    parser = argparse.ArgumentParser(
        prog="python -m bench.studies.remediation", description=__doc__
    )
    parser.add_argument("--rounds", type=int, default=5, help="of idle and of busy nodes")
    rounds = parser.parse_args(arguments).rounds
    site = load_site(ROOT, SITE).site
    if site is None:
        sys.exit(f"{SITE} has problems: run `foresite check`")
    with tempfile.TemporaryDirectory() as directory:
        found = measure(Path(directory), site, rounds)
    names = {"idle": "idle", "busy": "with a pod", "ten": "ten at once"}
    rows = {title: found[name] for name, title in names.items()}
    repairs = {title: each for title, each in rows.items() if isinstance(each, list)}
    pool = next(each for each in site.file.pools if each.name == MANY_POOL)
    at_once = sum(each.max_unavailable for each in site.remediators_of(pool))
    said = (
        f"{found['at rest']} requests a second at rest, {found['under ten']} while ten are repaired"
    )
    parts = {
        "times": "\n".join([*times(repairs), "", machine.description()]),
        "sums": "\n".join(sums(repairs, at_once)),
        "requests": f"The controller sends {said}; its client's limit is 20.",
    }
    figures = {
        name: [asdict(row) for row in each] if isinstance(each, list) else each
        for name, each in found.items()
    }
    OUT.mkdir(parents=True, exist_ok=True)
    (OUT / "remediation.json").write_text(json.dumps(figures, indent=1) + "\n", encoding="utf-8")
    PAGE.write_text(
        replace_parts("studies.remediation", PAGE.read_text("utf-8"), parts), encoding="utf-8"
    )
    print("\n\n".join(parts.values()))


def _sound(state: State) -> bool:
    return not (state.faults or state.turn or state.kept_out or state.operating)


if __name__ == "__main__":
    main()
