"""Cluster API's own record of its rollout planner: the golden files of its unit test, as numbers.

They lie in the Go module (internal/controllers/machinedeployment/testdata/rollingupdate) and are
read where Go keeps it. Each is one simulated rollout; in it a machine that is created is available
at the next look, so numbers of machines are the planner's and times mean nothing.
"""

import json
import re
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from tools.toolchain.parts import TOOLS, parts, sources

MODULE = "sigs.k8s.io/cluster-api"
FOLDER = Path("internal/controllers/machinedeployment/testdata/rollingupdate")
_SUFFIX = ".test.log.golden"
_NAME = re.compile(
    r"(in-place|regular) rollout, (\d+) replicas, maxsurge (\d+), maxunavailable (\d+)"
    r"(?:, ((?!random).*?))?(, random\(0\))?"
)
_PLAN = re.compile(r" +md: (?:md: )?(\d+)/(\d+) replicas, (\d+) available")
_SET = re.compile(r" +ms(\d+): (?:from \d+/\d+ to )?(\d+)/(\d+) replicas, (\d+) available")
_SCALED = re.compile(r"\[MS controller\] - ms(\d+) scale (up|down) to (\d+)/(\d+) replicas")


class Step(NamedTuple):
    """The planner's view and its request at one look.

    ``old`` and ``new`` are the replicas that it asks for of all former MachineSets and of the
    current one; ``total`` and ``available`` are the machines that it saw.
    """

    old: int
    new: int
    total: int
    available: int


@dataclass(frozen=True)
class Rollout:
    """One simulated rollout.

    ``most`` is the largest number of machines that were there at any time, ``fewest`` the smallest
    that were available, a new one counted from the planner's next look on. ``in_place`` machines
    are changed and not replaced (a feature gate, off by default); ``random``: controllers take
    their turns at random; ``besides`` is what else the test changes.
    """

    name: str
    replicas: int
    max_surge: int
    max_unavailable: int
    steps: tuple[Step, ...]
    most: int
    fewest: int
    in_place: bool
    random: bool
    besides: str


def golden_folder() -> Path:
    """Where the files are; Go downloads the pinned module if it has to.

    Raises FileNotFoundError where there is no Go, CalledProcessError where Go cannot have it.
    """
    with tempfile.TemporaryDirectory() as folder:
        # A copy: the pins stay as they are, whatever Go would add to them.
        for path in sources(parts()["capi-core"].module_dir, TOOLS):
            shutil.copyfile(path, Path(folder) / path.name)
        command = ["go", "mod", "download", "-json", MODULE]
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=True)
    return Path(json.loads(done.stdout)["Dir"]) / FOLDER


def rollouts() -> list[Rollout]:
    """Every golden file, by name."""
    return [parsed(path) for path in sorted(golden_folder().glob(f"*{_SUFFIX}"))]


def parsed(path: Path) -> Rollout:
    """One golden file as numbers. Raises ValueError where it is not what we know."""
    text = path.read_text(encoding="utf-8")
    name = path.name.removesuffix(_SUFFIX)
    head = _NAME.fullmatch(name)
    if head is None:
        raise ValueError(f"{name} does not say what it is")
    most, fewest = _extremes(text)
    return Rollout(
        name=name,
        replicas=int(head[2]),
        max_surge=int(head[3]),
        max_unavailable=int(head[4]),
        steps=tuple(_steps(text)),
        most=most,
        fewest=fewest,
        in_place=head[1] == "in-place",
        random=head[6] is not None,
        besides=head[5] or "",
    )


def _steps(text: str) -> Iterator[Step]:
    """The result of each look of the planner."""
    for block in text.split("[MD controller] - Result of rollout planner\n")[1:]:
        plan = _PLAN.match(block)
        if plan is None:
            raise ValueError(f"not the state of a MachineDeployment: {block[:80]!r}")
        end = block.find("\n[")
        sets = {int(found[1]): int(found[3]) for found in _SET.finditer(block[:end])}
        current = max(sets)
        old = sum(asked for number, asked in sets.items() if number != current)
        yield Step(old, sets[current], int(plan[1]), int(plan[3]))


def _extremes(text: str) -> tuple[int, int]:
    """The most machines there were, and the fewest available, at any line of the record."""
    counts: dict[int, int] = {}
    available = most = 0
    fewest: int | None = None
    for line in text.splitlines():
        if found := _SET.match(line):
            counts[int(found[1])] = int(found[2])
        elif found := _SCALED.match(line):
            number, now = int(found[1]), int(found[3])
            available -= max(0, counts[number] - now)
            counts[number] = now
        elif found := _PLAN.match(line):
            available = int(found[3])
        else:
            continue
        most = max(most, sum(counts.values()))
        fewest = available if fewest is None else min(fewest, available)
    if fewest is None:
        raise ValueError("no MachineDeployment in it")
    return most, fewest
