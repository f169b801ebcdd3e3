"""The health of the server: it works while it can write to its disk and read its index."""

import logging
import time
from collections.abc import Awaitable, Callable

from cache_server.writer import StorageError

_LOG = logging.getLogger(__name__)
_STALE_SECONDS = 20.0
"""A disk that answers nothing for so long is no disk."""


class Health:
    """Writes something small now and then; asking costs nothing, as each Envoy asks each server."""

    def __init__(self, write: Callable[[int], Awaitable[None]]) -> None:
        self._write = write
        self._good = time.monotonic()
        self._problem: str | None = None
        self.ending = False
        self.broken = False
        """True if the index is broken; no later check repairs it."""

    def failing(self) -> str | None:
        """The reason why the server does not work; None while it does."""
        if self.ending:
            return "the server is ending"
        if self.broken:
            return "the index is broken"
        if self._problem is not None:
            return self._problem
        if time.monotonic() - self._good > _STALE_SECONDS:
            return "the disk does not answer"
        return None

    async def look(self) -> None:
        """Write once, and note how it went."""
        try:
            await self._write(time.time_ns())
        except StorageError as error:
            if self._problem is None:
                _LOG.error("unhealthy: %s", error)
            self._problem = "the disk cannot be written"
            return
        if self._problem is not None:
            _LOG.info("healthy again")
        self._problem, self._good = None, time.monotonic()
