"""One program beside the API server: started, waited for, asked, ended."""

import http.client
import os
import signal
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias, cast

from controlplane.access import Access
from controlplane.child_process import tie_to_parent
from controlplane.client import Client
from controlplane.daemon import Daemon
from controlplane.errors import ApiError, ControlPlaneError
from controlplane.ports import free_port

START_SECONDS = 60.0
_ANSWER_SECONDS = 60.0
_PAUSE_SECONDS = 0.02
_BECOMING_SECONDS = 0.3
_PORT_TRIES = 3
_TAKEN = "address already in use"

Command: TypeAlias = Sequence[str | Path]


@dataclass(frozen=True, slots=True)
class Program:
    """A program to run: ``command`` makes its command line, given the port that it serves on.

    ``mark`` is an argument that only this program of this directory is started with. ``health`` is
    the path that answers once it works. ``plain`` ones serve HTTP without TLS.
    """

    name: str
    mark: str
    command: Callable[[int], Command]
    health: str = "/readyz"
    plain: bool = False


class _Plain(Client):
    """A client of a server that speaks no TLS."""

    def _connect(self) -> http.client.HTTPSConnection:
        # All that is asked of a connection is what both kinds have.
        plain = http.client.HTTPConnection(self._host, self._port, timeout=_ANSWER_SECONDS)
        return cast("http.client.HTTPSConnection", plain)


class Process:
    """A program that runs, with the certificate of the API server as its own unless it is plain.

    That certificate is for 127.0.0.1, and its signer is known to whoever knows the API server.
    """

    def __init__(self, program: Program, directory: Path) -> None:
        self._program = program
        self._daemon = Daemon(program.name, directory, program.mark)
        self._authority = (directory / "certs" / "apiserver.crt").read_text()
        self._tries = 0
        self._client: Client | None = None

    @property
    def pid(self) -> int | None:
        """Its process id, or None where it has ended."""
        return self._daemon.pid()

    def start(self) -> None:
        """Start it; call it from a thread that lives as long as it shall."""
        self._tries += 1
        port = free_port()
        kind = _Plain if self._program.plain else Client
        self._client = kind(Access(f"https://127.0.0.1:{port}", "", self._authority))
        self._daemon.start(tie_to_parent(self._program.command(port)))

    def wait(self) -> None:
        """Wait until it works. Raises ControlPlaneError where it ends or takes too long."""
        deadline = time.monotonic() + START_SECONDS
        while self.answer(self._program.health) != http.client.OK:
            if self._is_over():
                if _TAKEN not in self._daemon.tail() or self._tries == _PORT_TRIES:
                    raise self._error("ended while it was starting")
                # Somebody was quicker to take a port of ours.
                self.start()
            if time.monotonic() > deadline:
                raise self._error(f"did not work within {START_SECONDS:.0f} s")
            time.sleep(_PAUSE_SECONDS)

    def _is_over(self) -> bool:
        """True if it is gone: while it becomes another program it has no arguments for a moment."""
        if self.pid is not None:
            return False
        time.sleep(_BECOMING_SECONDS)
        return self.pid is None

    def kill(self) -> None:
        """Kill it as the kernel does where memory runs out: it can put nothing in order."""
        pid = self.pid
        if pid is None:
            raise self._error("has ended")
        os.kill(pid, signal.SIGKILL)
        while self.pid is not None:
            time.sleep(_PAUSE_SECONDS)

    def revive(self) -> None:
        """Start it again where it has ended, as a kubelet does with a container, and wait."""
        if self._is_over():
            self._tries = 0
            self.start()
            self.wait()

    def check(self) -> None:
        """Raise ControlPlaneError where it has ended."""
        if self._is_over():
            raise self._error("has ended")

    def metrics(self) -> str:
        """Its metrics in Prometheus' text format."""
        if self._client is None:
            raise self._error("was not started")
        text: str = self._client.request("GET", "/metrics")["text"]
        return text

    def answer(self, path: str) -> int:
        """The HTTP status that it answers with; 0 where nobody answers."""
        if self._client is None:
            return 0
        try:
            self._client.request("GET", path)
        except ApiError as error:
            return error.status
        except (OSError, http.client.HTTPException):
            return 0
        return http.client.OK

    def stop(self) -> None:
        """End it."""
        if self._client is not None:
            self._client.close()
        self._daemon.stop()

    def _error(self, what: str) -> ControlPlaneError:
        fix = f"look at {self._daemon.log}"
        return ControlPlaneError(f"{self._program.name} {what}", fix, self._daemon.tail())


def serving(directory: Path) -> list[str]:
    """The flags of Kubernetes' servers by which a program serves as :class:`Process` expects."""
    certificates = directory / "certs"
    return [
        f"--tls-cert-file={certificates / 'apiserver.crt'}",
        f"--tls-private-key-file={certificates / 'apiserver.key'}",
    ]


OPEN_PATHS = "--authorization-always-allow-paths=/healthz,/livez,/readyz,/metrics"
"""Paths that a Kubernetes server answers without authorization; it listens on the loopback only."""
