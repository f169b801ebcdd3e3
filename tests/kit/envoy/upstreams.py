"""Upstream servers that answer with their name: stand-ins for cache servers, in one thread.

They speak as much HTTP/1.1 as Envoy sends: requests one after the other on a connection, with
bodies of a stated length or in chunks.
"""

import asyncio
import errno
import threading
from collections import Counter
from collections.abc import Callable, Coroutine, Sequence
from types import TracebackType
from typing import Any, Self, TypeVar

from controlplane.ports import free_port

T = TypeVar("T")
Reply = tuple[int, bytes]
Answer = Callable[[str, str, str], Reply]
"""Status and body for an upstream's name, a method and a path."""


def _own_name(name: str, _method: str, _path: str) -> Reply:
    return 200, name.encode()


class Upstreams:
    """Servers by name on ports of 127.0.0.1; they end with the ``with`` block."""

    def __init__(self, names: Sequence[str], answer: Answer = _own_name) -> None:
        self.names = list(names)
        self.answer = answer
        self.ports: dict[str, int] = {}
        """Where each listens, also after it was stopped."""
        self.requests: Counter[str] = Counter()
        """How many requests each has answered."""
        self._servers: dict[str, asyncio.Server] = {}
        self._links: dict[str, set[asyncio.Transport]] = {}
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        for name in self.names:
            self.start(name)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        for name in list(self._servers):
            self.stop(name)
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    def start(self, name: str, port: int | None = None) -> int:
        """Listen for ``name``, on a free port unless one is given; says which."""
        own = port or self._other_port()
        while not self._do(self._start(name, own)):
            assert port is None, f"port {port} is taken"
            own = self._other_port()
        self.ports[name] = own
        return own

    def _other_port(self) -> int:
        """A free port that none of these had: Envoy may still know who listened there."""
        known = set(self.ports.values())
        return next(each for each in iter(free_port, None) if each not in known)

    def stop(self, name: str) -> None:
        """Refuse connections of ``name`` from now on, and drop those that it has."""
        self._do(self._stop(name))

    def _do(self, work: Coroutine[Any, Any, T]) -> T:
        return asyncio.run_coroutine_threadsafe(work, self._loop).result(timeout=30)

    async def _start(self, name: str, port: int) -> bool:
        """False where another process took the port meanwhile."""
        links = self._links.setdefault(name, set())
        try:
            self._servers[name] = await self._loop.create_server(
                lambda: _Link(name, self, links), "127.0.0.1", port
            )
        except OSError as error:
            if error.errno != errno.EADDRINUSE:
                raise
            return False
        return True

    async def _stop(self, name: str) -> None:
        self._servers.pop(name).close()
        for link in list(self._links[name]):
            link.abort()


class _Link(asyncio.Protocol):
    """One connection to an upstream."""

    def __init__(self, name: str, owner: Upstreams, links: set[asyncio.Transport]) -> None:
        self.name, self.owner, self.links = name, owner, links
        self.data = b""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self.transport = transport
        self.links.add(transport)

    def connection_lost(self, _error: Exception | None) -> None:
        self.links.discard(self.transport)

    def data_received(self, data: bytes) -> None:
        self.data += data
        while (request := _request(self.data)) is not None:
            method, path, end = request
            self.data = self.data[end:]
            status, body = self.owner.answer(self.name, method, path)
            self.owner.requests[self.name] += 1
            head = f"HTTP/1.1 {status} Answer\r\ncontent-length: {len(body)}\r\n\r\n"
            self.transport.write(head.encode() + (b"" if method == "HEAD" else body))


def _request(data: bytes) -> tuple[str, str, int] | None:
    """Method, path and end of the first request in ``data``; None where it is not whole."""
    head, found, _ = data.partition(b"\r\n\r\n")
    if not found:
        return None
    end = len(head) + 4
    lines = head.decode("latin-1").split("\r\n")
    method, path, _ = lines[0].split(" ", 2)
    fields = {key.lower(): value for key, _, value in (line.partition(": ") for line in lines[1:])}
    if fields.get("transfer-encoding") == "chunked":
        # No test sends this sequence within a body.
        last = data.find(b"0\r\n\r\n", end)
        return None if last < 0 else (method, path, last + 5)
    end += int(fields.get("content-length", "0"))
    return (method, path, end) if len(data) >= end else None
