"""Folders in which something is written before it takes the place of what was there.

A run that is killed leaves its own; a lock that the kernel lets go of tells the next run that
nobody writes there any more, whichever process has its number by then.
"""

import contextlib
import fcntl
import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

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
    if (path / _ASIDE).exists() and not folder.exists():
        os.replace(path / _ASIDE, folder)
    shutil.rmtree(path, ignore_errors=True)
