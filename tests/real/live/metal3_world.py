"""A management cluster with the real Metal3, and hosts that boot what is written to them.

Real are the API server, Kubernetes' garbage collector, the managers of Cluster API, CAPM3, IPAM and
the Bare Metal Operator, with their webhooks. The operator is in its test mode: no Ironic is asked,
its hosts have neither BMC nor disk, and one record (image, power) serves all of them. Played are
the kubelets alone.
"""

import contextlib
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Self

from components.making.manifest import Manifest as Made
from controlplane import ApiError, Client, Manifest
from controlplane.daemon import Daemon
from tests.real.live import managers, nodes, world
from tests.real.live.fake_metal3 import HOST_ANNOTATION
from tests.real.live.patch import merge
from tests.real.live.recorder import CONTROL
from tests.real.live.settled import said, settled
from tests.real.live.watch import Mirror
from tools.toolchain import Tool, ensure, locate
from tools.toolchain.installed import find

GROUPS = ("controlplane", "cluster-api", "metal3", "scheduling")
"""``scheduling`` has the controller manager of Kubernetes, of which the garbage collector runs."""
COLLECTOR = "kube-controller-manager"
QUIET_SECONDS = 4.0
"""Settled machines must stay so for so long."""
LIMIT_SECONDS = 600.0
_TICK_SECONDS = 0.2
_RUNS = ("provisioning", "provisioned")
"""States of a host that has or gets an image. The kubelet starts with the first, some seconds too
early: CAPM3 looks for a Node when the image is written, and then every 30 s only."""


def require() -> None:
    """Raise ToolchainError where an executable of this world is not to be had."""
    find(managers.OPERATOR)
    ensure(GROUPS)


class Kubelets:
    """Plays the kubelet of each host: a Node that is Ready while the host has its image."""

    def __init__(self, client: Client, mirror: Mirror) -> None:
        self._client, self._mirror = client, mirror
        self._booted: dict[str, tuple[str, str]] = {}
        self._detached: set[str] = set()
        """Hosts that run on when their objects are deleted."""
        self._end = threading.Event()
        self._thread = threading.Thread(target=self._run, name="kubelets", daemon=True)
        self.fault: Exception | None = None

    def __enter__(self) -> Self:
        """Begin to play."""
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        """End, and wait for it."""
        self._end.set()
        self._thread.join()

    def _run(self) -> None:
        try:
            while not self._end.wait(_TICK_SECONDS):
                self._step()
        except Exception as error:
            self.fault = error
            raise

    def _step(self) -> None:
        running: set[str] = set()
        for host in self._mirror.all("BareMetalHost"):
            machine = machine_of(self._mirror, host)
            if machine is None:
                continue
            uid, now = host["metadata"]["uid"], machine["metadata"]["uid"]
            running.add(uid)
            detached = host["status"].get("operationalStatus") == "detached"
            (self._detached.add if detached else self._detached.discard)(uid)
            if self._booted.get(uid, ("", ""))[1] != now:
                nodes.join(self._client, machine, "", host)
                self._booted[uid] = host["metadata"]["name"], now
        for uid in self._booted.keys() - running - self._detached:
            self._silence(self._booted.pop(uid)[0])

    def _silence(self, name: str) -> None:
        """The host is wiped or off: its Node, if it is still there, is no longer heard of."""
        body = self._mirror.get("Node", name)
        if body is None:
            return
        nodes.stop_control_plane(self._client, name)
        unknown = nodes.condition("Ready", "NodeStatusUnknown", "Unknown", "no longer heard of")
        others = [c for c in body["status"].get("conditions", ()) if c["type"] != "Ready"]
        with contextlib.suppress(ApiError):  # deleted meanwhile
            merge(self._client, {"apiVersion": "v1", "kind": "Node", **body},
                  {"status": {"conditions": [unknown, *others]}}, "status")  # fmt: skip


@dataclass(frozen=True)
class Metal3World:
    """The world of one site; ``site`` is its name and namespace."""

    site: str
    directory: Path
    client: Client
    mirror: Mirror
    played: Kubelets

    def bring_up(self, made: list[Made], seconds: float = LIMIT_SECONDS) -> None:
        """Make a site whose first object is its namespace; return when its machines are there."""
        self.client.apply(made[0].body)
        world.prepare(self.client, self.site, self.directory)
        hosts = [one for one in made if one.kind == "BareMetalHost"]
        if refused := self.apply(hosts):
            raise AssertionError(f"refused: {refused}")
        free = ["available"] * len(hosts)
        self.wait("hosts", lambda: [*self.states().values()] == free)
        if refused := self.apply(one for one in made[1:] if one not in hosts):
            raise AssertionError(f"refused: {refused}")
        self.settle(seconds)

    def apply(self, made: Iterable[Made]) -> dict[str, str]:
        """Apply objects (server-side, by force), and the BMC Secrets that hosts name.

        Returns what was refused by its logical name, with the server's words.
        """
        refused: dict[str, str] = {}
        for one in made:
            if one.kind == "BareMetalHost":
                nodes.create(self.client, credentials(one.body))
            try:
                self.client.apply(world.adapted(one))
            except ApiError as error:
                refused[one.name] = error.message
        return refused

    def wait(
        self, what: str, done: Callable[[], bool], seconds: float = LIMIT_SECONDS, still: float = 0
    ) -> float:
        """Wait until ``done`` holds, and has held for ``still`` seconds; the seconds it took.

        Raises TimeoutError with what the controllers say.
        """
        begin = since = time.monotonic()
        while True:
            if self.played.fault is not None:
                raise RuntimeError("the kubelets have ended") from self.played.fault
            now = time.monotonic()
            if not done():
                since = now + _TICK_SECONDS
            elif now - since >= still:
                return max(0.0, since - begin)
            if now - begin > seconds:
                raise TimeoutError(f"waiting for {what}: {self.states()} {self.said()}")
            time.sleep(_TICK_SECONDS)

    def settle(self, seconds: float = LIMIT_SECONDS) -> float:
        """Wait until all machines are as declared and stay so; the seconds that took."""
        return self.wait("the machines", self.settled, seconds, QUIET_SECONDS)

    def settled(self) -> bool:
        """True if all machines are as their MachineDeployments and control plane declare."""
        return all(settled(self.mirror, group, self.site) for group in self.groups())

    def groups(self) -> tuple[str, ...]:
        """The groups of machines: the control plane, and MachineDeployments by name."""
        found = [CONTROL] if self._mine("KubeadmControlPlane") else []
        return *found, *(each["metadata"]["name"] for each in self._mine("MachineDeployment"))

    def machines(self) -> dict[str, str]:
        """The uid of the Machine that has each host, by the host's name."""
        found = {}
        for body in self._mine("Metal3Machine"):
            host = body["metadata"].get("annotations", {}).get(HOST_ANNOTATION, "")
            machine = owner_machine(self.mirror, body)
            if host and machine is not None:
                found[host.partition("/")[2]] = machine["metadata"]["uid"]
        return found

    def states(self) -> dict[str, str]:
        """The provisioning state of each host, as the operator reports it; empty before that."""
        found = {}
        for body in self._mine("BareMetalHost"):
            provisioning = body.get("status", {}).get("provisioning", {})
            found[body["metadata"]["name"]] = provisioning.get("state", "")
        return found

    def said(self) -> tuple[str, ...]:
        """The messages in the status of the machines' objects."""
        return tuple(said(self.mirror, self.groups()))

    def _mine(self, kind: str) -> list[Manifest]:
        found = self.mirror.all(kind)
        return [each for each in found if each["metadata"]["namespace"] == self.site]


@contextlib.contextmanager
def running(site: str, directory: Path) -> Iterator[Metal3World]:
    """All of it, up and answering, and no site in it; taken down when the block is left.

    To be called in a namespace of one's own (namespace.py): ``observe`` of run.py starts a module
    there. Its executables must be there (``require``).
    """
    tools = locate(GROUPS)
    with (
        world.managed(tools, directory) as (plane, client, mirror),
        _garbage_collected(tools[COLLECTOR], directory, plane.kubeconfig()),
        plane.client() as its_own,
        Kubelets(its_own, mirror) as kubelets,
    ):
        yield Metal3World(site, directory, client, mirror, kubelets)


@contextlib.contextmanager
def _garbage_collected(tool: Tool, directory: Path, kubeconfig: Path) -> Iterator[None]:
    """Objects whose owners are gone go too, hosts among them: a Metal3Machine owns its host."""
    mark = f"--cert-dir={directory / 'collector'}"
    daemon = Daemon(tool.name, directory, mark)
    flags = ("--controllers=garbage-collector-controller", "--leader-elect=false")
    ports = ("--bind-address=127.0.0.1", "--secure-port=9460", "--authentication-skip-lookup")
    daemon.start([tool.path, mark, f"--kubeconfig={kubeconfig}", *flags, *ports])
    try:
        yield
        if daemon.pid() is None:
            raise RuntimeError(f"{tool.name} has ended:\n{daemon.tail()}")
    finally:
        daemon.stop()


def machine_of(mirror: Mirror, host: Manifest) -> Manifest | None:
    """The Machine whose image a host has or gets, or None."""
    state = host.get("status", {}).get("provisioning", {}).get("state", "")
    consumer = host["spec"].get("consumerRef")
    if state not in _RUNS or consumer is None:
        return None
    body = mirror.get("Metal3Machine", consumer["name"], host["metadata"]["namespace"])
    return body and owner_machine(mirror, body)


def owner_machine(mirror: Mirror, body: Manifest) -> Manifest | None:
    """The Machine that a Metal3Machine belongs to."""
    owners = body["metadata"].get("ownerReferences", ())
    names = [each["name"] for each in owners if each["kind"] == "Machine"]
    return mirror.get("Machine", names[0], body["metadata"]["namespace"]) if names else None


def credentials(host: Manifest) -> Manifest:
    """The Secret that a host names for its BMC, with values that open nothing."""
    name, namespace = host["spec"]["bmc"]["credentialsName"], host["metadata"]["namespace"]
    return {
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": {"name": name, "namespace": namespace},
        "stringData": {"username": "nobody", "password": "none"},
    }
