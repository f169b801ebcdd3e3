"""How fast the cache server alone is, on the loopback: ``python -m bench.studies.cache_server``.

The clients share the machine's cores with the server, so what counts is the comparison, and the
processor time that a request costs the server.
"""

import argparse
import multiprocessing
import socket
import statistics
import tempfile
import time
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from cache_server_kit.process import OBJECTS, CacheServer, bucket
from cache_server_kit.reviews import fake_token, fake_token_reviews

KIB, MIB = 1 << 10, 1 << 20


@dataclass(frozen=True)
class Load:
    """One measurement: objects of a size, read by so many clients or written by one each."""

    name: str
    method: str
    size: int
    clients: int


LOADS = (
    Load("GET 4 KiB", "GET", 4 * KIB, 8),
    Load("GET 256 KiB", "GET", 256 * KIB, 8),
    Load("GET 1 MiB", "GET", MIB, 8),
    Load("GET 64 MiB", "GET", 64 * MIB, 2),
    Load("PUT 4 KiB", "PUT", 4 * KIB, 8),
    Load("PUT 1 MiB", "PUT", MIB, 4),
    Load("PUT 64 MiB", "PUT", 64 * MIB, 2),
)


def exchange(connection: socket.socket, request: bytes, buffer: bytearray) -> None:
    """Send a request and take the answer, of which the body is not kept."""
    connection.sendall(request)
    count = connection.recv_into(buffer)
    end = buffer.find(b"\r\n\r\n", 0, count)
    while end < 0:
        count += connection.recv_into(memoryview(buffer)[count:])
        end = buffer.find(b"\r\n\r\n", 0, count)
    head = bytes(buffer[:end]).lower()
    assert head[9:12] in {b"200", b"201"}, head
    length = int(head.partition(b"\r\ncontent-length: ")[2].partition(b"\r\n")[0])
    left = length - (count - end - 4)
    while left > 0:
        left -= connection.recv_into(buffer)


def client(
    port: int, requests: list[bytes], seconds: float, result: "multiprocessing.Queue[list[float]]"
) -> None:
    """Ask until the time is over; the seconds that each took."""
    buffer = bytearray(MIB)
    times = []
    with socket.create_connection(("127.0.0.1", port)) as connection:
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        deadline = time.perf_counter() + seconds
        number = 0
        while (begin := time.perf_counter()) < deadline:
            exchange(connection, requests[number % len(requests)], buffer)
            times.append(time.perf_counter() - begin)
            number += 1
    result.put(times)


def requests_of(server: CacheServer, load: Load, number: int) -> list[bytes]:
    """The requests that one client repeats."""
    body = bytes(load.size) if load.method == "PUT" else b""
    names = [f"{load.size}/{number if body else 0}-{each}" for each in range(4)]
    return [
        f"{load.method} {OBJECTS}/abc/{name} HTTP/1.1\r\nHost: a\r\n"
        f"Authorization: Bearer {server.token}\r\nContent-Length: {len(body)}\r\n\r\n".encode()
        + body
        for name in names
    ]


def processor_seconds(server: CacheServer) -> float:
    assert server.process is not None
    fields = Path(f"/proc/{server.process.pid}/stat").read_text("ascii").rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / 100


def measure(server: CacheServer, load: Load, seconds: float) -> str:
    """One line of the table."""
    for each in range(4):
        server.put(f"{OBJECTS}/abc/{load.size}/0-{each}", bytes(load.size))
    result: multiprocessing.Queue[list[float]] = multiprocessing.Queue()
    clients = [
        multiprocessing.Process(
            target=client, args=(server.port, requests_of(server, load, number), seconds, result)
        )
        for number in range(load.clients)
    ]
    before, begin = processor_seconds(server), time.perf_counter()
    for each_client in clients:
        each_client.start()
    times = sorted(value for _ in clients for value in result.get())
    taken = time.perf_counter() - begin
    used = processor_seconds(server) - before
    for each_client in clients:
        each_client.join()
    return row(load, times, taken, used)


def row(load: Load, times: list[float], taken: float, used: float) -> str:
    rate = len(times) / taken
    p99 = times[int(len(times) * 0.99)]
    cells: Iterable[str] = (
        load.name,
        str(load.clients),
        f"{rate:,.0f}",
        f"{rate * load.size / 1e9:.2f}",
        f"{statistics.median(times) * 1000:.1f}",
        f"{p99 * 1000:.1f}",
        f"{used / len(times) * 1e6:,.0f}",
    )
    return f"| {' | '.join(cells)} |"


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=5.0, help="how long each load lasts")
    seconds = parser.parse_args(arguments).seconds
    print("| load | clients | requests/s | GB/s | p50 ms | p99 ms | server CPU us/request |")
    print("|---|---|---|---|---|---|---|")
    with tempfile.TemporaryDirectory() as folder, fake_token_reviews() as fake:
        server = CacheServer(Path(folder), fake.url, token=fake_token("team-a"))
        with server.configure(bucket("abc", quota="4Gi", namespaces=["team-a"])):
            for load in LOADS:
                print(measure(server, load, seconds), flush=True)


if __name__ == "__main__":
    main()
