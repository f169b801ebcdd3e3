"""The one thread that writes to the index: what waits together is committed together."""

import asyncio
import contextlib
import queue
import sqlite3
import threading
from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

from cache_server import index
from cache_server.index import Damage

_T = TypeVar("_T")
_LARGEST_BATCH = 128


class StorageError(Exception):
    """The index could not be read or written; nothing of what was asked is done."""


@dataclass(slots=True)
class Batch:
    """One transaction: what works in it may use, and what follows from how it ends."""

    connection: sqlite3.Connection
    doomed: list[Path] = field(default_factory=list)
    """Files that no row is left for once it is committed."""
    undo: list[Callable[[], None]] = field(default_factory=list)
    """Takes back what works did outside of the index, if it is not."""


Work = Callable[[Batch], _T]
"""Something to do in a transaction. It raises before it changes anything, or not at all."""

_Job = tuple[Callable[[Batch], Any], Future[Any]]


class Writer:
    """Runs works in the order in which they come."""

    def __init__(self, path: Path, remove: Callable[[list[Path]], None], damage: Damage) -> None:
        self._path = path
        self._damage = damage
        self._remove = remove
        self._jobs: queue.SimpleQueue[_Job | None] = queue.SimpleQueue()
        self._thread = threading.Thread(target=self._run, name="index-writer", daemon=True)
        self._thread.start()

    def submit(self, work: Work[_T]) -> Future[_T]:
        """Run a work as soon as may be; its result comes when it is committed."""
        future: Future[_T] = Future()
        self._jobs.put((work, future))
        return future

    async def run(self, work: Work[_T]) -> _T:
        """The result of a work, once it is committed."""
        return await asyncio.wrap_future(self.submit(work))

    def close(self) -> None:
        """Finish what was asked for, and end."""
        self._jobs.put(None)
        self._thread.join()

    def _run(self) -> None:
        with contextlib.closing(index.connect(self._path)) as connection:
            going = True
            while going:
                first = self._jobs.get()
                jobs, going = self._gather(first)
                if jobs:
                    self._commit(connection, jobs)

    def _gather(self, first: _Job | None) -> tuple[list[_Job], bool]:
        """A job with those that wait behind it, and whether to go on after them."""
        jobs: list[_Job] = []
        item = first
        while item is not None:
            # From here on nobody can cancel it.
            if item[1].set_running_or_notify_cancel():
                jobs.append(item)
            if len(jobs) == _LARGEST_BATCH:
                return jobs, True
            try:
                item = self._jobs.get_nowait()
            except queue.Empty:
                return jobs, True
        return jobs, False

    def _commit(self, connection: sqlite3.Connection, jobs: list[_Job]) -> None:
        batch = Batch(connection)
        try:
            connection.execute("BEGIN IMMEDIATE")
            answers = [_perform(*job, batch) for job in jobs]
            connection.execute("COMMIT")
        except sqlite3.Error as error:
            self._damage.note(error)
            # After some errors SQLite has rolled back by itself, and there is nothing to take back.
            if connection.in_transaction:
                with contextlib.suppress(sqlite3.Error):
                    connection.execute("ROLLBACK")
            for undo in reversed(batch.undo):
                undo()
            for _, future in jobs:
                future.set_exception(StorageError(f"the index cannot be written: {error}"))
            return
        self._remove(batch.doomed)
        for answer in answers:
            answer()


def _perform(
    work: Callable[[Batch], Any], future: Future[Any], batch: Batch
) -> Callable[[], object]:
    """Do a work; what it returned or raised is told once the transaction is committed."""
    try:
        return partial(future.set_result, work(batch))
    except sqlite3.Error:
        raise
    except Exception as error:  # noqa: BLE001 - it belongs to who asked, not to this thread
        return partial(future.set_exception, error)
