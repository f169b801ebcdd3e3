"""Objects of a gibibyte go through the cache server, and it never holds one in memory."""

import hashlib
import socket
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from cache_server_kit.process import OBJECTS, CacheServer, bucket
from cache_server_kit.reviews import fake_token, fake_token_reviews

MIB = 1 << 20
PIECE = hashlib.shake_256(b"piece").digest(4 * MIB)


def send(server: CacheServer, name: str, pieces: int) -> int:
    """PUT an object of so many pieces; the status."""
    connection = server.connection(300)
    headers = {
        "Authorization": f"Bearer {server.token}",
        "Content-Length": str(len(PIECE) * pieces),
    }
    connection.request("PUT", f"{OBJECTS}/{name}", (PIECE for _ in range(pieces)), headers)
    status = connection.getresponse().status
    connection.close()
    return status


def received(server: CacheServer, name: str) -> tuple[int, bool]:
    """GET an object: its bytes, and whether each is as it was sent."""
    connection = server.connection(300)
    connection.request("GET", f"{OBJECTS}/{name}")
    answer = connection.getresponse()
    count, same = 0, True
    while piece := answer.read(len(PIECE)):
        same = same and piece == PIECE[: len(piece)]
        count += len(piece)
    connection.close()
    return count, same


@pytest.mark.proof
def test_a_gibibyte_is_streamed_both_ways(tmp_path: Path) -> None:
    pieces = (1 << 30) // len(PIECE)
    with fake_token_reviews() as fake:
        made = CacheServer(tmp_path, fake.url, token=fake_token("team-a"))
        with made.configure(bucket("abc", quota="3Gi", public=True)) as server:
            assert send(server, "abc/warm", 1) == 201
            assert received(server, "abc/warm") == (len(PIECE), True)
            before = server.resident()
            assert send(server, "abc/large", pieces) == 201
            with ThreadPoolExecutor(2) as pool:
                both = list(pool.map(lambda _: received(server, "abc/large"), range(2)))
            assert both == [(1 << 30, True)] * 2
            # A piece of a request or two, and what the allocator keeps: never the object.
            assert server.resident() - before < 64 * MIB
            # One byte more is not taken.
            assert server.request("PUT", f"{OBJECTS}/abc/x", headers=too_long()).status == 413


def too_long() -> dict[str, str]:
    return {"Content-Length": str((1 << 30) + 1), "Connection": "close"}


def test_many_slow_readers_take_no_memory(tmp_path: Path) -> None:
    with fake_token_reviews() as fake:
        made = CacheServer(tmp_path, fake.url, token=fake_token("team-a"))
        with made.configure(bucket("abc", quota="1Gi", public=True)) as server:
            assert send(server, "abc/large", 16) == 201
            before = server.resident()
            readers = [socket.create_connection(("127.0.0.1", server.port)) for _ in range(50)]
            for reader in readers:
                reader.sendall(f"GET {OBJECTS}/abc/large HTTP/1.1\r\nHost: a\r\n\r\n".encode())
            hits = 'cache_hits_total{bucket="abc"}'
            deadline = time.monotonic() + 60
            while server.metric(hits) < len(readers):
                assert time.monotonic() < deadline
                time.sleep(0.05)
            # 50 times 64 MiB would be more than 3 GiB.
            assert server.resident() - before < 64 * MIB
            # Those who read it are no reason not to evict it, and nobody else waits for them.
            server.configure(bucket("abc", quota="1Mi", public=True))
            while server.metric('cache_objects{bucket="abc"}') > 0:
                assert time.monotonic() < deadline
                time.sleep(0.05)
            rest = len(PIECE) * 16
            readers[0].settimeout(60)
            head = b""
            while b"\r\n\r\n" not in head:
                head += readers[0].recv(1)
            while rest > 0:
                rest -= len(readers[0].recv(MIB))
            assert rest == 0
            for reader in readers:
                reader.close()
