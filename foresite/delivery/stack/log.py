"""The log of a run of Pulumi. A disk that is full of it stops no run half-way."""

from pathlib import Path
from types import TracebackType
from typing import Self

from foresite.command import say


class Log:
    """A file with the whole output, for the time of a ``with`` block; what could not be written is
    said once, at the end. Raises OSError where it cannot be opened."""

    def __init__(self, path: Path) -> None:
        self._file = open(path, "w", encoding="utf-8")  # noqa: SIM115 closed by __exit__
        self._fault = ""

    def __enter__(self) -> Self:
        return self

    def write(self, text: str) -> None:
        """Write a part of the output."""
        if self._fault:
            return
        try:
            self._file.write(text)
        except OSError as error:
            self._fault = error.strerror or str(error)

    def __exit__(
        self, _kind: type[BaseException] | None, _e: BaseException | None, _t: TracebackType | None
    ) -> None:
        try:
            self._file.close()
        except OSError as error:
            self._fault = error.strerror or str(error)
        if self._fault:
            say(f"foresite: the log {self._file.name} is not whole: {self._fault}")
