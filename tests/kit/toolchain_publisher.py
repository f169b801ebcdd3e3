"""A publisher of release archives on the loopback, and archives to publish."""

import io
import socket
import tarfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler
from threading import Event

from controlplane.ports import free_port
from tests.kit.web import Handler, listening

Answer = Callable[[BaseHTTPRequestHandler], None]


class Publisher:
    """The answers by path, and the requests received: ``GET /path``."""

    def __init__(self, port: int) -> None:
        self.port = port
        self.answers: dict[str, Answer] = {}
        self.asked: list[str] = []
        self.over = Event()

    def url(self, path: str) -> str:
        return f"http://127.0.0.1:{self.port}{path}"

    def downloads(self) -> int:
        """How many files were asked for in full."""
        return sum(each.startswith("GET ") for each in self.asked)


@contextmanager
def publishing() -> Iterator[Publisher]:
    publisher = Publisher(free_port())

    class Answers(Handler):
        def do_GET(self) -> None:
            publisher.asked.append(f"{self.command} {self.path}")
            publisher.answers.get(self.path, status(404))(self)

        def do_HEAD(self) -> None:
            self.do_GET()

    with listening(Answers, publisher.port):
        try:
            yield publisher
        finally:
            publisher.over.set()


def status(code: int, **headers: str) -> Answer:
    def answer(to: BaseHTTPRequestHandler) -> None:
        to.send_response(code)
        for name, value in headers.items():
            to.send_header(name, value)
        to.end_headers()

    return answer


def content(body: bytes, length: int | None = None) -> Answer:
    """``body``, announced as ``length`` bytes; then the connection ends."""

    def answer(to: BaseHTTPRequestHandler) -> None:
        status(200, **{"Content-Length": str(len(body) if length is None else length)})(to)
        if to.command == "GET":
            to.wfile.write(body)

    return answer


def chunked(body: bytes) -> Answer:
    """A chunk that ends before it should, with no length announced."""

    def answer(to: BaseHTTPRequestHandler) -> None:
        status(200, **{"Transfer-Encoding": "chunked"})(to)
        if to.command == "GET":
            to.wfile.write(b"%x\r\n" % (len(body) + 1) + body)

    return answer


def dripping(body: bytes, seconds: float, over: Event) -> Answer:
    """A byte every ``seconds``, which never comes to an end."""

    def answer(to: BaseHTTPRequestHandler) -> None:
        status(200, **{"Content-Length": "1000000"})(to)
        while to.command == "GET":
            to.wfile.write(body[:1])
            if over.wait(seconds):
                return

    return answer


def silence(over: Event) -> Answer:
    """The connection is taken, and nothing is said."""

    def answer(_: BaseHTTPRequestHandler) -> None:
        over.wait()

    return answer


@contextmanager
def deaf() -> Iterator[int]:
    """A port on which no connection comes about: it is not refused either."""
    with socket.socket() as server:
        # As controlplane/ports.py: a port whose last connection winds down counts as free.
        server.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        server.bind(("127.0.0.1", free_port()))
        server.listen(0)
        clients = [socket.socket() for _ in range(4)]
        for client in clients:
            client.setblocking(False)
            client.connect_ex(server.getsockname())
        try:
            yield server.getsockname()[1]
        finally:
            for client in clients:
                client.close()


def packed(files: dict[str, str], *others: tarfile.TarInfo) -> bytes:
    """An archive of scripts by path, after ``others``, which have no content."""
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w:gz") as tar:
        for other in others:
            tar.addfile(other)
        for name, body in files.items():
            text = f"#!/bin/sh\n{body}\n".encode()
            info = tarfile.TarInfo(name)
            info.size, info.mode = len(text), 0o755
            tar.addfile(info, io.BytesIO(text))
    return out.getvalue()
