"""Runs commands cold, a new process each time, and measures them."""

import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median
from threading import Timer


@dataclass(frozen=True, slots=True)
class Run:
    """One way of one tool to do a job: commands that are run one after the other.

    What each prints goes to its file in ``outputs``; ``before`` is done first, and not timed.
    ``made`` are the files with the objects, where they are others than the outputs.
    """

    tool: str
    form: str
    commands: Sequence[Sequence[str | Path]]
    outputs: Sequence[Path]
    before: Callable[[], None] = lambda: None
    made: Sequence[Path] = ()

    @property
    def objects(self) -> Sequence[Path]:
        """The files that hold what was made."""
        return self.made or self.outputs


@dataclass(slots=True)
class Times:
    """The times of a run, once for each repetition, in seconds: wall clock, and processor time of
    all cores. ``memory``: bytes of the largest process."""

    wall: list[float] = field(default_factory=list)
    cpu: list[float] = field(default_factory=list)
    memory: int = 0
    limit: float | None = None
    """Set where the run was ended because it took longer than this."""

    @property
    def best(self) -> float:
        """The least wall clock time: what the work takes where nothing disturbs it."""
        return min(self.wall) if self.wall else self.limit or 0.0

    def as_dict(self) -> dict[str, float | int | None]:
        """The times as plain data."""
        if not self.wall:
            return {"over": self.limit}
        found = {"min": min(self.wall), "median": median(self.wall), "cpu": min(self.cpu)}
        times = {name: round(each, 3) for name, each in found.items()}
        return {"runs": len(self.wall), **times, "memory": self.memory}


def environment(scratch: Path) -> dict[str, str]:
    """The environment of every tool: compiled Python modules, and nobody's settings or caches."""
    env = {k: v for k, v in os.environ.items() if not k.startswith(("PYTHON", "HELM_", "CUE_"))}
    return env | {
        # Compiled modules are there after an installation; here they are kept out of the checkout.
        "PYTHONPYCACHEPREFIX": str(scratch / "pycache"),
        "HELM_CACHE_HOME": str(scratch / "helm" / "cache"),
        "HELM_CONFIG_HOME": str(scratch / "helm" / "config"),
        "HELM_DATA_HOME": str(scratch / "helm" / "data"),
        "CUE_CACHE_DIR": str(scratch / "cue"),
    }


def measure(run: Run, env: Mapping[str, str], limit: float, times: Times) -> bool:
    """Do ``run`` once and note its times; False where it took more than ``limit`` seconds."""
    run.before()
    wall = cpu = 0.0
    for command, output in zip(run.commands, run.outputs, strict=True):
        spent = _once(command, output, env, limit - wall)
        if spent is None:
            times.limit = limit
            return False
        wall, cpu = wall + spent[0], cpu + spent[1]
        times.memory = max(times.memory, int(spent[2]))
    times.wall.append(wall)
    times.cpu.append(cpu)
    return True


def _once(
    command: Sequence[str | Path], output: Path, env: Mapping[str, str], limit: float
) -> tuple[float, float, float] | None:
    """Seconds of one process and its children, and bytes of the largest; None if it was ended."""
    with open(output, "wb") as sink, tempfile.TemporaryFile() as complaints:
        started = time.perf_counter()
        process = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=sink,
            stderr=complaints,
            env=dict(env),
            start_new_session=True,
        )
        timer = Timer(max(limit, 0.001), os.killpg, (process.pid, signal.SIGKILL))
        timer.start()
        _, status, usage = os.wait4(process.pid, 0)
        wall = time.perf_counter() - started
        timer.cancel()
        process.returncode = os.waitstatus_to_exitcode(status)
        if wall >= limit:
            return None
        if process.returncode != 0:
            complaints.seek(0)
            # A preview says in its report why nothing can be said.
            said = (complaints.read() or output.read_bytes()).decode(errors="replace")
            sys.exit(f"{command[0]} failed:\n{said[-2000:]}")
    return wall, usage.ru_utime + usage.ru_stime, usage.ru_maxrss * 1024
