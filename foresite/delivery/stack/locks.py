"""Locks of a stack: who holds them, and whether they still live.

``pulumi cancel`` takes a lock away without asking that (pulumi 3.255, backend/diy/backend.go), and
two runs at once spoil the state. A lock is a file with process, user, host and time
(backend/diy/lock.go); of backends that are no folder, Pulumi's complaint says the same. There the
name of a host says nothing of who may be gone: runners share theirs, and clocks differ.
"""

import os
import re
import socket
from collections.abc import Mapping
from datetime import datetime
from pathlib import Path
from typing import Any, NamedTuple

from foresite.delivery.stack.statefile import place
from schemas.reading.bounded import parse_json

_COMPLAINT = re.compile(
    r"created by (?P<user>\S*)@(?P<host>\S+) \(pid (?P<pid>\d+)\) at (?P<at>\S+)"
)
_STARTED = 19
"""When a process began, in the fields of /proc/PID/stat after its name (proc_pid_stat(5))."""
_SLACK = 2.0
"""Seconds by which a clock may differ from the kernel's account of when a process began."""


class Lock(NamedTuple):
    """A lock: process, host and user that took it, and when. ``alive`` is None where it cannot be
    told, as for a process of another host."""

    pid: int
    host: str
    user: str
    since: str
    alive: bool | None

    @property
    def name(self) -> str:
        """The name of the lock on the command line, with its second: containers of one host's name
        number their processes alike. The file has fractions of it too, the complaint none."""
        return f"{self.pid}@{self.host}@{re.sub(r'[.][0-9]+', '', self.since)}"

    def ways_out(self, stack: str) -> str:
        """What a person may do about it."""
        wait = "wait until it is over, and run the same command again"
        dead = f"if you know that it is dead: foresite recover {stack} --take-over {self.name}"
        return wait if self.alive else f"{wait}; {dead}"

    def __str__(self) -> str:
        unseen = "whether it lives cannot be seen here"
        state = {True: "it lives", False: "it is gone", None: unseen}
        owner = f"{self.pid}@{self.host} of {self.user}"
        return f"process {owner} since {self.since}: {state[self.alive]}"


def locks(environment: Mapping[str, str], program: Path, stack: str) -> list[Lock]:
    """The locks of a stack of the project in ``program``, if its backend is a local folder."""
    kept = place(environment, program, stack)
    found = (_read(path) for path in sorted(kept.locks.glob("*.json"))) if kept else ()
    return [each for each in found if each is not None]


def question(stack: str) -> tuple[str, ...]:
    """A command of Pulumi that changes nothing: a stack that is to get its own name is locked, and
    then the name is taken (pulumi 3.255, backend/diy/backend.go, renameStack)."""
    return "stack", "rename", stack, "--stack", stack


def parse_locks(text: str) -> list[Lock]:
    """The locks that Pulumi refuses to work for; of none it is known whether its owner lives."""
    every = _COMPLAINT.finditer(text)
    return [Lock(int(each["pid"]), each["host"], each["user"], each["at"], None) for each in every]


def _read(path: Path) -> Lock | None:
    try:
        text = path.read_text(encoding="utf-8")
    except OSError:
        return None  # released meanwhile
    try:
        said: dict[str, Any] = parse_json(text)
        pid, host = int(said["pid"]), str(said["hostname"])
        user, since = (str(said.get(key, "")) for key in ("username", "timestamp"))
        lives = _owner_lives(pid, since) if host == socket.gethostname() else None
        return Lock(pid, host, user, since, lives)
    except (ValueError, KeyError, TypeError, OverflowError):
        # Whose it is cannot be read, so nobody can say that they are gone.
        return Lock(0, path.stem, "", "", None)


def _owner_lives(pid: int, since: str) -> bool:
    """True if a process of this machine still runs. One that only waits to be reaped does not; one
    that began after the lock was taken is another of the same number."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        pass
    try:
        stat = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace")
        fields = stat.rpartition(")")[2].split()
        return fields[0] not in ("Z", "X") and not _younger(float(fields[_STARTED]), since)
    except (OSError, IndexError, ValueError):
        return True


def _younger(ticks: float, since: str) -> bool:
    """True if a process that began ``ticks`` after the machine did is younger than a lock."""
    try:
        taken = datetime.fromisoformat(since).timestamp()
    except ValueError:
        return False
    lines = Path("/proc/stat").read_text(encoding="utf-8").splitlines()
    booted = next((float(line.split()[1]) for line in lines if line.startswith("btime ")), 0.0)
    return booted + ticks / os.sysconf("SC_CLK_TCK") > taken + _SLACK
