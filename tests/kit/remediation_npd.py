"""The real node-problem-detector with the configuration that a site makes for a pool, on a made-up
host, against the real API server.

Changed in the configuration are paths, which lead into the host's folder, how often checks run, and
how long the health command may take. The kernel's log is a pipe in the place of /dev/kmsg, in a
mount namespace of the detector's own, with records in the kernel's form.
"""

import fcntl
import json
import os
import shutil
import signal
import subprocess
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

from components.making.daemons import namespace
from components.making.faults import CONDITIONS
from components.making.manifest import Manifest
from components.remediation import devicechoice, kernellog
from components.remediation.checks import (
    BOOT_ID,
    HOST,
    MOUNTS,
    PROCESSES,
    PROGRAMS,
    STATE,
    SYSTEM,
    files,
)
from components.remediation.detector import METRICS_PORT, NAME, detectors, flags
from components.remediation.names import COMPONENT
from controlplane import Client, ControlPlane
from controlplane.access import Access, read_kubeconfig, write_kubeconfig
from controlplane.ports import free_port
from schemas.facts.site import Site
from schemas.model.site_file import Pool
from tests.kit.remediation_devices import Host
from tests.kit.twin.cluster.programs import account_token
from tests.real.live.watch import Mirror
from tools.toolchain import locate

INTERVAL = "1s"
"""How often checks run here; a site says 10 s or more."""
COMMAND_SECONDS = 5
"""How long the health command may take here."""
PATIENCE_SECONDS = 120.0
OWN_KMSG = 'mount --bind "$1" /dev/kmsg && shift && exec "$@"'


def quick(site: Site) -> Site:
    """The site with health commands that may take less."""
    short = {"timeout_seconds": COMMAND_SECONDS}
    models = {
        name: model.model_copy(update={"health": model.health.model_copy(update=short)})
        for name, model in site.accelerators.items()
        if model.health
    }
    return replace(site, accelerators={**site.accelerators, **models})


class Detector:
    """A detector on a host, with what its node has said since it was made."""

    def __init__(self, site: Site, pool: Pool, host: Host, plane: ControlPlane) -> None:
        self.host, self.site, self.pool = host, site, pool
        self.node = f"{site.name}-{pool.name}"
        self.history: list[tuple[str, str]] = []
        """Each status of each condition, in the order in which the node had them."""
        self._folder = host.root.parent / "detector"
        self._folder.mkdir()
        self._access = read_kubeconfig(plane.kubeconfig())
        self._mirror = Mirror(self._access)
        self._process: subprocess.Popen[bytes] | None = None
        self._port = free_port()
        self._pipe = self._folder / "kmsg"
        os.mkfifo(self._pipe)
        # Held open, so that the detector sees no end.
        self._kernel = os.open(self._pipe, os.O_RDWR)
        # What is written at once is read at once (pipe(2), O_DIRECT), as of the kernel's log.
        fcntl.fcntl(self._kernel, fcntl.F_SETFL, os.O_DIRECT)
        with plane.client() as client:
            _prepared(client, site, self.node)
            self._write(client)
        self._mirror.listen(self._note)
        self._mirror.follow("v1", "Node")
        self._mirror.follow("v1", "Event")

    def _write(self, client: Client) -> None:
        """The files that the pod would have, and the access of its account."""
        remediation = self.site.file.remediation
        assert remediation is not None
        texts = files(self.site, self.pool)
        texts[kernellog.FILE] = kernellog.text(self.site, self.pool)
        texts |= devicechoice.files(self.site, self.pool)
        for name, text in texts.items():
            path = self._folder / name
            path.write_text(self._moved(text) if name.endswith(".json") else text)
            path.chmod(0o755)
        token = account_token(client, remediation.namespace, NAME)
        access = Access(self._access.server, token, self._access.authority)
        write_kubeconfig(self._folder / "kubeconfig", access, ["site"])

    def _moved(self, text: str) -> str:
        """A monitor with the paths of this host, and at this pace."""
        monitor = json.loads(text)
        if monitor["plugin"] == "custom":
            monitor["pluginConfig"]["invoke_interval"] = INTERVAL
        for rule in monitor["rules"]:
            if "path" in rule:
                rule["path"] = self._place(rule["path"])
                rule["args"] = [self._place(each) for each in rule["args"]]
        return json.dumps(monitor)

    def _place(self, argument: str) -> str:
        host = self.host
        places = {
            BOOT_ID: host.boot_id,
            MOUNTS: host.mounts,
            SYSTEM: host.sys,
            PROCESSES: host.proc,
            STATE: host.state,
        }
        if argument in places:
            return str(places[argument])
        for prefix, place in ((PROGRAMS, self._folder), (HOST, host.root)):
            if argument == prefix or argument.startswith(f"{prefix}/"):
                return f"{place}{argument.removeprefix(prefix)}"
        return argument

    def start(self) -> None:
        """Start it; it says that it runs by its metrics."""
        tool = locate(["remediation"])[NAME].path
        told = [each.replace(PROGRAMS, str(self._folder)) for each in flags(self.site, self.pool)]
        told = [each.replace("0.0.0.0", "127.0.0.1") for each in told]
        told = [each.replace(f"={METRICS_PORT}", f"={self._port}") for each in told]
        uri = f"{self._access.server}?inClusterConfig=false&auth={self._folder}/kubeconfig"
        own = ["unshare", "--map-root-user", "--mount", "sh", "-c", OWN_KMSG, "sh", str(self._pipe)]
        with (self._folder / "log").open("ab") as log:
            self._process = subprocess.Popen(
                [*own, tool, *told, f"--apiserver-override={uri}"],
                env={"PATH": self.host.path, "NODE_NAME": self.node},
                stdout=log,
                stderr=log,
            )
        self.until("metrics", lambda: self.metrics() is not None)

    def stop(self) -> None:
        """End it at once, as a node's kubelet would at the worst time."""
        if self._process is not None:
            self._process.send_signal(signal.SIGKILL)
            self._process.wait()
            self._process = None

    def close(self) -> None:
        """End it, and all that follows it."""
        self.stop()
        self._mirror.close()
        os.close(self._kernel)

    def metrics(self) -> str | None:
        """Its metrics as text; None while it does not answer."""
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{self._port}/metrics", timeout=10) as at:
                text: bytes = at.read()
                return text.decode()
        except OSError:
            return None

    def kernel(self, line: str) -> None:
        """A message of the kernel, some seconds from now, as the detector knows the time of its
        host's start only to the second."""
        since = time.clock_gettime(time.CLOCK_BOOTTIME) + 5
        os.write(self._kernel, f"4,1,{int(since * 1e6)},-;{line}\n".encode())

    def condition(self, fault: str) -> dict[str, Any]:
        """The node's condition; empty where it has none."""
        node = self._mirror.get("Node", self.node) or {}
        found = node.get("status", {}).get("conditions", [])
        return next((dict(each) for each in found if each["type"] == CONDITIONS[fault]), {})

    def events(self) -> set[tuple[str, str]]:
        """Reason and message of the node's events."""
        return {
            (each["reason"], each["message"])
            for each in self._mirror.all("Event")
            if each["involvedObject"]["name"] == self.node
        }

    def until(self, what: str, done: Any) -> None:
        """Wait until ``done()`` is true; AssertionError with the end of the log where it is not."""
        deadline = time.monotonic() + PATIENCE_SECONDS
        while not done():
            log = (self._folder / "log").read_text()[-3000:]
            ended = self._process is None or self._process.poll() is not None
            assert not ended, f"it has ended, waiting for {what}\n{log}"
            assert time.monotonic() < deadline, f"no {what}: {self._shown()}\n{log}"
            with self._mirror.changed:
                self._mirror.changed.wait(0.2)

    def until_status(self, fault: str, status: str) -> None:
        """Wait until the node's condition has a status."""
        self.until(f"{fault} {status}", lambda: self.condition(fault).get("status") == status)

    def _shown(self) -> list[tuple[str, str]]:
        return self.history[-10:]

    def _note(self, kind: str, _: object, new: dict[str, Any] | None) -> None:
        if kind != "Node" or new is None or new["metadata"]["name"] != self.node:
            return
        for each in new["status"].get("conditions", []):
            self.history.append((each["type"], each["status"]))


def _prepared(client: Client, site: Site, node: str) -> None:
    """The node, and what the detector's account is made of."""
    remediation = site.file.remediation
    assert remediation is not None
    client.apply(namespace(site, remediation.namespace, COMPONENT, "privileged").body)
    rights = ("ServiceAccount", "ClusterRoleBinding")
    made: list[Manifest] = [each for each in detectors(site) if each.kind in rights]
    for each in made:
        client.apply(each.body)
    client.delete("v1", "Node", node)
    client.create({"apiVersion": "v1", "kind": "Node", "metadata": {"name": node}})


def can_run() -> str | None:
    """The reason why the detector cannot run here; None where it can."""
    if shutil.which("unshare") is None:
        return "no unshare"
    command = ["unshare", "--map-root-user", "--mount", "true"]
    done = subprocess.run(command, check=False, capture_output=True, text=True)
    return done.stderr.strip() or None


@contextmanager
def running(site: Site, pool: Pool, host: Host, plane: ControlPlane) -> Iterator[Detector]:
    """A detector that runs."""
    found = Detector(quick(site), pool, host, plane)
    try:
        found.start()
        yield found
    finally:
        found.close()
