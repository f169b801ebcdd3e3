"""Connections: how many there may be, and how long one may keep the server waiting.

Envoys close theirs after 30 s without a request; what is limited here is everybody else, as the
port is open to the node's whole network.
"""

import asyncio
import logging
import socket
from collections.abc import Mapping
from typing import Any, cast

from aiohttp import StreamReader, hdrs, web
from aiohttp.abc import AbstractStreamWriter
from aiohttp.http_exceptions import HttpProcessingError
from aiohttp.http_parser import RawRequestMessage
from aiohttp.web_protocol import RequestHandler

from cache_server.metrics import Metrics
from cache_server.service import Service
from cache_server.settings import Settings

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
        super().__init__(service.handle, request_factory=self._request)
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

    def _request(
        self,
        message: RawRequestMessage,
        payload: StreamReader,
        protocol: RequestHandler,
        writer: AbstractStreamWriter,
        task: "asyncio.Task[None]",
    ) -> Request:
        return Request(message, payload, protocol, writer, task, self._loop)


def _tell_no_headers(record: logging.LogRecord) -> bool:
    """A header that cannot be read is told to who sent it, and not logged: it may be a token."""
    if record.exc_info and isinstance(record.exc_info[1], HttpProcessingError):
        record.exc_info = None
        record.levelno, record.levelname = logging.INFO, "INFO"
    return True
