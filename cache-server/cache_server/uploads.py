"""Taking the body of a PUT: in pieces, to the disk, whole or not at all."""

import asyncio
import contextlib
import errno
import re
from collections.abc import AsyncIterator
from http import HTTPStatus

import aiohttp
from aiohttp import hdrs, web

from cache_server.buckets import Bucket
from cache_server.names import Target
from cache_server.refusals import Refusal, bad_request, full, too_large, unavailable
from cache_server.store import Store, Upload

_PIECE = 1 << 20
"""Bytes that are gathered before a thread writes them."""
_TURN_SECONDS = 2.0
"""Seconds that an upload waits for a slot: PFIO gives up after 3 s (2.10, cache/http_cache.py)."""
_NO_ROOM = frozenset({errno.ENOSPC, errno.EDQUOT})
_DIGITS = re.compile(r"[0-9]{1,18}")
_BROKEN = (web.RequestPayloadError, aiohttp.ClientPayloadError, ConnectionError)


class Uploads:
    """Takes in at most ``at_once`` bodies at a time; each holds about two MiB of memory."""

    def __init__(self, store: Store, largest: int, at_once: int, idle_seconds: float) -> None:
        self._store = store
        self._largest = largest
        self._turns = asyncio.Semaphore(at_once)
        self._idle_seconds = idle_seconds

    async def take(self, request: web.BaseRequest, bucket: Bucket, target: Target) -> int:
        """Keep the object that a PUT brings; its size."""
        size = self._size(request)
        try:
            async with self._turn(), self._store.upload(bucket, target.key, size) as upload:
                await _go_on(request)
                try:
                    await self._store.keep(upload, await self._receive(request, upload, size))
                except _BROKEN as error:
                    raise bad_request("the body ended early") from error
        except OSError as error:
            # A disk that is full before the cache is, as others fill it too, is no fault of ours.
            if error.errno in _NO_ROOM:
                raise full("the disk is full") from error
            raise
        return size

    def _size(self, request: web.BaseRequest) -> int:
        """The bytes that are announced, if such an object may come."""
        if hdrs.CONTENT_ENCODING in request.headers:
            # It would have to be kept and told to readers; what is kept is bytes alone.
            text = "objects are taken without Content-Encoding"
            raise Refusal(HTTPStatus.UNSUPPORTED_MEDIA_TYPE, text)
        announced = request.headers.get(hdrs.CONTENT_LENGTH)
        if announced is None:
            raise Refusal(HTTPStatus.LENGTH_REQUIRED, "Content-Length is needed")
        if _DIGITS.fullmatch(announced) is None:
            raise bad_request("Content-Length must be a number of bytes")
        if int(announced) > self._largest:
            raise too_large(f"an object may have {self._largest} bytes")
        return int(announced)

    @contextlib.asynccontextmanager
    async def _turn(self) -> AsyncIterator[None]:
        try:
            async with asyncio.timeout(_TURN_SECONDS):
                await self._turns.acquire()
        except TimeoutError as error:
            raise unavailable("too many uploads at once") from error
        try:
            yield
        finally:
            self._turns.release()

    async def _receive(self, request: web.BaseRequest, upload: Upload, size: int) -> list[bytes]:
        """Write the body but for its last piece, which is returned."""
        pieces: list[bytes] = []
        gathered = received = 0
        while chunk := await self._next(request):
            pieces.append(chunk)
            gathered += len(chunk)
            received += len(chunk)
            if gathered >= _PIECE:
                await self._store.write(upload, pieces)
                pieces, gathered = [], 0
        if received != size:
            raise bad_request(f"the body has {received} bytes, and {size} were announced")
        return pieces

    async def _next(self, request: web.BaseRequest) -> bytes:
        try:
            async with asyncio.timeout(self._idle_seconds):
                return await request.content.readany()
        except TimeoutError as error:
            text = f"no byte came for {self._idle_seconds:g} s"
            raise Refusal(HTTPStatus.REQUEST_TIMEOUT, text, {"Connection": "close"}) from error


async def _go_on(request: web.BaseRequest) -> None:
    """Have a client send the body that asks first (RFC 9110, section 10.1.1)."""
    if request.headers.get(hdrs.EXPECT, "").lower() == "100-continue":
        await request.writer.write(b"HTTP/1.1 100 Continue\r\n\r\n")
        # That was no part of the answer, which may still be a refusal.
        request.writer.output_size = 0
