"""Temporary files of the programs that are run: in a folder of their own, which does not outlive
them.

The Kubernetes provider writes a copy of the whole kubeconfig, with its tokens, into the folder for
temporary files at each start, and leaves it there (pulumi-kubernetes 4.25.0,
provider/pkg/provider/provider.go, Configure: a file for Helm's settings).
"""

import contextlib
from collections.abc import Iterator, Mapping
from pathlib import Path

from foresite.scratch import clear, scratch


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
