"""Follows the configuration file: a good change is taken, a bad one is said and left."""

import asyncio
import logging
from dataclasses import replace
from pathlib import Path

from cache_server.buckets import Buckets, ConfigError, parse_buckets
from cache_server.metrics import Metrics
from cache_server.refusals import StartError
from cache_server.service import Service
from cache_server.store import Store
from cache_server.writer import StorageError

_LOG = logging.getLogger(__name__)


class Configuration:
    """The buckets as a file says, by its content: kubelet swaps a link above a ConfigMap's file."""

    def __init__(self, file: Path, service: Service, store: Store, metrics: Metrics) -> None:
        self._file = file
        self._service = service
        self._store = store
        self._metrics = metrics
        self._content: bytes | None = None
        self._problem: str | None = None
        self._trimmed = False
        self._number = 0

    def start(self) -> None:
        """Take the file as it is; StartError if that cannot be done."""
        try:
            content = self._file.read_bytes()
            self._take(content, parse_buckets(content))
        except (OSError, ConfigError) as error:
            raise StartError(f"the configuration {self._file} cannot be used: {error}") from error

    async def follow(self) -> None:
        """Take the file if it is another now, and delete what its buckets may not keep; before that
        no bucket comes, as it may have the name of a removed one, and would show what that had."""
        try:
            await self._trim()
        except StorageError as error:
            _LOG.error("objects above the quota are not deleted: %s", error)
        try:
            content = await asyncio.to_thread(self._file.read_bytes)
            if content != self._content:
                self._change(content, parse_buckets(content))
        except (OSError, ConfigError) as error:
            self._refuse(str(error))
        else:
            self._problem = None
            self._metrics.config_good.set(1)
        await self._trim()

    def _change(self, content: bytes, buckets: Buckets) -> None:
        if not self._trimmed:
            # Rights that are taken away do not wait; the rest comes at a later look.
            known = {name: each for name, each in buckets.items() if name in self._service.buckets}
            self._take(None, known)
            return
        self._take(content, buckets)
        self._metrics.reloads.labels("good").inc()
        _LOG.info("the configuration has changed: %d buckets", len(buckets))

    async def _trim(self) -> None:
        if not self._trimmed:
            await self._store.trim()
            self._trimmed = True

    def _take(self, content: bytes | None, buckets: Buckets) -> None:
        self._number += 1
        old = self._service.buckets
        buckets = {
            name: replace(bucket, since=old[name].since if name in old else self._number)
            for name, bucket in buckets.items()
        }
        self._content = content
        self._trimmed = False
        self._service.buckets = buckets
        self._store.configure(buckets)
        self._metrics.config_good.set(1)

    def _refuse(self, problem: str) -> None:
        """Stay with what was; each problem is said and counted once."""
        if problem != self._problem:
            self._metrics.reloads.labels("bad").inc()
            _LOG.error("the new configuration is refused, the old one stays: %s", problem)
        self._metrics.config_good.set(0)
        self._problem = problem
