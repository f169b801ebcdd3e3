"""The life of the server: what starts, what goes on beside requests, and how it ends."""

import asyncio
import contextlib
import logging
import signal
import sqlite3
import time
from collections.abc import AsyncIterator, Awaitable, Callable

from aiohttp import web

from cache_server.configuration import Configuration
from cache_server.connections import HttpServer
from cache_server.health import Health
from cache_server.metrics import Metrics
from cache_server.refusals import StartError
from cache_server.review import Reviewer
from cache_server.service import Service
from cache_server.settings import Settings
from cache_server.store import Store
from cache_server.tokens import Policy, Tokens
from cache_server.uploads import Uploads
from cache_server.writer import StorageError

_LOG = logging.getLogger(__name__)
_BACKLOG = 1024
_FLUSH_SECONDS = 5.0
_HEALTH_SECONDS = 5.0
_POLL_SECONDS = 0.05


async def serve(settings: Settings) -> bool:
    """Run until SIGTERM or SIGINT; StartError where it cannot start.

    False where the server ended by itself, so that the next start heals what is broken.
    """
    metrics = Metrics()
    store = Store(settings.data, settings.capacity, metrics)
    try:
        async with _service(settings, store, metrics) as service:
            configuration = Configuration(settings.config, service, store, metrics)
            configuration.start()
            await service.health.look()
            async with _beside(settings, service, configuration):
                await _listen(settings, service, store)
    finally:
        await store.close()
    return not store.damage.found


@contextlib.asynccontextmanager
async def _service(settings: Settings, store: Store, metrics: Metrics) -> AsyncIterator[Service]:
    reviewer = Reviewer(settings.api, settings.audience)
    policy = Policy(settings.audience, settings.review_seconds, settings.refused_seconds)
    tokens = Tokens(reviewer, policy, metrics)
    uploads = Uploads(store, settings.max_object_bytes, settings.max_uploads, settings.idle_seconds)
    metrics.capacity.set(settings.capacity)
    try:
        yield Service(store, uploads, tokens, Health(store.probe), metrics)
    finally:
        await reviewer.close()


@contextlib.asynccontextmanager
async def _beside(
    settings: Settings, service: Service, configuration: Configuration
) -> AsyncIterator[None]:
    """The background tasks beside requests, until the block is left."""
    tasks = [
        asyncio.create_task(_repeat(configuration.follow, settings.reload_seconds)),
        asyncio.create_task(_repeat(service.store.flush, _FLUSH_SECONDS)),
        asyncio.create_task(_repeat(service.health.look, _HEALTH_SECONDS)),
        asyncio.create_task(_repeat(service.store.clean, None)),
    ]
    try:
        yield
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


async def _repeat(step: Callable[[], Awaitable[None]], seconds: float | None) -> None:
    """Do something now and each so many seconds, once without; a failure ends no later turn."""
    while True:
        try:
            await step()
        except (OSError, StorageError, sqlite3.Error) as error:
            _LOG.error("%s", error)
        except Exception:  # noqa: BLE001 - it is logged whole, and tried again
            # It would end without a word until the server does.
            _LOG.exception("a background task has failed")
        if seconds is None:
            return
        await asyncio.sleep(seconds)


async def _listen(settings: Settings, service: Service, store: Store) -> None:
    """Answer requests until a signal comes or the index breaks, and those under way then."""
    end = asyncio.Event()
    loop = asyncio.get_running_loop()

    def end_server() -> None:
        service.mark_damaged()
        end.set()

    store.damage.told = lambda: loop.call_soon_threadsafe(end_server)
    if store.damage.found:
        end_server()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, end.set)
    server = HttpServer(service, settings, service.metrics)
    runner = web.ServerRunner(server, shutdown_timeout=1.0)
    await runner.setup()
    try:
        site = web.TCPSite(runner, settings.host, settings.port, backlog=_BACKLOG)
        try:
            await site.start()
        except OSError as error:
            raise StartError(f"port {settings.port} cannot be listened on: {error}") from error
        _LOG.info("listening on port %d", site.port)
        await end.wait()
        await _end(settings, service, site)
    finally:
        await runner.cleanup()


async def _end(settings: Settings, service: Service, site: web.TCPSite) -> None:
    """Let who asks go elsewhere, then wait for what is under way."""
    _LOG.info("ending")
    service.end()
    await asyncio.sleep(settings.linger_seconds)
    await site.stop()
    # Not left to aiohttp: it would take no more of the bodies that are still coming.
    deadline = time.monotonic() + settings.drain_seconds
    while service.under_way and time.monotonic() < deadline:
        await asyncio.sleep(_POLL_SECONDS)
    if service.under_way:
        _LOG.error("%d requests are cut off", service.under_way)
