"""Clients that keep the cache server waiting: connections without requests, readers that take
nothing."""

import contextlib
import socket
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from cache_server_kit.process import OBJECTS, CacheServer, bucket, until
from cache_server_kit.reviews import fake_token, fake_token_reviews

MIB = 1 << 20
MOST = 8


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[CacheServer]:
    flags = {
        "max-connections": str(MOST),
        "keepalive-seconds": "1",
        "head-seconds": "0.2",
        "stall-seconds": "1",
    }
    with fake_token_reviews() as fake:
        made = CacheServer(tmp_path_factory.mktemp("cache"), fake.url, flags, fake_token("team-a"))
        with made.configure(bucket("abc", public=True)) as running:
            yield running


def connect(server: CacheServer) -> socket.socket:
    return socket.create_connection(("127.0.0.1", server.port), timeout=60)


def ended(connection: socket.socket) -> bool:
    """True if the server ends a connection without a word."""
    try:
        return connection.recv(1) == b""
    except ConnectionResetError:
        return True


@pytest.mark.parametrize("sent", [b"", b"GET /livez HTTP/1.1\r\nHost"])
def test_a_connection_without_a_request_is_closed(server: CacheServer, sent: bytes) -> None:
    with connect(server) as connection:
        connection.sendall(sent)
        assert ended(connection)


def test_a_head_that_comes_in_time_is_answered_again_and_again(server: CacheServer) -> None:
    with connect(server) as connection:
        for _ in range(3):
            connection.sendall(b"GET /livez HTTP/1.1\r\n")
            time.sleep(0.05)
            connection.sendall(b"Host: a\r\n\r\n")
            assert connection.recv(65536).startswith(b"HTTP/1.1 200 ")
        connection.sendall(b"GET /livez HTTP/1.1\r\n")
        assert ended(connection)


def test_a_reader_that_takes_nothing_is_given_up(server: CacheServer) -> None:
    assert server.put(f"{OBJECTS}/abc/x", bytes(32 * MIB)).status == 201
    sent = server.metric('cache_sent_bytes_total{bucket="abc"}')
    with connect(server) as connection:
        connection.sendall(f"GET {OBJECTS}/abc/x HTTP/1.1\r\nHost: a\r\n\r\n".encode())
        assert connection.recv(4).startswith(b"HTTP")
        # Its open file is there while the server waits.
        until(lambda: not reading(server))
    assert server.metric('cache_sent_bytes_total{bucket="abc"}') == sent
    assert "Traceback" not in server.log


def reading(server: CacheServer) -> bool:
    """True if the server has an object's file open."""
    assert server.process is not None
    objects = server.data / "objects"
    for handle in Path(f"/proc/{server.process.pid}/fd").iterdir():
        with contextlib.suppress(FileNotFoundError):
            if handle.readlink().is_relative_to(objects):
                return True
    return False


def test_connections_beyond_the_most_are_closed(server: CacheServer) -> None:
    before = server.metric("cache_refused_connections_total")
    taken = [connect(server) for _ in range(MOST)]
    with connect(server) as more:
        assert ended(more)
    for each in taken:
        each.close()
    until(lambda: answers(server))
    assert server.metric("cache_refused_connections_total") > before


def answers(server: CacheServer) -> bool:
    try:
        return server.get("/livez").status == 200
    except OSError:
        return False


def test_no_answer_tells_the_program(server: CacheServer) -> None:
    for path in ("/livez", "/nothing", f"{OBJECTS}/abc/x", f"{OBJECTS}/abc"):
        assert "Server" not in server.get(path).headers
