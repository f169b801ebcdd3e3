"""Faults and progress for a person: a line that ticks on a terminal, one now and then in a log."""

import sys
import time
from typing import TextIO

HEARTBEAT_SECONDS = 20.0


class Console:
    """Writes progress to ``stream`` (standard error, unless told)."""

    def __init__(self, stream: TextIO | None = None) -> None:
        self._stream = sys.stderr if stream is None else stream
        self._live = self._stream.isatty()
        self._width = 0
        self._last_beat = time.monotonic()

    def say(self, text: str) -> None:
        """One finished line."""
        self._rewrite(text)
        self._stream.write("\n")
        self._stream.flush()
        self._width = 0
        self._last_beat = time.monotonic()

    def tick(self, text: str) -> None:
        """Something is still going on; call it as often as you like."""
        if self._live:
            self._rewrite(text)
            self._stream.flush()
        elif time.monotonic() - self._last_beat >= HEARTBEAT_SECONDS:
            self.say(text)

    def _rewrite(self, text: str) -> None:
        """Put ``text`` in place of what the last tick left on the line."""
        start = f"\r{' ' * self._width}\r" if self._width else ""
        self._stream.write(start + text)
        self._width = len(text) if self._live else 0


class Fault(Exception):
    """Something that is wrong and what to do about it, with the last lines of an output."""

    def __init__(self, message: str, fix: str, details: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.fix = fix
        self.details = details

    def __str__(self) -> str:
        lines = [self.message]
        lines += [f"  | {line}" for line in self.details.splitlines()]
        return "\n".join([*lines, f"  what to do: {self.fix}"])


class ToolchainError(Fault):
    """A fault of the toolchain; ``details`` are lines of a failed tool's output."""
