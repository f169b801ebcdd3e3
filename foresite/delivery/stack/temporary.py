"""What a run writes: its log, and temporary files in a folder of their own that ends with it.

The Kubernetes provider writes a copy of the whole kubeconfig, with its tokens, into the folder for
temporary files at each start, and leaves it there (pulumi-kubernetes 4.25.0,
provider/pkg/provider/provider.go, Configure: a file for Helm's settings). A disk that is full of
the log stops no run half-way.
"""

import contextlib
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

from foresite.command import say
from foresite.scratch import clear, scratch


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


@contextlib.contextmanager
def private(environment: Mapping[str, str], folder: Path, name: str) -> Iterator[dict[str, str]]:
    """``environment`` with a folder for temporary files that only its owner can read, below
    ``folder``; gone in the end, and what a killed run of ``name`` left goes first."""
    folder.mkdir(parents=True, exist_ok=True)
    clear(folder / name)
    with scratch(folder / name) as path:
        path.chmod(0o700)
        # Go reads TMPDIR alone, Python all three.
        yield {**environment, **dict.fromkeys(("TMPDIR", "TEMP", "TMP"), str(path))}
