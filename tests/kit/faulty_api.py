"""A TLS proxy before a real API server, which is slow, cuts connections, or answers for it.

What passes is the real server's: a fake of its faults, not of its answers. It has the server's own
certificate, so that a kubeconfig only needs another port.
"""

import http.client
import json
import random
import ssl
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from controlplane import ControlPlane
from controlplane.ports import free_port
from tests.kit.web import listening

WRITES = ("POST", "PATCH", "PUT", "DELETE")
_HOP = {"connection", "keep-alive", "transfer-encoding", "content-length", "host", "date"}


@dataclass(frozen=True)
class Fault:
    """The fate of a request. ``seconds``: it waits so long. ``status``: it is answered with this,
    and ``retry_after``. ``cut``: the connection ends, ``before`` the server hears of it or
    ``after`` it has done the request. ``until``: it waits for an event."""

    seconds: float = 0.0
    status: int = 0
    retry_after: int | None = None
    cut: str = ""
    until: threading.Event | None = None


NONE = Fault()
Rule = Callable[[str, str], Fault]
"""Returns the fault of a request by its method and path."""


def sound(_method: str, _path: str) -> Fault:
    return NONE


def first_writes(count: int, fault: Fault) -> Rule:
    """The fault for so many changes of objects; then none."""
    left = iter(range(count))

    def rule(method: str, path: str) -> Fault:
        return fault if writes(method, path) and next(left, None) is not None else NONE

    return rule


def at_random(seed: int, share: float, *faults: Fault) -> Rule:
    """One of the faults for a share of the changes of objects, by a seed."""
    dice = random.Random(seed)

    def rule(method: str, path: str) -> Fault:
        if writes(method, path) and dice.random() < share:
            return dice.choice(faults)
        return NONE

    return rule


def writes(method: str, path: str) -> bool:
    return method in WRITES and "accessreviews" not in path


@dataclass
class FaultyApi:
    """A running proxy; ``rule`` may be set at any time, ``seen`` are the requests it got and what
    became of each. Its clock is ``ahead`` by so many seconds."""

    plane: ControlPlane
    port: int
    rule: Rule = sound
    ahead: float = 0.0
    seen: list[tuple[str, str, Fault]] = field(default_factory=list)
    lock: threading.Lock = field(default_factory=threading.Lock)

    def kubeconfig(self, path: Path, *contexts: str) -> Path:
        """A kubeconfig whose contexts lead here."""
        config = json.loads(self.plane.kubeconfig(contexts).read_text())
        for each in config["clusters"]:
            each["cluster"]["server"] = f"https://127.0.0.1:{self.port}"
        path.write_text(json.dumps(config))
        return path

    def faults(self) -> int:
        """How many requests did not simply pass."""
        return sum(fault != NONE for _, _, fault in self.seen)


@contextmanager
def faulty_api(plane: ControlPlane) -> Iterator[FaultyApi]:
    """A proxy before the server of a control plane."""
    found = FaultyApi(plane, free_port(None))

    class Handler(_Handler):
        api = found

    certificate = plane.directory / "certs" / "apiserver.crt"
    with listening(Handler, found.port, (certificate, certificate.with_suffix(".key"))):
        yield found


class _Handler(BaseHTTPRequestHandler):
    api: FaultyApi
    protocol_version = "HTTP/1.1"

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 the base class calls it so
        pass

    def date_time_string(self, timestamp: float | None = None) -> str:
        return super().date_time_string((timestamp or time.time()) + self.api.ahead)

    def handle(self) -> None:
        with suppress(OSError):
            super().handle()

    def _serve(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        with self.api.lock:
            fault = self.api.rule(self.command, self.path)
            self.api.seen.append((self.command, self.path, fault))
        time.sleep(fault.seconds)
        if fault.until is not None:
            fault.until.wait(120)
        if fault.status:
            self._refuse(fault)
        elif fault.cut == "before":
            self.close_connection = True
        else:
            self._pass(body, fault)

    do_GET = do_POST = do_PUT = do_PATCH = do_DELETE = _serve

    def _refuse(self, fault: Fault) -> None:
        said = {"kind": "Status", "apiVersion": "v1", "status": "Failure", "code": fault.status,
                "message": f"the faulty API server says {fault.status}"}  # fmt: skip
        text = json.dumps(said).encode()
        self.send_response(fault.status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(text)))
        if fault.retry_after is not None:
            self.send_header("Retry-After", str(fault.retry_after))
        self.end_headers()
        self.wfile.write(text)

    def _pass(self, body: bytes, fault: Fault) -> None:
        server = urlsplit(self.api.plane.status().server or "")
        tls = ssl.create_default_context()
        tls.check_hostname = False
        tls.verify_mode = ssl.CERT_NONE
        upstream = http.client.HTTPSConnection(
            server.hostname or "", server.port, context=tls, timeout=120
        )
        try:
            headers = {k: v for k, v in self.headers.items() if k.lower() not in _HOP}
            upstream.request(self.command, self.path, body or None, headers)
            answer = upstream.getresponse()
            if fault.cut == "after":
                answer.read()
                self.close_connection = True
                return
            self._relay(answer)
        except (OSError, http.client.HTTPException):
            self.close_connection = True  # as a server that has just died
        finally:
            upstream.close()

    def _relay(self, answer: http.client.HTTPResponse) -> None:
        """Pass an answer on as it comes: a watch has no end."""
        self.send_response(answer.status)
        for key, value in answer.getheaders():
            if key.lower() not in _HOP:
                self.send_header(key, value)
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        while part := answer.read1(65536):
            self.wfile.write(f"{len(part):x}\r\n".encode() + part + b"\r\n")
        self.wfile.write(b"0\r\n\r\n")
