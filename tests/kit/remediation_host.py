"""The program that reboots a host, as its tests run it: one server plays both clusters of a site,
and what the host does is done by the tests."""

import json
import subprocess
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from typing import Any

from node_repair.reboot import Reboot

from components.making.faults import CONDITIONS, TURN_LABEL
from components.making.manifest import Json
from tests.kit.remediation_rounds import Hooked
from tests.kit.remediation_server import HOST_API, SECONDS, SPACE, Server

SITE, NODE, HOST, MACHINE = "tokyo-1", "node-1", "host-1", "v100-abcde"
OTHER = "remediation.foresite.dev/other"
"""An annotation of a host that is none of the reboots' own."""
PROVIDER = f"metal3://{SITE}/{HOST}/{MACHINE}"
ASKED = "reboot.metal3.io"
MARK = "remediation.foresite.dev/reboot"
WINDOW = 3600


def make(server: Server, provider: str | None = PROVIDER, **annotations: str) -> None:
    """A node whose turn it is, and its host; nothing is left of an earlier Job's pod."""
    for left in server.folder.glob("reboot-state/*"):
        left.unlink()
    spec: dict[str, Any] = {"labels": {TURN_LABEL: "accelerator-missing"}}
    if provider is not None:
        spec["providerID"] = provider
    server.node(NODE, "v100", {"AcceleratorMissing": "True"}, **spec)
    if annotations:
        server.annotate(NODE, **annotations)
    for space in (SITE, "other"):
        make_host(server, space)


def make_host(server: Server, space: str = SITE, consumer: str = MACHINE) -> None:
    reference = {"apiVersion": "infrastructure.cluster.x-k8s.io/v1beta2", "kind": "Metal3Machine"}
    body = {
        "apiVersion": HOST_API,
        "kind": "BareMetalHost",
        "metadata": {"name": HOST, "namespace": space, "labels": {"rack": "r1"}},
        "spec": {"online": True, "consumerRef": {**reference, "name": consumer}},
    }
    server.client.apply(body)


def host(server: Server, space: str = SITE) -> dict[str, str]:
    """The annotations of the host."""
    found = server.client.get(HOST_API, "BareMetalHost", HOST, space)
    assert found is not None
    annotations: dict[str, str] = found["metadata"].get("annotations", {})
    return annotations


def make_job(server: Server, name: str = "reboot-1", space: str = SPACE) -> str:
    """The Job of an operation, which nobody works on; its uid names the operation."""
    pod = {"restartPolicy": "OnFailure", "containers": [{"name": "main", "image": "a"}]}
    body = {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": name, "namespace": space},
        "spec": {"suspend": True, "template": {"spec": pod}},
    }
    uid: str = server.client.apply(body)["metadata"]["uid"]
    return uid


def delete_job(server: Server, name: str = "reboot-1", space: str = SPACE) -> None:
    """As when the operation is called off."""
    assert server.client.delete("batch/v1", "Job", name, space)


def meanwhile(server: Server, call: str, *change: str) -> Callable[[str, str], None]:
    """Let kubectl make one ``change`` before the first patch of a path with ``call`` in it."""
    left = [change]

    def before(method: str, path: str) -> None:
        if left and method == "PATCH" and call in path:
            command = [str(server.kubectl), "--kubeconfig", str(server.plane.kubeconfig())]
            subprocess.run([*command, *left.pop()], check=True, capture_output=True)

    return before


def patch_host(server: Server, annotations: Json) -> None:
    path = f"/apis/{HOST_API}/namespaces/{SITE}/baremetalhosts/{HOST}"
    body = {"metadata": {"annotations": annotations}}
    server.client.request("PATCH", path, body, "application/merge-patch+json")


def told(server: Server, seconds: int, operation: str = "job-1") -> dict[str, str]:
    state = server.folder / "reboot-state"
    state.mkdir(exist_ok=True)
    return {
        "NODE": NODE,
        "OPERATION": operation,
        "JOB": "reboot-1",
        "JOB_NAMESPACE": SPACE,
        "SITE": SITE,
        "KUBECONFIG": str(server.plane.kubeconfig()),
        "MANAGEMENT_KUBECONFIG": str(server.plane.kubeconfig()),
        "ATTEMPTS": "2",
        "WINDOW_SECONDS": str(WINDOW),
        "TIMEOUT_SECONDS": str(seconds),
        "POLL_SECONDS": "1",
        "CONDITIONS": json.dumps(CONDITIONS),
        "REBOOT_STATE": str(state),
    }


class Killed(Exception):
    """The pod's process is gone in the middle."""


class Rebooting:
    """The program at work in a thread: told to end, or killed, before its next request."""

    def __init__(self, told: Mapping[str, str], before: Callable[[str, str], None]) -> None:
        self.calls: list[tuple[str, str]] = []
        self._reboot = Reboot.read(told, threading.Event())
        self._before, self._killed, self._code = before, False, list[int]()
        here, there = told["KUBECONFIG"], told["MANAGEMENT_KUBECONFIG"]
        self._reboot.here = lambda: Hooked(here, self._called)
        self._reboot.there = lambda: Hooked(there, self._called)
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def _run(self) -> None:
        with suppress(Killed):
            self._code.append(self._reboot.run())

    def _called(self, method: str, path: str) -> None:
        if self._killed:
            raise Killed
        self._before(method, path)
        self.calls.append((method, path))

    def poll(self) -> int | None:
        return self._code[0] if self._code else None

    def terminate(self) -> None:
        self._reboot.ended.set()

    def kill(self) -> None:
        self._killed = True
        self.terminate()
        self._thread.join(SECONDS)

    def wait(self, seconds: float = SECONDS) -> int:
        self._thread.join(seconds)
        assert self._code, "it has not ended"
        return self._code[0]


@contextmanager
def rebooting(server: Server, operation: str = "job-1", **environment: str) -> Iterator[Rebooting]:
    """The program at work, with far more time than a test takes; killed if it is left so."""
    given = {**told(server, 7200, operation), **environment}
    process = Rebooting(given, lambda _method, _path: None)
    try:
        yield process
    finally:
        process.kill()


def run(
    server: Server,
    seconds: int = 7200,
    operation: str = "job-1",
    before: Callable[[str, str], None] = lambda _method, _path: None,
    **more: str,
) -> str:
    """The program until its end, and the outcome that it noted; nobody ends its pod."""
    process = Rebooting({**told(server, seconds, operation), **more}, before)
    assert process.wait() == 0
    return outcome(server, operation)


def outcome(server: Server, operation: str = "job-1") -> str:
    """The record of an operation; empty where there is none."""
    parts = (server.note(NODE, "reboot") or "").split(",")
    return parts[3] if parts[0] == operation else ""


def until_asked(server: Server, process: Rebooting) -> None:
    end = time.monotonic() + SECONDS
    while ASKED not in host(server):
        assert process.poll() is None and time.monotonic() < end
        time.sleep(0.1)


def boots(server: Server, boot: str = "boot-2") -> None:
    """A boot, as the bare metal operator and the kubelet make it."""
    patch_host(server, {ASKED: None})
    server.condition(NODE, Ready="Unknown")
    server.boot(NODE, boot)
    server.condition(NODE, Ready="True")
