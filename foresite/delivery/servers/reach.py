"""One bounded question to a server that nobody logs in to: of images, a registry, a BMC. No
credential is sent and no proxy of this machine is used, as hosts and Ironic have none. A little of
an answer is read, until a given time."""

import http.client
import io
import re
import socket
import ssl
import time
from collections.abc import Callable, Mapping
from typing import NamedTuple
from urllib.parse import urljoin, urlsplit

from schemas.kubernetes.tables import read_table

_READ = 65_536
"""Bytes of an answer that are read at most."""
_REDIRECTS = 5
_PING = bytes.fromhex("0600ff06000011be80000000")
"""A presence ping of RMCP, which a BMC answers without a login (IPMI 2.0, 13.2.3)."""
_PONG = 0x40
_ASK_AGAIN = 1.0
"""Seconds after which a datagram counts as lost."""
_WHY = read_table(__file__)
"""Errors in words, and whether the way from this machine may be the reason."""


class UnreachedError(Exception):
    """No answer came. ``silent``: the way from this machine may be the reason."""

    def __init__(self, message: str, *, silent: bool = False) -> None:
        super().__init__(message)
        self.silent = silent


class Answer(NamedTuple):
    """Status, head, and the beginning of the body."""

    status: int
    head: Mapping[str, str]
    body: bytes


def fetch(url: str, until: float, method: str = "GET", *, trusting: bool = False) -> Answer:
    """Ask a URL, and where it leads; ``trusting``: whatever its certificate. Of a HEAD that is
    refused, a GET is sent. Raises UnreachedError."""
    for _ in range(_REDIRECTS):
        answer = _explained(_once, url, until, method, trusting)
        if method == "HEAD" and answer.status in (403, 405, 501):
            method = "GET"
        elif answer.status in (301, 302, 303, 307, 308):
            url = urljoin(url, answer.head.get("location", ""))
        else:
            return answer
    raise UnreachedError("it leads from address to address")


def ping(host: str, port: int, until: float) -> None:
    """Have a BMC answer a presence ping of IPMI. Raises UnreachedError."""
    _explained(_ping, host, port, until)


def _explained(function: Callable[..., Answer], *given: object) -> Answer:
    try:
        return function(*given)
    except (OSError, ValueError, http.client.HTTPException) as error:
        why = next(_WHY[each.__name__] for each in type(error).__mro__ if each.__name__ in _WHY)
        raise UnreachedError(why["text"], silent=why["silent"]) from None


def _left(until: float) -> float:
    if (left := until - time.monotonic()) <= 0:
        raise TimeoutError
    return left


def _once(url: str, until: float, method: str, trusting: bool) -> Answer:
    parts = urlsplit(url)
    if parts.scheme not in ("http", "https") or parts.hostname is None:
        raise ValueError
    where = parts.netloc.rpartition("@")[2]
    path = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
    secure = parts.scheme == "https"
    line = socket.create_connection(
        (parts.hostname, parts.port or (443 if secure else 80)), _left(until)
    )
    with line:
        if secure:
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
            if trusting:
                context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
            else:
                context.load_default_certs()
            line = context.wrap_socket(line, server_hostname=parts.hostname)
        with line:
            asked = f"{method} {path} HTTP/1.1\r\nHost: {where}\r\nConnection: close\r\n\r\n"
            line.sendall(asked.encode())
            return _read(line, until, method == "HEAD")


def _read(line: socket.socket, until: float, brief: bool) -> Answer:
    data, part = b"", b" "
    while part and len(data) < _READ and not (brief and b"\r\n\r\n" in data):
        line.settimeout(_left(until))
        data += (part := line.recv(_READ))
    found = re.match(rb"HTTP/1\.[01] ([1-5][0-9]{2})[^\n]*\n", data)
    if not found:
        raise ValueError
    rest = io.BytesIO(data[found.end() :])
    head = {name.lower(): value for name, value in http.client.parse_headers(rest).items()}
    return Answer(int(found[1]), head, rest.read())


def _ping(host: str, port: int, until: float) -> Answer:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as line:
        line.connect((host, port))
        while True:
            line.settimeout(min(_ASK_AGAIN, _left(until)))
            line.send(_PING)
            try:
                answer = line.recv(_READ)
            except TimeoutError:
                continue
            if answer[8:9] != bytes([_PONG]):
                raise ValueError
            return Answer(0, {}, answer)
