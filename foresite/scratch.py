"""Folders in which something is written before it takes the place of what was there, and what a run
of Pulumi writes: its log, and temporary files. A killed run leaves its folder; a lock that the
kernel lets go of tells the next run that nobody writes there any more."""

import contextlib
import fcntl
import os
import shutil
import tempfile
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

from foresite.command import UsageError, say

_MARK = "foresite-"
_ASIDE = "aside"
"""Name of a folder in a scratch while another one takes its place."""


@contextlib.contextmanager
def scratch(folder: Path) -> Iterator[Path]:
    """A new folder beside ``folder``, locked while it is written, and gone in the end."""
    path = Path(tempfile.mkdtemp(prefix=f".{folder.name}.{_MARK}", dir=folder.parent))
    handle = os.open(path, os.O_RDONLY)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX)
        path.chmod(0o755)
        yield path
    finally:
        _remove(path, folder)
        os.close(handle)


def replace_files(folder: Path, files: Mapping[str, bytes]) -> None:
    """Put whole files in place of those of a folder, in which runs with other files may write at
    the same time; no link is followed."""
    folder.mkdir(parents=True, exist_ok=True)
    place = folder / min(files)
    clear(place)
    with scratch(place) as fresh:
        for name, data in files.items():
            (fresh / name).write_bytes(data)
        for name in files:
            os.replace(fresh / name, folder / name)


def folder_at(out: Path, advice: str) -> None:
    """Raises UsageError where ``--out`` names a folder that cannot be, as a file is in its way."""
    there = next((each for each in (out, *out.parents) if os.path.lexists(each)), out)
    if not there.is_dir():
        raise UsageError(f"--out: {there} is there and is no folder; {advice}")


def put(fresh: Path, folder: Path) -> None:
    """Rename ``fresh`` to ``folder``; what was there is gone only once the new one stands."""
    if not folder.exists():
        os.replace(fresh, folder)
        return
    with scratch(folder) as old:
        os.replace(folder, old / _ASIDE)
        os.replace(fresh, folder)


def clear(folder: Path) -> None:
    """Remove what killed runs left beside ``folder``; what a living one writes stays."""
    for path in sorted(folder.parent.glob(f".{folder.name}.{_MARK}*")):
        if path.is_symlink() or not path.is_dir():
            continue
        handle = os.open(path, os.O_RDONLY)
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            _remove(path, folder)
        except BlockingIOError:
            continue
        finally:
            os.close(handle)


def _remove(path: Path, folder: Path) -> None:
    """Remove a scratch; a folder that was put aside in it and has no successor is put back."""
    if (path / _ASIDE).is_dir() and not folder.exists():
        os.replace(path / _ASIDE, folder)
    shutil.rmtree(path, ignore_errors=True)


@contextlib.contextmanager
def open_log(path: Path) -> Iterator[Callable[[str], None]]:
    """Write the whole output to a file; what could not be written is said once, at the end: a disk
    that is full of it stops no run half-way. Raises OSError where it cannot be opened."""
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
    ``folder``; gone in the end, and what a killed run of ``name`` left goes first. The Kubernetes
    provider leaves a copy of the whole kubeconfig, with its tokens, there at each start, for Helm's
    settings (pulumi-kubernetes 4.25.0, provider/pkg/provider/provider.go, Configure)."""
    folder.mkdir(parents=True, exist_ok=True)
    clear(folder / name)
    with scratch(folder / name) as path:
        path.chmod(0o700)
        # Go reads TMPDIR alone, Python all three.
        yield {**environment, **dict.fromkeys(("TMPDIR", "TEMP", "TMP"), str(path))}
