"""The log of a run of Pulumi. A disk that is full of it stops no run half-way."""

import contextlib
from collections.abc import Callable, Iterator
from pathlib import Path

from foresite.command import say


@contextlib.contextmanager
def open_log(path: Path) -> Iterator[Callable[[str], None]]:
    """Write the whole output to a file; what could not be written is said once, at the end. Raises
    OSError where it cannot be opened."""
    file = path.open("w", encoding="utf-8")
    faults: list[OSError] = []

    def write(text: str) -> None:
        try:
            if not faults:
                file.write(text)
        except OSError as error:
            faults.append(error)

    try:
        yield write
    finally:
        try:
            file.close()
        except OSError as error:
            faults.append(error)
        if faults:
            fault = faults[-1].strerror or faults[-1]
            say(f"foresite: the log {path} is not whole: {fault}")
