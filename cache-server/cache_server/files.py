"""The files of objects: written beside, made durable, then put in place by one rename."""

import contextlib
import errno
import functools
import itertools
import logging
import os
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

_LOG = logging.getLogger(__name__)
_BLOCK = 4096
_PREALLOCATED = 1 << 20
"""Objects of this size on get their space before their bytes come."""
_SYNCED = 64 << 20
"""A long upload is synced each time so many bytes have come: a client waits 3 s for its answer
(pfio 2.10, cache/http_cache.py), in which a gibibyte may not get to the disk."""


def space(size: int) -> int:
    """The space that an object of ``size`` bytes is counted for: whole blocks, and one at least."""
    return max(_BLOCK, -(-size // _BLOCK) * _BLOCK)


class Layout:
    """The paths in the data folder: ``index`` is SQLite's, ``lock`` is held by the server that uses
    it, ``drafts`` are incomplete uploads; ``run`` tells this process's files from older ones."""

    def __init__(self, data: Path) -> None:
        self.data, self.run = data, f"{time.time_ns():x}"
        self.index, self.lock, self.drafts = data / "index.sqlite", data / "lock", data / "drafts"

    def folder(self, first_byte: int) -> Path:
        """The folder of all objects whose keys begin with a byte."""
        return self.data / "objects" / f"{first_byte:02x}"

    def file(self, key: bytes, file: str) -> Path:
        """The file of an object."""
        return self.folder(key[0]) / f"{key.hex()}.{file}"

    def ours(self, name: str) -> bool:
        """True if a file was made by this process."""
        return name.rpartition(".")[2].startswith(f"{self.run}-")

    def make(self) -> None:
        """Make the folders, and clear what uploads an earlier server did not complete."""
        self.drafts.mkdir(parents=True, exist_ok=True)
        for first_byte in range(256):
            self.folder(first_byte).mkdir(parents=True, exist_ok=True)
        for draft in self.drafts.iterdir():
            draft.unlink()


_NUMBERS = itertools.count(1)


class Draft:
    """An object that is being written; nothing is on disk at first. Its methods block, so they are
    for threads. ``file`` names its file among those of its key."""

    def __init__(self, layout: Layout, key: bytes, size: int) -> None:
        self.file = f"{layout.run}-{next(_NUMBERS):x}"
        self._path = layout.drafts / f"{key.hex()}.{self.file}"
        self.place = layout.file(key, self.file)
        self._size = size
        self._handle: int | None = None
        self._unsynced = 0
        self._placed = False
        self._discarded = False
        # Who gives an upload up does not wait for the thread that may still write to it.
        self._lock = threading.Lock()

    def write(self, chunks: list[bytes]) -> None:
        """Append bytes."""
        with self._lock:
            self._write(chunks)

    def finish(self, chunks: list[bytes]) -> None:
        """Append the last bytes, and put the file in place; it survives a power cut from here."""
        with self._lock:
            self._write(chunks)
            os.fsync(self._open())
            self._close()
            os.rename(self._path, self.place)  # noqa: PTH104 - the known name of an atomic rename
            self._placed = True
            _sync_folder(self.place.parent)

    def discard(self) -> None:
        """Remove what there is of it."""
        with self._lock:
            self._discarded = True
            self._close()
            (self.place if self._placed else self._path).unlink(missing_ok=True)

    def _write(self, chunks: list[bytes]) -> None:
        handle = self._open()
        for chunk in chunks:
            rest = memoryview(chunk)
            while rest:
                written = os.write(handle, rest)
                rest = rest[written:]
                self._unsynced += written
        if self._unsynced >= _SYNCED:
            os.fdatasync(handle)
            self._unsynced = 0

    def _open(self) -> int:
        if self._discarded:
            raise OSError(errno.ECANCELED, "the upload was given up")
        if self._handle is None:
            flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC
            self._handle = os.open(self._path, flags, 0o600)
            if self._size >= _PREALLOCATED:
                os.posix_fallocate(self._handle, 0, self._size)
        return self._handle

    def _close(self) -> None:
        if self._handle is not None:
            handle, self._handle = self._handle, None
            os.close(handle)


def _sync_folder(folder: Path) -> None:
    handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


class Remover:
    """Removes files in a thread of its own, as that of a large one takes a while."""

    def __init__(self) -> None:
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="remover")

    def remove(self, paths: Iterable[Path]) -> None:
        """Remove files as soon as may be; those that read them go on."""
        for path in paths:
            self._thread.submit(_try, functools.partial(path.unlink, missing_ok=True))

    def discard(self, draft: Draft) -> None:
        """Remove a draft as soon as may be."""
        self._thread.submit(_try, draft.discard)

    def close(self) -> None:
        """Finish what was asked for."""
        self._thread.shutdown()


def _try(call: Callable[[], object]) -> None:
    try:
        call()
    except OSError as error:
        _LOG.error("a file cannot be removed: %s", error)


def sizes(folder: Path) -> Iterator[tuple[str, int]]:
    """Name and size of each file of a folder; one that goes away meanwhile is left out."""
    with os.scandir(folder) as entries:
        for entry in entries:
            with contextlib.suppress(FileNotFoundError):
                yield entry.name, entry.stat(follow_symlinks=False).st_size
