"""An API server of one's own: start, stop, and where it is."""

import contextlib
import fcntl
import http.client
import json
import os
import shutil
import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from controlplane import access, flags
from controlplane.access import Access, write_kubeconfig
from controlplane.child_process import tie_to_parent
from controlplane.client import Client
from controlplane.daemon import Daemon
from controlplane.errors import ApiError, ControlPlaneError
from controlplane.ports import free_port

DEFAULT_CONTEXT = "trial"
_START_SECONDS = 90.0
_PORT_TRIES = 3
# Kubernetes signs its own certificate for a year and does not look at it again.
_CERTIFICATE_DAYS = 300
_WIPE_FIX = "read the log, or start again: `python -m controlplane down --wipe`, then `up`"


@dataclass(frozen=True, slots=True)
class Binaries:
    """The executables that are run."""

    etcd: Path
    apiserver: Path


@dataclass(frozen=True, slots=True)
class Status:
    """The running parts of a control plane, and its address."""

    server: str | None
    pids: dict[str, int | None]
    kubeconfig: Path
    contexts: tuple[str, ...]
    directory: Path

    @property
    def running(self) -> bool:
        """True if all of it runs."""
        return all(self.pids.values())


class ControlPlane:
    """etcd and kube-apiserver with everything they keep in one directory of their owner's."""

    def __init__(self, directory: Path, options: flags.Options = flags.PLAIN) -> None:
        self.directory = here = directory.expanduser().resolve()
        self._options = options
        self._etcd = Daemon("etcd", here, flags.mark("etcd", here))
        self._apiserver = Daemon("kube-apiserver", here, flags.mark("apiserver", here))
        self._state = self.directory / "trial.json"

    def start(self, binaries: Binaries) -> None:
        """Bring it up and wait until objects can be created; does nothing where it is up."""
        self._prepare()
        with self._lock():
            if self._etcd.pid() and self._apiserver.pid() and self._answers():
                return
            try:
                for attempt in range(_PORT_TRIES):
                    # What is left of an earlier run, or try, goes first.
                    self._end()
                    # The port of last time keeps copies of the kubeconfig good.
                    port = free_port(self._read_state().get("port"))
                    self._write_state(port=port)
                    self._launch(binaries, port)
                    if self._wait(last=attempt == _PORT_TRIES - 1):
                        break
            except BaseException:
                # Interrupted or failed: better nothing than a half of it.
                self._end()
                raise
            self._write_kubeconfig()

    def stop(self) -> None:
        """Take it down and keep its data."""
        if self.directory.exists():
            with self._lock():
                self._end()

    def wipe(self) -> None:
        """Take it down and delete its directory, whatever else lies in there included."""
        if not self.directory.exists():
            return
        if not self._state.exists():
            fix = "name the directory that `up` was given"
            raise ControlPlaneError(f"{self.directory} is not a control plane's directory", fix)
        self.stop()
        shutil.rmtree(self.directory)

    def status(self) -> Status:
        """The running parts; changes nothing."""
        known = self._read_state()
        pids = {daemon.name: daemon.pid() for daemon in (self._etcd, self._apiserver)}
        server = f"https://127.0.0.1:{known['port']}" if "port" in known else None
        contexts = tuple(known.get("contexts", (DEFAULT_CONTEXT,)))
        return Status(server, pids, self.directory / "kubeconfig", contexts, self.directory)

    def kubeconfig(self, contexts: Iterable[str] = ()) -> Path:
        """The kubeconfig, in which each of ``contexts`` means this server, also after restarts on
        other ports: sites name management clusters by context, and the trial plays them all."""
        with self._lock():
            known = self._read_state()
            names = [*known.get("contexts", [DEFAULT_CONTEXT]), *contexts]
            self._write_state(contexts=list(dict.fromkeys(names)))
            return self._write_kubeconfig()

    def client(self) -> Client:
        """A new client with all rights; close it after use."""
        return Client(self._access())

    def _prepare(self) -> None:
        """The directory and the secrets that stay the same for its lifetime."""
        self.directory.mkdir(parents=True, exist_ok=True, mode=0o700)
        self.directory.chmod(0o700)
        with self._lock():
            key, tokens = self.directory / "service-accounts.key", self.directory / "tokens.csv"
            if not key.exists():
                access.write_private(key, access.signing_key())
            if not tokens.exists():
                # The group is bound to all rights by the server itself.
                row = f"{access.token()},trial,trial,system:masters\n"
                access.write_private(tokens, row)
            certificate = self._certificate()
            if certificate.exists():
                age = time.time() - certificate.stat().st_mtime
                if age > _CERTIFICATE_DAYS * 86_400 and not self._apiserver.pid():
                    shutil.rmtree(certificate.parent)

    def _launch(self, binaries: Binaries, port: int) -> None:
        for name in (flags.ETCD_CLIENTS, flags.ETCD_PEERS):
            (self.directory / name).unlink(missing_ok=True)
        ending = tie_to_parent if self._options.tied_to_parent else list[str | Path]
        self._etcd.start(ending(flags.etcd(binaries.etcd, self.directory)))
        # The API server tries at once and then pauses: waiting for the socket is quicker.
        deadline = time.monotonic() + _START_SECONDS
        while not (self.directory / flags.ETCD_CLIENTS).exists() and self._etcd.pid():
            if time.monotonic() > deadline:
                break
            time.sleep(0.01)
        command = flags.apiserver(binaries.apiserver, self.directory, port, self._options)
        self._apiserver.start(ending(command))

    def _wait(self, last: bool) -> bool:
        """Wait until it serves; False if somebody was quicker to take the port."""
        deadline = time.monotonic() + _START_SECONDS
        while time.monotonic() < deadline:
            for daemon in (self._etcd, self._apiserver):
                if daemon.pid() is None:
                    details = daemon.tail()
                    if not last and "address already in use" in details:
                        return False
                    message = f"{daemon.name} ended while it was starting"
                    raise ControlPlaneError(message, f"{_WIPE_FIX} ({daemon.log})", details)
            if self._answers():
                return True
            time.sleep(0.05)
        details = self._apiserver.tail()
        message = f"kube-apiserver did not serve within {_START_SECONDS:.0f} s"
        raise ControlPlaneError(message, f"{_WIPE_FIX} ({self._apiserver.log})", details)

    def _answers(self) -> bool:
        """True if objects can be created: its own first ones must be there, not readiness alone."""
        if not self._certificate().exists():
            return False
        with contextlib.closing(self.client()) as client:
            try:
                client.request("GET", "/readyz")
                return client.get("v1", "Namespace", "default") is not None
            except (OSError, http.client.HTTPException, ApiError):
                return False

    def _end(self) -> None:
        self._apiserver.stop()
        self._etcd.stop()

    def _certificate(self) -> Path:
        return self.directory / "certs" / "apiserver.crt"

    def _access(self) -> Access:
        known = self._read_state()
        try:
            authority = self._certificate().read_text()
            token = (self.directory / "tokens.csv").read_text().split(",")[0]
            return Access(f"https://127.0.0.1:{known['port']}", token, authority)
        except (OSError, KeyError) as error:
            message = f"there is no control plane in {self.directory}"
            raise ControlPlaneError(message, "run `python -m controlplane up`") from error

    def _write_kubeconfig(self) -> Path:
        status = self.status()
        write_kubeconfig(status.kubeconfig, self._access(), status.contexts)
        return status.kubeconfig

    def _read_state(self) -> dict[str, Any]:
        try:
            state = json.loads(self._state.read_text(encoding="utf-8"))
        except (OSError, ValueError):
            return {}
        return state if isinstance(state, dict) else {}

    def _write_state(self, **changes: Any) -> None:
        text = json.dumps(self._read_state() | changes, indent=2)
        access.write_private(self._state, text + "\n")

    @contextlib.contextmanager
    def _lock(self) -> Iterator[None]:
        """One start or stop of a directory at a time."""
        handle = os.open(self.directory, os.O_RDONLY)
        try:
            fcntl.flock(handle, fcntl.LOCK_EX)
            yield
        finally:
            os.close(handle)


@contextlib.contextmanager
def running(
    directory: Path, binaries: Binaries, options: flags.Options = flags.PLAIN
) -> Iterator[ControlPlane]:
    """A control plane that is taken down, its data kept, when the block is left."""
    plane = ControlPlane(directory, options)
    try:
        plane.start(binaries)
        yield plane
    finally:
        plane.stop()
