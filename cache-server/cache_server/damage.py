"""An index that turns out to be broken while the server runs: it ends, and the next start heals.

A broken page fails each request that needs it, for ever, and no request can mend it.
"""

import logging
import sqlite3
from collections.abc import Callable
from pathlib import Path

_LOG = logging.getLogger(__name__)
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
