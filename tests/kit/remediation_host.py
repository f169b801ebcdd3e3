"""The program that reboots a host, as its tests run it: one server plays both clusters of a site,
and what the host does is done by the tests."""

import os
import shlex
import signal
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from components.making.faults import TURN_LABEL
from components.making.manifest import Json
from components.remediation.reboot import SCRIPTS
from tests.kit.remediation_server import HOST_API, SECONDS, SPACE, Server, command

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


def meanwhile(server: Server, call: str, *change: str) -> dict[str, str]:
    """The real kubectl, which lets somebody else make one ``change`` before the first ``call``."""
    once, program = server.folder / "changed", server.folder / "kubectl-meanwhile"
    once.unlink(missing_ok=True)
    words = shlex.join([str(server.kubectl), *change])
    program.write_text(
        f"""#!/bin/sh
case "$*" in *{shlex.quote(call)}*) [ -e {once} ] || {{ : >{once}; {words} >&2; }} ;; esac
exec {server.kubectl} "$@"
"""
    )
    program.chmod(0o755)
    return {"KUBECTL": str(program)}


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
        "MANAGEMENT_KUBECONFIG": str(server.plane.kubeconfig()),
        "ATTEMPTS": "2",
        "WINDOW_SECONDS": str(WINDOW),
        "TIMEOUT_SECONDS": str(seconds),
        "POLL_SECONDS": "1",
        "REBOOT_STATE": str(state),
    }


@contextmanager
def rebooting(
    server: Server, shell: str = "sh", operation: str = "job-1", **environment: str
) -> Iterator[subprocess.Popen[bytes]]:
    """The program at work, with far more time than a test takes; killed if it is left so."""
    start, path = command(shell, server.folder)
    with open(server.folder / "reboot-log", "wb") as log:
        process = subprocess.Popen(
            [*start, str(SCRIPTS / "reboot.sh")],
            env=server.environment(path, **{**told(server, 7200, operation), **environment}),
            stdout=log,
            stderr=log,
            start_new_session=True,
        )
    try:
        yield process
    finally:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()


def run(server: Server, seconds: int = 7200, operation: str = "job-1", **more: str) -> str:
    """The program until its end, and the outcome that it noted; nobody ends its pod."""
    environment = {**told(server, seconds, operation), **more}
    done = server.run("reboot.sh", **environment)
    assert done.returncode == 0, done
    return outcome(server, operation)


def outcome(server: Server, operation: str = "job-1") -> str:
    """The record of an operation; empty where there is none."""
    parts = (server.note(NODE, "reboot") or "").split(",")
    return parts[3] if parts[0] == operation else ""


def until_asked(server: Server, process: subprocess.Popen[bytes]) -> None:
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
