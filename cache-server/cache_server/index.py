"""The index of objects, in SQLite: where the file of each is, the space it takes, when it was
used.

One that turns out to be broken while the server runs ends it, and the next start heals: a broken
page fails each request that needs it, for ever, and no request can mend it.
"""

import contextlib
import logging
import os
import sqlite3
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

_BROKEN = frozenset({sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB})
_PRIMARY = 0xFF
"""The lowest byte of an extended result code is the primary one (sqlite.org/rescode.html)."""


def marker(index: Path) -> Path:
    """The file that tells the next start of an index that is broken."""
    return index.with_name(index.name + ".broken")


class Damage:
    """Notes what SQLite says of an index. Its methods are for any thread."""

    def __init__(self, index: Path) -> None:
        self._index = index
        self.found = False
        self.told: Callable[[], object] = lambda: None
        """Called once when the index is found to be broken."""

    def note(self, error: sqlite3.Error) -> None:
        """Something failed: if the index is broken, the next start is told to put it aside."""
        code = getattr(error, "sqlite_errorcode", sqlite3.SQLITE_OK)
        if self.found or code & _PRIMARY not in _BROKEN:
            return
        self.found = True
        _LOG.error("the index %s is broken, so the server must start again: %s", self._index, error)
        try:
            marker(self._index).touch()
        except OSError as failure:
            _LOG.error("the next start cannot be told: %s", failure)
        self.told()


_LOG = logging.getLogger(__name__)
_VERSION = 1
_BUSY_SECONDS = 2.0
_CHECK_SECONDS = 10.0
"""Seconds that the start spends on a search for broken pages; a few GB take longer than that."""
_SCHEMA = Path(__file__).with_suffix(".sql").read_text("utf-8")


class Row(NamedTuple):
    """One object; ``size`` is its bytes, ``space`` what it is counted for."""

    key: bytes
    bucket: str
    file: str
    size: int
    space: int


class Usage(NamedTuple):
    """The usage of a bucket, in bytes and objects."""

    space: int
    objects: int


def connect(path: Path) -> sqlite3.Connection:
    """A connection for the thread that calls; transactions are begun by hand."""
    connection = sqlite3.connect(path, timeout=_BUSY_SECONDS, isolation_level=None)
    connection.execute("PRAGMA journal_mode = WAL")
    # A row is there only when its file is, also after a power cut.
    connection.execute("PRAGMA synchronous = FULL")
    return connection


def prepare(path: Path) -> None:
    """Make the index, or take the one that is there; an unreadable one is begun anew. What it loses
    is a cache: files without rows are cleaned up like after a crash."""
    try:
        if marker(path).exists():
            raise sqlite3.DatabaseError("it was broken when the server ended")
        _prepare(path)
    except sqlite3.OperationalError:
        # No rights, no room: a new file would not help.
        raise
    except sqlite3.DatabaseError as error:
        _LOG.error("the index %s cannot be read, so the cache starts empty: %s", path, error)
        for suffix in ("-wal", "-shm"):
            path.with_name(path.name + suffix).unlink(missing_ok=True)
        os.replace(path, path.with_name(path.name + ".unreadable"))
        _prepare(path)
    marker(path).unlink(missing_ok=True)


def _prepare(path: Path) -> None:
    with contextlib.closing(connect(path)) as connection:
        (version,) = connection.execute("PRAGMA user_version").fetchone()
        if version == 0:
            connection.executescript(f"BEGIN;{_SCHEMA}PRAGMA user_version = {_VERSION};COMMIT;")
        elif version != _VERSION:
            raise sqlite3.DatabaseError(f"it has version {version}, and this server {_VERSION}")
        connection.execute("SELECT max(accessed) FROM object").fetchone()
        usage(connection)
        _check(connection)


def _check(connection: sqlite3.Connection) -> None:
    """Look for broken pages, for a while: those that are found later end the server."""
    timer = threading.Timer(_CHECK_SECONDS, connection.interrupt)
    timer.start()
    try:
        (problem,) = connection.execute("PRAGMA quick_check(1)").fetchone()
    except sqlite3.OperationalError as error:
        if error.sqlite_errorcode != sqlite3.SQLITE_INTERRUPT:
            raise
        _LOG.info("the index is too large to be looked through in %g s", _CHECK_SECONDS)
        return
    finally:
        timer.cancel()
        # Else it might interrupt what this connection does next.
        timer.join()
    if problem != "ok":
        raise sqlite3.DatabaseError(problem)


def lookup(connection: sqlite3.Connection, key: bytes) -> Row | None:
    """The object of a key."""
    return next((row for _, row in _rows(connection, "WHERE key = ?", key)), None)


def _rows(
    connection: sqlite3.Connection, chosen: str, *values: object
) -> Iterator[tuple[int, Row]]:
    """Some objects, each with the time of its last use; read as the caller takes them."""
    every = "SELECT key, bucket, file, size, space, accessed FROM object "
    for *row, accessed in connection.execute(every + chosen, values):
        yield accessed, Row(*row)


def insert(connection: sqlite3.Connection, row: Row, accessed: int) -> Row | None:
    """Keep a new object; the one that it takes the place of, if any."""
    old = lookup(connection, row.key)
    if old is not None:
        delete(connection, [old])
    connection.execute(
        "INSERT INTO object VALUES (?, ?, ?, ?, ?, ?)",
        (row.key, row.bucket, row.file, row.size, row.space, accessed),
    )
    return old


def delete(connection: sqlite3.Connection, rows: Iterable[Row]) -> int:
    """Forget objects, but for those that were replaced meanwhile; how many are gone."""
    pairs = [(row.key, row.file) for row in rows]
    return connection.executemany("DELETE FROM object WHERE key = ? AND file = ?", pairs).rowcount


def touch(connection: sqlite3.Connection, accesses: Mapping[bytes, int]) -> None:
    """Note when objects were used last."""
    connection.executemany(
        "UPDATE object SET accessed = ? WHERE key = ?",
        ((accessed, key) for key, accessed in accesses.items()),
    )


def usage(connection: sqlite3.Connection) -> dict[str, Usage]:
    """The usage of each bucket; an empty bucket is left out."""
    rows = connection.execute("SELECT bucket, space, objects FROM usage")
    return {bucket: Usage(space, objects) for bucket, space, objects in rows}


def spaces(connection: sqlite3.Connection) -> dict[str, int]:
    """The bytes that each bucket takes; an empty bucket is left out."""
    return dict(connection.execute("SELECT bucket, space FROM usage").fetchall())


def oldest(connection: sqlite3.Connection, bucket: str, limit: int) -> Iterator[tuple[int, Row]]:
    """The objects of a bucket with the times of their last use, the longest ago first (by the index
    ``by_bucket``)."""
    return _rows(connection, "WHERE bucket = ? ORDER BY accessed LIMIT ?", bucket, limit)


def below(connection: sqlite3.Connection, first_byte: int) -> Iterator[Row]:
    """All objects whose keys begin with a byte, which are those of one folder."""
    first = bytes([first_byte])
    last = first + b"\xff" * 32
    return (row for _, row in _rows(connection, "WHERE key BETWEEN ? AND ?", first, last))


def latest_access(connection: sqlite3.Connection) -> int:
    """The time when the object that was used last was used; 0 where there is none."""
    return int(connection.execute("SELECT coalesce(max(accessed), 0) FROM object").fetchone()[0])


def probe(connection: sqlite3.Connection, nanoseconds: int) -> None:
    """Write something small, as whether that works is what health is about."""
    connection.execute("INSERT OR REPLACE INTO probe VALUES (1, ?)", (nanoseconds,))
