"""A stand-in for a cache server that tells what reached it, and takes and gives large bodies."""

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import ThreadingHTTPServer
from typing import NamedTuple
from urllib.parse import parse_qs, urlsplit

from tests.kit.web import Handler

BLOCK = bytes(2**20)


class Seen(NamedTuple):
    """A request as it came: its first line's target and its fields, and the bytes of its body."""

    method: str
    target: str
    fields: dict[str, str]
    body: int


class Upstream(ThreadingHTTPServer):
    """``?mebibytes=N`` asks for a body, ``?seconds=N`` for an answer that takes its time. Of a path
    that ends with ``/lost`` the first request's connection is closed, as by a server that no
    longer wanted it."""

    daemon_threads = True
    request_queue_size = 64

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.seen: list[Seen] = []
        self.lost: set[tuple[str, str]] = set()

    @property
    def port(self) -> int:
        return int(self.server_address[1])


class _Handler(Handler):
    protocol_version = "HTTP/1.1"
    server: Upstream

    def do_GET(self) -> None:
        if self.path == "/healthz":
            self._answer(200, 0)
            return
        if self._loses():
            return
        self._note(0)
        query = parse_qs(urlsplit(self.path).query)
        time.sleep(float(query.get("seconds", ["0"])[0]))
        self._answer(200, int(query.get("mebibytes", ["0"])[0]))

    do_HEAD = do_GET

    def do_PUT(self) -> None:
        left = total = int(self.headers["content-length"])
        while left:
            left -= len(self.rfile.read(min(left, len(BLOCK))))
        if not self._loses():
            self._note(total)
            self._answer(201, 0)

    def _loses(self) -> bool:
        """True if this request is to be lost, with its connection."""
        request = (self.command, self.path)
        if not self.path.endswith("/lost") or request in self.server.lost:
            return False
        self.server.lost.add(request)
        self.close_connection = True
        return True

    def _note(self, body: int) -> None:
        target = self.requestline.split(" ")[1]
        fields = {name.lower(): value for name, value in self.headers.items()}
        self.server.seen.append(Seen(self.command, target, fields, body))

    def _answer(self, status: int, mebibytes: int) -> None:
        self.answer(status, headers={"content-length": str(mebibytes * len(BLOCK))})
        if self.command != "HEAD":
            for _ in range(mebibytes):
                self.wfile.write(BLOCK)


@contextmanager
def upstream() -> Iterator[Upstream]:
    """A server on a port of 127.0.0.1 that ends with the ``with`` block."""
    with Upstream() as server:
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        try:
            yield server
        finally:
            server.shutdown()
            thread.join()
