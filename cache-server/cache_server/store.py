"""Objects on the disks of this node: found, taken in, evicted and cleaned up."""

import asyncio
import contextlib
import fcntl
import functools
import os
import sqlite3
import threading
from collections.abc import AsyncIterator, Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from http import HTTPStatus
from io import FileIO
from pathlib import Path
from typing import TypeVar

from cache_server import index
from cache_server.buckets import Bucket, Buckets
from cache_server.files import Draft, Layout, Remover, sizes, space
from cache_server.index import Damage
from cache_server.metrics import Metrics
from cache_server.refusals import Refusal, StartError, too_large
from cache_server.space import Accesses, Reservation, Space
from cache_server.writer import StorageError, Work, Writer

_T = TypeVar("_T")
_THREADS = 16
_WHOLE = 64 << 10
"""Objects up to this size are read at once, which is quicker than sending them by sendfile(2)."""
_AHEAD = 8 << 20
"""So much of a larger one is read ahead, so that sending it seldom waits for the disk."""

Opened = tuple[FileIO, int]
"""An object's open file, which stays whole whatever happens to the object; its bytes."""


@dataclass(slots=True)
class Upload:
    """An object that comes in; it is kept or given up once it is ``finishing``."""

    draft: Draft
    row: index.Row
    held: Reservation
    finishing: bool = False


class Store:
    """The objects of all buckets."""

    def __init__(self, data: Path, capacity: int, metrics: Metrics) -> None:
        self.capacity = capacity
        self._metrics = metrics
        self._layout = Layout(data)
        self._lock = _open_folder(self._layout, capacity)
        self._remover = Remover()
        self._local = threading.local()
        with contextlib.closing(index.connect(self._layout.index)) as connection:
            self._accesses = Accesses(index.latest_access(connection))
        self._space = Space(self._layout, capacity, self._accesses)
        self.damage = Damage(self._layout.index)
        self._writer = Writer(self._layout.index, self._remover.remove, self.damage)
        # Two pools: who syncs to the disk for long must not keep those waiting who read.
        self.readers = ThreadPoolExecutor(_THREADS, thread_name_prefix="reader")
        """Also for whatever else may block for a moment."""
        self._writers = ThreadPoolExecutor(_THREADS, thread_name_prefix="upload")
        self._finishing: set[asyncio.Task[bool]] = set()

    async def close(self) -> None:
        """Finish what is under way, and write what is known of accesses."""
        await asyncio.gather(*self._finishing, return_exceptions=True)
        self.readers.shutdown()
        self._writers.shutdown()
        self._writer.submit(self._space.flush)
        self._writer.close()
        self._remover.close()
        os.close(self._lock)

    # --- reading ----------------------------------------------------------------------------------

    async def find(self, key: bytes, whole: bool) -> bytes | Opened | None:
        """The object of a key; with ``whole`` a small one as bytes, else always as a file."""
        return await self._in(self.readers, functools.partial(self._find, key, whole))

    def _find(self, key: bytes, whole: bool) -> bytes | Opened | None:
        for _ in range(3):
            row = index.lookup(self._connection(), key)
            if row is None:
                return None
            found = self._read(row, whole)
            if found is not None:
                self._accesses.note(key)
                return found
            # It was replaced or evicted since, or its file is not as it must be.
            if index.lookup(self._connection(), key) == row:
                self._metrics.lost.inc()
                self._writer.submit(functools.partial(self._space.forget, row=row))
                return None
        return None

    def _read(self, row: index.Row, whole: bool) -> bytes | Opened | None:
        try:
            file = self._layout.file(row.key, row.file).open("rb", buffering=0)
        except FileNotFoundError:
            return None
        state = os.fstat(file.fileno())
        if state.st_size != row.size:
            file.close()
            return None
        if whole and row.size <= _WHOLE:
            with file:
                return file.read()
        os.posix_fadvise(file.fileno(), 0, min(row.size, _AHEAD), os.POSIX_FADV_WILLNEED)
        return file, row.size

    async def usage(self) -> dict[str, index.Usage]:
        """The usage of each bucket."""
        return await self._in(self.readers, lambda: index.usage(self._connection()))

    def reserved_bytes(self) -> int:
        """The bytes that uploads hold."""
        return self._space.reserved_bytes()

    # --- writing ----------------------------------------------------------------------------------

    @contextlib.asynccontextmanager
    async def upload(self, bucket: Bucket, key: bytes, size: int) -> AsyncIterator[Upload]:
        """Room for an object of ``size`` bytes; unless it is finished within, nothing is kept."""
        if space(size) > bucket.quota:
            raise too_large(f"the object is larger than the quota of bucket {bucket.name}")
        if space(size) > self.capacity:
            raise too_large("the object is larger than what this server may take")
        draft, held = Draft(self._layout, key, size), Reservation(bucket.name, bucket.since)
        row = index.Row(key, bucket.name, draft.file, size, space(size))
        upload = Upload(draft, row, held)
        reserve = functools.partial(self._space.reserve, bucket=bucket, space=row.space, held=held)
        try:
            await self._evict(reserve, bucket.name)
            yield upload
        finally:
            if not upload.finishing:
                self._give_up(upload)

    async def write(self, upload: Upload, chunks: list[bytes]) -> None:
        """Append bytes."""
        await self._in(self._writers, functools.partial(upload.draft.write, chunks))

    async def keep(self, upload: Upload, chunks: list[bytes]) -> None:
        """Append the last bytes, and keep the object: it is there when this returns. Goes on if the
        caller ends."""
        upload.finishing = True
        task = asyncio.create_task(self._keep(upload, chunks))
        self._finishing.add(task)
        task.add_done_callback(self._finishing.discard)
        if not await asyncio.shield(task):
            raise Refusal(HTTPStatus.NOT_FOUND, "there is no such bucket")

    async def _keep(self, upload: Upload, chunks: list[bytes]) -> bool:
        commit = functools.partial(self._space.commit, row=upload.row, held=upload.held)
        kept = False
        try:
            await self._in(self._writers, functools.partial(upload.draft.finish, chunks))
            kept = await self._writer.run(commit)
        finally:
            if not kept:
                self._give_up(upload)
        return kept

    def _give_up(self, upload: Upload) -> None:
        self._remover.discard(upload.draft)
        self._writer.submit(functools.partial(self._space.release, held=upload.held))

    # --- upkeep -----------------------------------------------------------------------------------

    def configure(self, buckets: Buckets) -> None:
        """The buckets that there are from now on; :meth:`trim` deletes what is too much."""
        self._space.configure(buckets)

    async def trim(self) -> None:
        """Evict what is beyond the quotas, which is all of a bucket that is gone."""
        # Asked for behind whatever is on its way into the index, so that nothing is left out.
        for name in await self._writer.run(self._space.bucket_names):
            await self._evict(functools.partial(self._space.evict, bucket=name), name)

    async def flush(self) -> None:
        """Write what is known of accesses."""
        await self._writer.run(self._space.flush)

    async def probe(self, nanoseconds: int) -> None:
        """Write something to the disk."""
        await self._writer.run(lambda batch: index.probe(batch.connection, nanoseconds))

    async def clean(self) -> None:
        """Remove what a crash left: files without a row, rows without a file of their size."""
        for first_byte in range(256):
            await self._in(self.readers, functools.partial(self._clean, first_byte))

    def _clean(self, first_byte: int) -> None:
        folder = self._layout.folder(first_byte)
        found = {name: size for name, size in sizes(folder) if not self._layout.ours(name)}
        for row in list(index.below(self._connection(), first_byte)):
            name = self._layout.file(row.key, row.file).name
            if self._layout.ours(name) or found.pop(name, None) == row.size:
                continue
            self._metrics.orphans.labels("row").inc()
            self._writer.submit(functools.partial(self._space.forget, row=row))
        self._metrics.orphans.labels("file").inc(len(found))
        self._remover.remove(folder / name for name in found)

    async def _evict(self, first: Work[tuple[index.Row, ...]], bucket: str) -> None:
        """Run a step and what must follow it until there is room."""
        evicted = await self._writer.run(first)
        while evicted:
            self._metrics.count_evicted(evicted)
            evicted = await self._writer.run(functools.partial(self._space.evict, bucket=bucket))

    def _connection(self) -> sqlite3.Connection:
        """The connection of this thread."""
        connection: sqlite3.Connection | None = getattr(self._local, "connection", None)
        if connection is None:
            connection = self._local.connection = index.connect(self._layout.index)
        return connection

    async def _in(self, pool: ThreadPoolExecutor, call: Callable[[], _T]) -> _T:
        try:
            return await asyncio.get_running_loop().run_in_executor(pool, call)
        except sqlite3.Error as error:
            self.damage.note(error)
            raise StorageError(f"the index cannot be read: {error}") from error


def _open_folder(layout: Layout, capacity: int) -> int:
    """Make the data folder ready, for this process alone; the handle of its lock."""
    if not layout.data.is_dir():
        raise StartError(f"{layout.data} is no folder")
    state = os.statvfs(layout.data)
    size = state.f_blocks * state.f_frsize
    if capacity > size:
        raise StartError(f"the capacity is {capacity} bytes, and {layout.data} has {size}")
    try:
        lock = os.open(layout.lock, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            layout.make()
            index.prepare(layout.index)
        except BaseException:
            os.close(lock)
            raise
    except BlockingIOError as error:
        raise StartError(f"another server uses {layout.data}") from error
    except (OSError, sqlite3.Error) as error:
        raise StartError(f"{layout.data} cannot be used: {error}") from error
    return lock
