"""The real cache server as a process, and a small client that sends paths as they are."""

import http.client
import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Self

from cache_server_kit.ports import free_port

OBJECTS = "/v1/objects"
_START_SECONDS = 60.0


@dataclass(frozen=True, slots=True)
class Answer:
    """The answer of a server."""

    status: int
    headers: Mapping[str, str]
    body: bytes


def bucket(
    name: str, quota: str = "1Gi", public: bool = False, namespaces: Iterable[str] = ()
) -> dict[str, Any]:
    """A bucket as the configuration file has it."""
    return {
        "Name": name,
        "Public": public,
        "BucketQuota": quota,
        "AllowNamespaces": list(namespaces),
    }


def config_text(*buckets: Mapping[str, Any]) -> str:
    return json.dumps({"Bucket": list(buckets)})


@dataclass
class CacheServer:
    """A cache server with its data in a folder; it may be killed and started again.

    ``flags`` are added to, or take the place of, those that every test wants.
    """

    folder: Path
    api_url: str
    flags: Mapping[str, str] = field(default_factory=dict)
    token: str = ""
    """The token that requests show unless they say otherwise."""

    def __post_init__(self) -> None:
        self.folder.mkdir(parents=True, exist_ok=True)
        self.data.mkdir(exist_ok=True)
        self.port = free_port()
        self.process: subprocess.Popen[bytes] | None = None
        self.own_token = self.folder / "own-token"
        self.own_token.write_text("own")

    @property
    def data(self) -> Path:
        return self.folder / "data"

    @property
    def config(self) -> Path:
        return self.folder / "buckets.json"

    @property
    def log(self) -> str:
        return (self.folder / "log").read_text("utf-8")

    def configure(self, *buckets: Mapping[str, Any]) -> Self:
        """Write the configuration as one whole."""
        draft = self.folder / "buckets.draft"
        draft.write_text(config_text(*buckets))
        draft.replace(self.config)
        return self

    def command(self) -> list[str]:
        flags = {
            "config": str(self.config),
            "data": str(self.data),
            "capacity": "4Gi",
            "host": "127.0.0.1",
            "port": str(self.port),
            "api-server": self.api_url,
            "api-token-file": str(self.own_token),
            "reload-seconds": "0.05",
            "linger-seconds": "0",
            **self.flags,
        }
        arguments = [f"--{name}={value}" for name, value in flags.items()]
        return [sys.executable, "-m", "cache_server", *arguments]

    def start(self) -> Self:
        with (self.folder / "log").open("ab") as log:
            self.process = subprocess.Popen(self.command(), stdout=log, stderr=log)
        deadline = time.monotonic() + _START_SECONDS
        while time.monotonic() < deadline:
            assert self.process.poll() is None, self.log
            try:
                if self.get("/healthz").status == 200:
                    return self
            except OSError:
                time.sleep(0.02)
        raise AssertionError(self.log)

    def end(self, number: signal.Signals = signal.SIGTERM) -> int:
        """Send a signal, and wait for the end; its exit code."""
        assert self.process is not None
        self.process.send_signal(number)
        return self.process.wait(timeout=120)

    def kill(self) -> None:
        self.end(signal.SIGKILL)

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(self, *_: object) -> None:
        if self.process is not None and self.process.poll() is None:
            self.kill()

    def connection(self, seconds: float = 60.0) -> http.client.HTTPConnection:
        return http.client.HTTPConnection("127.0.0.1", self.port, timeout=seconds)

    def request(
        self,
        method: str,
        path: str,
        body: bytes | None = None,
        token: str | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> Answer:
        """One request; the path goes out byte for byte. An empty token is none."""
        token = self.token if token is None else token
        sent = {**({"Authorization": f"Bearer {token}"} if token else {}), **(headers or {})}
        connection = self.connection()
        try:
            connection.request(method, path, body, sent)
            answer = connection.getresponse()
            return Answer(answer.status, dict(answer.getheaders()), answer.read())
        finally:
            connection.close()

    def get(self, path: str, token: str | None = None) -> Answer:
        return self.request("GET", path, token=token)

    def put(self, path: str, body: bytes, token: str | None = None) -> Answer:
        return self.request("PUT", path, body, token)

    def metric(self, line: str) -> float:
        """The value of a metric, given as name and labels; 0 where it was not counted yet."""
        for each in self.get("/metrics").body.decode().splitlines():
            name, _, value = each.rpartition(" ")
            if name == line:
                return float(value)
        return 0.0

    def resident(self) -> int:
        """The most memory that the process has had, in bytes."""
        assert self.process is not None
        status = Path(f"/proc/{self.process.pid}/status").read_text("ascii")
        (line,) = (row for row in status.splitlines() if row.startswith("VmHWM:"))
        return int(line.split()[1]) * 1024

    def files(self) -> list[Path]:
        """The files of objects and of uploads, of which each should have a row."""
        found = [*(self.data / "objects").rglob("*"), *(self.data / "drafts").iterdir()]
        return sorted(path for path in found if path.is_file())


def environment(**variables: str) -> dict[str, str]:
    """Ours without what would steer a server, and with ``variables``."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("CACHE_")}
    return kept | variables


def until(true: Callable[[], bool]) -> None:
    """Wait until something is so; AssertionError where it is not within a minute."""
    deadline = time.monotonic() + 60
    while not true():
        assert time.monotonic() < deadline
        time.sleep(0.02)


def begin(server: CacheServer, name: str, size: int) -> socket.socket:
    """A PUT that has announced its size, and sent nothing of it."""
    connection = socket.create_connection(("127.0.0.1", server.port), timeout=60)
    head = (
        f"PUT {OBJECTS}/{name} HTTP/1.1\r\nHost: a\r\nContent-Length: {size}\r\n"
        f"Authorization: Bearer {server.token}\r\nExpect: 100-continue\r\n\r\n"
    )
    connection.sendall(head.encode())
    assert connection.recv(65536).startswith(b"HTTP/1.1 100 ")
    return connection
