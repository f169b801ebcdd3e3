"""The life of the server: what starts, what goes on beside requests, and how it ends.

How many connections there may be, and how long one may keep the server waiting: Envoys close theirs
after 30 s without a request; what is limited here is everybody else, as the port is open to the
node's whole network.
"""

import asyncio
import contextlib
import logging
import signal
import socket
import sqlite3
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from functools import partial
from typing import Any, cast

from aiohttp import hdrs, web
from aiohttp.http_exceptions import HttpProcessingError
from aiohttp.web_protocol import RequestHandler

from cache_server.configuration import Configuration
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

_READ_AHEAD = 256 << 10
_LONGEST_LINE = 16 << 10


class Request(web.BaseRequest):
    """A request whose answer does not tell what program gives it."""

    async def _prepare_hook(self, response: web.StreamResponse) -> None:
        response.headers.popall(hdrs.SERVER, None)


class Connection(RequestHandler):
    """A connection; ``head_seconds`` is how long the head of a request may take to come."""

    def __init__(self, server: "HttpServer", options: Mapping[str, Any]) -> None:
        super().__init__(server, loop=asyncio.get_running_loop(), **options)
        self._settings = server.settings
        self._server = server
        self._head_timer: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Take it, unless there are too many."""
        super().connection_made(transport)
        self._server.open += 1
        if self._server.open > self._settings.max_connections:
            self._server.metrics.refused_connections.inc()
            self.force_close()
            return
        # What was sent and is not taken for so long ends it, whoever sent it (tcp(7); Linux counts
        # a reader whose window stays closed too).
        taken = cast(socket.socket, transport.get_extra_info("socket"))
        milliseconds = int(self._settings.stall_seconds * 1000)
        taken.setsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT, milliseconds)

    def data_received(self, data: bytes) -> None:
        """Take bytes; while no request is under way they are the head of the next."""
        super().data_received(data)
        # aiohttp waits for a request, and these bytes were not all of its head.
        waits = self._waiter is not None and not self._waiter.done() and not self._messages
        if not waits:
            self._stop_timer()
        elif self._head_timer is None:
            seconds = self._settings.head_seconds
            self._head_timer = self._loop.call_later(seconds, self.force_close)

    def connection_lost(self, exc: BaseException | None) -> None:
        """It is gone."""
        self._server.open -= 1
        self._stop_timer()
        super().connection_lost(exc)

    def _stop_timer(self) -> None:
        if self._head_timer is not None:
            self._head_timer.cancel()
            self._head_timer = None


class HttpServer(web.Server):
    """aiohttp's server with the limits of the settings."""

    def __init__(self, service: Service, settings: Settings, metrics: Metrics) -> None:
        logger = logging.getLogger(f"{__name__}.http")
        logger.addFilter(_tell_no_headers)
        make = partial(Request, loop=asyncio.get_running_loop())
        super().__init__(service.handle, request_factory=make)
        self.settings = settings
        self.metrics = metrics
        self.open = 0
        self._options = {
            "access_log": None,
            "logger": logger,
            # What is kept is what was sent.
            "auto_decompress": False,
            "read_bufsize": _READ_AHEAD,
            "max_line_size": _LONGEST_LINE,
            "keepalive_timeout": settings.keepalive_seconds,
        }

    def __call__(self) -> Connection:
        """A protocol for a connection that comes in."""
        return Connection(self, self._options)


def _tell_no_headers(record: logging.LogRecord) -> bool:
    """A header that cannot be read is told to who sent it, and not logged: it may be a token."""
    if record.exc_info and isinstance(record.exc_info[1], HttpProcessingError):
        record.exc_info = None
        record.levelno, record.levelname = logging.INFO, "INFO"
    return True


_LOG = logging.getLogger(__name__)
_BACKLOG = 1024
_FLUSH_SECONDS = 5.0
_HEALTH_SECONDS = 5.0
_POLL_SECONDS = 0.05


async def serve(settings: Settings) -> bool:
    """Run until SIGTERM or SIGINT; StartError where it cannot start. False where the server ended
    by itself, so that the next start heals what is broken."""
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
    tokens = Tokens(reviewer.namespace, policy, metrics)
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
        # Nothing works any more until the server starts again.
        service.health.broken = True
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
