"""A client that asks for many paths quickly: requests in batches on a few connections."""

import socket
from collections.abc import Sequence
from io import BufferedReader
from typing import NamedTuple

_LINKS = 8
_BATCH = 32
"""Requests that wait on one connection: Envoy answers them in turn."""


class Answer(NamedTuple):
    """The answer to one request."""

    status: int
    body: str


def ask(port: int, paths: Sequence[str], method: str = "GET") -> list[str]:
    """The bodies of the answers to ``paths``, in their order; each must be a success."""
    found = answers(port, paths, method)
    bad = [(path, each) for path, each in zip(paths, found, strict=True) if each.status >= 300]
    assert not bad, f"{len(bad)} of {len(paths)} failed, such as {bad[0]}"
    return [each.body for each in found]


def answers(port: int, paths: Sequence[str], method: str = "GET") -> list[Answer]:
    """The answers to ``paths``, in their order; a PUT has an empty body."""
    links = [socket.create_connection(("127.0.0.1", port), timeout=60) for _ in range(_LINKS)]
    found: list[Answer] = []
    try:
        readers = [link.makefile("rb") for link in links]
        for start in range(0, len(paths), _LINKS * _BATCH):
            sent: list[tuple[BufferedReader, int]] = []
            for link, reader in zip(links, readers, strict=True):
                first = start + len(sent) * _BATCH
                batch = paths[first : first + _BATCH]
                link.sendall(b"".join(_request(path, method) for path in batch))
                sent.append((reader, len(batch)))
            found += [_answer(reader) for reader, count in sent for _ in range(count)]
    finally:
        for link in links:
            link.close()
    return found


def _request(path: str, method: str) -> bytes:
    length = "content-length: 0\r\n" if method == "PUT" else ""
    return f"{method} {path} HTTP/1.1\r\nhost: cache\r\n{length}\r\n".encode("latin-1")


def _answer(reader: BufferedReader) -> Answer:
    line = reader.readline()
    assert line, "Envoy closed the connection"
    length = 0
    while (field := reader.readline()) not in (b"\r\n", b""):
        name, _, value = field.partition(b":")
        if name.lower() == b"content-length":
            length = int(value)
    return Answer(int(line.split(b" ", 2)[1]), reader.read(length).decode("latin-1"))
