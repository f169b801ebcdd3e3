"""``python -m tests.real.live.run OUT``: all experiments in one world; what was seen as JSON in
OUT.

Runs in a namespace of its own only (namespace.py): ``observe`` starts it there.
"""

import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from tests.kit.parts import or_skip
from tests.kit.repository import ROOT
from tests.real.live import world
from tests.real.live.conduct import Conduct
from tests.real.live.experiments import history
from tests.real.live.metal3_world import require
from tests.real.live.namespace import inside, record, why_not
from tests.real.live.predictions import Group, Observation, Outcome
from tests.real.live.state import start
from tools.toolchain import locate

GROUPS = ("controlplane", "cluster-api")
_LIMIT_SECONDS = 2400


def main(out: Path) -> dict[str, Any]:
    """Run every experiment."""
    clock = time.monotonic()
    with world.running(locate(GROUPS), out) as here:
        started = time.monotonic() - clock
        conduct = Conduct(here, out)
        conduct.bring_up(start())
        ready = time.monotonic() - clock
        seen: dict[str, Any] = {}
        for steps in history():
            for name, observation in conduct.round(steps).items():
                seen[name] = as_json(observation)
                print(f"{time.monotonic() - clock:6.1f} {name}: {seen[name]}", flush=True)
        seconds = {
            "processor": _processor_seconds(),
            "started": started,
            "site": ready - started,
            "experiments": time.monotonic() - clock - ready,
        }
    seconds["all"] = time.monotonic() - clock
    return {"experiments": seen, "strays": conduct.recorder.strays, "seconds": seconds}


def _processor_seconds() -> float:
    """The processor time of all processes of the namespace, which are ours alone."""
    ticks = 0
    for path in Path("/proc").glob("[0-9]*/stat"):
        user, system = path.read_text().rpartition(")")[2].split()[11:13]
        ticks += int(user) + int(system)
    return ticks / os.sysconf("SC_CLK_TCK")


def observe(module: str = "tests.real.live.run", *arguments: str) -> Any:
    """Run a module such as this in a namespace of its own; its ``result.json``.

    Raises RuntimeError with the end of the output where a run fails.
    """
    with tempfile.TemporaryDirectory(prefix="foresite-live-") as folder:
        # Time tells whether a rollout is stuck, so busy neighbours must not hold up the managers.
        # Who may not have that goes on without.
        command = ["nice", "-n", "-10", *inside([sys.executable, "-m", module, folder, *arguments])]
        # A lazy garbage collector takes an eighth off the servers' work.
        env = {"GOGC": "400", **os.environ}
        done = subprocess.run(
            command, cwd=ROOT, env=env, stdin=subprocess.DEVNULL, capture_output=True, text=True,
            timeout=_LIMIT_SECONDS, check=False,
        )  # fmt: skip
        if done.returncode != 0:
            raise RuntimeError((done.stdout + done.stderr)[-6000:])
        return json.loads((Path(folder) / "result.json").read_text())


def observe_with(require: Callable[[], object], module: str, *arguments: str) -> Any:
    """``observe``; the test is skipped, with the reason, where there can be no namespace, or where
    a program that ``require`` looks for is not to be had."""
    if reason := why_not():
        pytest.skip(reason)
    or_skip(require)
    return observe(module, *arguments)


observe_metal3 = partial(observe_with, require)
"""The same for a module that runs a world of the real Metal3 (metal3_world.py)."""


def as_json(seen: Observation) -> dict[str, Any]:
    """An observation as plain data."""
    return {
        "outcome": seen.outcome.value,
        "groups": {name: list(group) for name, group in seen.groups.items()},
        "wiped": sorted(seen.wiped),
        "installed": sorted(seen.installed),
        "refused": sorted(seen.refused),
        "said": list(seen.said),
        "updated": seen.updated,
        "seconds": round(seen.seconds, 1),
    }


def from_json(seen: dict[str, Any]) -> Observation:
    """The observation that ``as_json`` made plain data of."""
    return Observation(
        Outcome(seen["outcome"]),
        {name: Group(*numbers) for name, numbers in seen["groups"].items()},
        frozenset(seen["wiped"]),
        frozenset(seen["installed"]),
        frozenset(seen["refused"]),
        tuple(seen["said"]),
        seen["updated"],
        seen["seconds"],
    )


if __name__ == "__main__":
    record(main)
