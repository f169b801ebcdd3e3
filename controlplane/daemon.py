"""A server process that outlives the command which starts it, known by a pid file."""

import contextlib
import os
import signal
import subprocess
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

_PROC = Path("/proc")
_TAIL_LINES = 8
_TAIL_BYTES = 16_384


@dataclass(frozen=True, slots=True)
class Daemon:
    """The server ``name`` of a directory. Only it is started with the argument ``mark``: a pid file
    may outlive its process, and the number may by then be another program's."""

    name: str
    directory: Path
    mark: str

    @property
    def pid_file(self) -> Path:
        """The file with the process id."""
        return self.directory / f"{self.name}.pid"

    @property
    def log(self) -> Path:
        """The file with the server's output; the last run's is kept as ``.log.1``."""
        return self.directory / f"{self.name}.log"

    def start(self, command: Sequence[str | Path]) -> None:
        """Start the server in a session of its own, in its directory."""
        if self.log.exists():
            self.log.replace(self.log.with_suffix(".log.1"))
        with self.log.open("wb") as log:
            process = subprocess.Popen(
                command,
                cwd=self.directory,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
        self.pid_file.write_text(f"{process.pid}\n")
        # For an instant a new program has no command line yet, and would not be known for ours.
        while process.poll() is None and self.mark not in _arguments(process.pid):
            time.sleep(0.001)
        # It is meant to go on without us; without this Python warns that we forgot about it.
        process.returncode = 0

    def pid(self) -> int | None:
        """The id of the running server, or None; a stranger with its number is not it."""
        try:
            pid = int(self.pid_file.read_text())
        except (OSError, ValueError):
            return None
        with contextlib.suppress(OSError):  # of no child of ours
            os.waitpid(pid, os.WNOHANG)  # until then an ended child still has its number
        return pid if self.mark in _arguments(pid) else None

    def stop(self, patience: float = 10.0) -> None:
        """End the server, politely first; does nothing where it does not run."""
        for number, seconds in ((signal.SIGTERM, patience), (signal.SIGKILL, patience)):
            pid = self.pid()
            if pid is None:
                break
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, number)
            deadline = time.monotonic() + seconds
            while self.pid() is not None and time.monotonic() < deadline:
                time.sleep(0.02)
        self.pid_file.unlink(missing_ok=True)

    def tail(self) -> str:
        """The last lines of the log, for an error message."""
        try:
            text = self.log.read_bytes()[-_TAIL_BYTES:].decode(errors="replace")
        except OSError:
            return ""
        return "\n".join(text.splitlines()[-_TAIL_LINES:])


def _arguments(pid: int) -> Sequence[str]:
    """The command line of a process; empty if there is none or if it is not ours to read."""
    if _PROC.joinpath("self").exists():
        try:
            return (_PROC / str(pid) / "cmdline").read_text(errors="replace").split("\0")
        except OSError:
            return ()
    listed = subprocess.run(
        ["ps", "-ww", "-o", "command=", "-p", str(pid)], capture_output=True, text=True, check=False
    )
    return listed.stdout.split()
