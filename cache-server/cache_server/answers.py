"""How objects and refusals are sent."""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from io import FileIO

from aiohttp import web
from aiohttp.abc import AbstractStreamWriter

from cache_server.refusals import Refusal

HEADERS = {"Content-Type": "application/octet-stream"}


@dataclass(frozen=True, slots=True)
class Sending:
    """An open file of ``size`` bytes that is sent. ``sent`` is told the bytes if all of them get
    out, and then, whatever happens, ``done`` is."""

    file: FileIO
    size: int
    sent: Callable[[int], object]
    done: Callable[[], object]

    def __enter__(self) -> FileIO:
        return self.file

    def __exit__(self, *_: object) -> None:
        self.file.close()
        self.done()


class WholeFile(web.StreamResponse):
    """A file, sent by sendfile(2)."""

    def __init__(self, sending: Sending) -> None:
        super().__init__(headers=HEADERS)
        self.content_length = sending.size
        self._sending = sending

    async def prepare(self, request: web.BaseRequest) -> AbstractStreamWriter | None:
        """Send it: aiohttp calls this once, after the handler."""
        size = self._sending.size
        with self._sending as file:
            writer = await super().prepare(request)
            transport = request.transport
            if transport is None:
                raise ConnectionResetError("the client is gone")
            try:
                sent = await asyncio.get_running_loop().sendfile(transport, file, 0, size)
            except TimeoutError as error:
                raise ConnectionResetError("the client takes nothing") from error
            if sent != size:
                raise ConnectionResetError("the file has become shorter")
            await super().write_eof()
            self._sending.sent(size)
        return writer


class PartOfFile(web.FileResponse):
    """The part of a file that a request with conditions or a range gets, by aiohttp's own rules.
    aiohttp opens a file by its name, which this one may have lost (its object was evicted or
    replaced), so it is opened again by its handle."""

    def __init__(self, sending: Sending) -> None:
        super().__init__(f"/proc/self/fd/{sending.file.fileno()}", headers=HEADERS)
        self._sending = sending

    async def prepare(self, request: web.BaseRequest) -> AbstractStreamWriter | None:
        """Send it: aiohttp calls this once, after the handler."""
        with self._sending:
            writer = await super().prepare(request)
            if request.method == "GET" and self.status in {200, 206}:
                self._sending.sent(self.content_length or 0)
        return writer


def refusal_response(refusal: Refusal) -> web.Response:
    """The answer to a client whose request is refused."""
    return web.Response(status=refusal.status, text=f"{refusal.text}\n", headers=refusal.headers)
