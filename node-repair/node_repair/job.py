"""The Job of a repair: its environment, its notes, and the node and the host that it reaches."""

import json
import logging
import re
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from threading import Event
from typing import NamedTuple, NoReturn, Self
from urllib.parse import quote

from node_repair.cluster import Cluster, ClusterError, Json
from node_repair.history import take_back
from node_repair.names import HISTORY, REBOOT, RESET, RESETTING
from node_repair.state import Node, part, text

ASKED, HARD = "reboot.metal3.io", '{"mode":"hard"}'
"""By this annotation of a host its reboot is requested: off and on, without asking its system."""


class Host(NamedTuple):
    """A BareMetalHost, the Metal3Machine that has it, and its serial number where it is known."""

    version: str
    consumer: str
    notes: Json
    serial: str

    @classmethod
    def of(cls, body: Json) -> Self:
        """The host of an object."""
        metadata = part(body, "metadata")
        consumer = text(part(body, "spec", "consumerRef"), "name")
        serial = text(part(body, "status", "hardware", "systemVendor"), "serialNumber")
        notes = part(metadata, "annotations")
        return cls(text(metadata, "resourceVersion"), consumer, notes, serial)


def named(provider: str, site: str) -> tuple[str, str] | None:
    """The host and Metal3Machine of a provider ID, metal3://NAMESPACE/HOST/METAL3MACHINE (Cluster
    API provider Metal3, baremetal/metal3machine_manager.go), if of this site."""
    form = rf"metal3://{re.escape(site)}/([0-9A-Za-z][0-9A-Za-z:._-]*)/([0-9A-Za-z:/._-]+)"
    found = re.fullmatch(form, provider)
    return (found[1], found[2]) if found else None


def host_path(site: str, name: str) -> str:
    """Where a site's host is on the management cluster."""
    return f"/apis/metal3.io/v1alpha1/namespaces/{site}/baremetalhosts/{quote(name, safe='')}"


LOG = logging.getLogger(__name__)


class Over(Exception):
    """There is nothing left to do."""


class Ended(Exception):
    """The pod is told to end."""


@dataclass
class RepairJob:
    """One repair. ``here`` and ``there`` reach the site's cluster and the management cluster."""

    node: str
    operation: str
    """Uid of the Job: the same over restarts of its pod."""
    job: str
    """Path of the Job."""
    site: str
    attempts: int
    window: int
    """Seconds in which reboots count."""
    timeout: int
    """Seconds until the node has to be ready again."""
    reset: tuple[str, ...]
    """The fault, the condition, and the seconds until a reset has helped; empty without resets."""
    conditions: Mapping[str, str]
    """The type of each fault's condition."""
    poll: float
    memory: Path
    """A folder that a restart of the container leaves."""
    here: Callable[[], Cluster]
    there: Callable[[], Cluster]
    ended: Event = field(default_factory=Event)

    @classmethod
    def read(cls, environment: Mapping[str, str], ended: Event) -> Self:
        """The repair that an environment asks for. Raises KeyError or ValueError."""
        get, kubeconfig = environment.__getitem__, environment.get("KUBECONFIG", "")
        return cls(
            node=get("NODE"),
            operation=get("OPERATION"),
            job=f"/apis/batch/v1/namespaces/{get('JOB_NAMESPACE')}/jobs/{get('JOB')}",
            site=get("SITE"),
            attempts=int(get("ATTEMPTS")),
            window=int(get("WINDOW_SECONDS")),
            timeout=int(get("TIMEOUT_SECONDS")),
            reset=tuple(filter(None, environment.get("RESET", "").split(","))),
            conditions=json.loads(environment.get("CONDITIONS", "{}")),
            poll=float(environment.get("POLL_SECONDS", "5")),
            memory=Path(get("REBOOT_STATE")),
            here=lambda: Cluster(kubeconfig, 15.0),
            # Read anew each time: its token may be another by then.
            there=lambda: Cluster(get("MANAGEMENT_KUBECONFIG"), 15.0),
            ended=ended,
        )

    def __post_init__(self) -> None:
        self._asked = int(time.time())
        self._before = self._noted = ""
        self._place: tuple[str, str] | None = None
        # Where the container has been started again and its node is gone, this tells the host.
        with suppress(OSError):
            self._place = self._remembered.read_text("utf-8"), ""

    # --- the node ---

    @property
    def _path(self) -> str:
        return f"/api/v1/nodes/{quote(self.node, safe='')}"

    @property
    def _remembered(self) -> Path:
        return self.memory / f"asked-{self.operation}"

    def _read(self) -> Node | None:
        """The node as it is now; None where it is gone, or made anew."""
        with self.here() as cluster:
            body = cluster.get(self._path)
        if body is None:
            return None
        found = Node.of(body)
        self._place = self._place or named(found.provider, self.site)
        if not found.slot:
            return None
        self._noted = re.sub("[^0-9A-Za-z,-]", "", text(found.notes, REBOOT))
        return found

    def _node(self) -> Node:
        """The node once the API server answers. Without a slot nothing is left to do."""
        while True:
            self._check()
            try:
                found = self._read()
                break
            except ClusterError as error:
                self._log(f"the API server does not answer: {error}")
                self._rest()
        if found is None:
            self._log("has no slot any more: nothing to do")
            self._cancel()
            raise Over
        return found

    def _write(self, node: Node, note: str, more: Mapping[str, str] | None = None) -> bool:
        """One patch of the node's annotations; False where it has changed meanwhile. Only while the
        note says so its accelerators are reset."""
        label = "true" if note.endswith(RESETTING) else None
        notes = {REBOOT: note, **(more or {})}
        return self._sent(self.here, self._path, node.version, notes, {RESET: label})

    def _note(self, state: str) -> str:
        return f"{self.operation},{self._before},{self._asked},{state}"

    def _finish(self, state: str) -> NoReturn:
        """Note the end until it is there, with what the host's note of its repairs is by then."""
        note, node, host = self._note(state), self._node(), self._own_host()
        copy: Json = {HISTORY: host.notes.get(HISTORY)} if host else {}
        while self._noted != note and not self._write(node, note, copy):
            self._rest()
            node = self._node()
        self._log(f"reboot {state}")
        raise Over

    # --- the host ---

    @property
    def _host_path(self) -> str:
        return host_path(self.site, self._place[0] if self._place else "")

    def _host(self) -> Host | None:
        with self.there() as cluster:
            body = cluster.get(self._host_path)
        return None if body is None else Host.of(body)

    def _own_host(self) -> Host | None:
        """The host where it is known to serve the node's machine."""
        with suppress(ClusterError):
            host = self._host() if self._place else None
            if host and self._place and self._place[1] in ("", host.consumer):
                return host
        return None

    def _cancel(self) -> None:
        """Withdraw a request that nobody has begun: it must not come when nobody expects it."""
        with suppress(ClusterError):
            host = self._host() if self._place else None
            if host and host.notes.get(REBOOT) == self.operation and ASKED in host.notes:
                past = take_back(text(host.notes, HISTORY), self.operation, int(time.time()))
                notes = {ASKED: None, REBOOT: None, HISTORY: past}
                if self._sent(self.there, self._host_path, host.version, notes):
                    self._log("the reboot was taken back")

    # --- the pod ---

    def _check(self) -> None:
        if self.ended.is_set():
            raise Ended

    def _rest(self) -> None:
        self.ended.wait(self.poll)
        self._check()

    def _rest_before(self, state: str) -> None:
        if time.time() >= self._asked + self.timeout:
            self._finish(state)
        self._rest()

    def _sent(
        self,
        at: Callable[[], Cluster],
        path: str,
        version: str,
        notes: Json,
        labels: Json | None = None,
    ) -> bool:
        metadata: Json = {"resourceVersion": version, "annotations": notes}
        metadata |= {"labels": labels} if labels else {}
        try:
            with at() as found:
                found.patch(path, {"metadata": metadata})
        except ClusterError as error:
            self._log(f"not done: {error}")
            return False
        return True

    def _log(self, message: str) -> None:
        LOG.info("%s: %s", self.node, message)
