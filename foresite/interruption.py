"""Ctrl-C, SIGTERM and SIGHUP: the program that is being run ends first, cleanly, then the command.
So Pulumi saves its state, and does not die half-way of output that nobody reads."""

import contextlib
import os
import signal
import subprocess
import threading
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import FrameType
from typing import Any

_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
_ONE = 1.0
"""Seconds within which more signals are still the first: timeout(1) sends one to its child and to
the child's group, and a wrapper may pass on what a terminal has sent as well."""
_ENDING = b"\nforesite: interrupted: Pulumi ends what it is doing, and saves; once more kills it\n"


@dataclass(eq=False, slots=True)
class _Run:
    """A program that is run. ``told``: it can be told to end by SIGINT; others are waited for."""

    told: bool
    process: subprocess.Popen[str] | None = None

    def end(self) -> None:
        if self.told and self.process is not None:
            self.process.send_signal(signal.SIGINT)

    def kill(self) -> None:
        if self.process is not None and self.process.poll() is None:
            os.killpg(self.process.pid, signal.SIGKILL)  # it leads a group of its own


@dataclass(slots=True)
class _State:
    """The programs that this process runs, and the signal that asked for its end (0: none did)."""

    runs: list[_Run] = field(default_factory=list)
    number: int = 0
    since: float = 0.0

    def receive(self, number: int, _frame: FrameType | None) -> None:
        """A signal; nothing is raised in the middle of reading a program's output."""
        if not self.runs:
            raise KeyboardInterrupt(number)
        if not self.number:
            self.number, self.since = number, time.monotonic()
            with contextlib.suppress(OSError):  # a terminal that is gone
                os.write(2, _ENDING)
            for run in self.runs:
                run.end()
        elif time.monotonic() - self.since > _ONE:
            for run in self.runs:
                run.kill()


_STATE = _State()


@contextlib.contextmanager
def catch_signals() -> Iterator[None]:
    """Take signals for interruptions: KeyboardInterrupt, with the signal's number, or the end of
    the running programs. One that is ignored (nohup) stays so. Only the main thread gets any."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = {each: signal.getsignal(each) for each in _SIGNALS}
    taken = {each: was for each, was in before.items() if was not in (signal.SIG_IGN, None)}
    for each in taken:
        signal.signal(each, _STATE.receive)
    try:
        yield
    finally:
        for each, was in taken.items():
            signal.signal(each, was)


@contextlib.contextmanager
def running(
    command: Sequence[str | Path], *, told: bool, **how: Any
) -> Iterator[subprocess.Popen[str]]:
    """A program in a session of its own, where a terminal's signals do not reach it, until it ends:
    at the first signal it is sent SIGINT, where it is ``told``, at a second it is killed. Then
    KeyboardInterrupt is raised."""
    run = _Run(told)
    _STATE.runs.append(run)
    try:
        with (
            catch_signals(),
            subprocess.Popen(
                [*map(str, command)], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True,
                errors="replace", start_new_session=True, **how,
            ) as process,
        ):  # fmt: skip
            run.process = process
            if _STATE.number:  # it came while the program was starting
                run.end()
            yield process
    finally:
        _STATE.runs.remove(run)
        if number := _STATE.number:
            _STATE.number = number if _STATE.runs else 0
            raise KeyboardInterrupt(number)


def exit_code(interrupted: KeyboardInterrupt) -> int:
    """A shell's exit code for a program that a signal has ended."""
    number: int = interrupted.args[0] if interrupted.args else signal.SIGINT
    return 128 + number
