"""Reboot the host of one node by its BareMetalHost, once, and wait until the node is back.

It runs as the Job of a NodeOperation, after the node was drained. Each step is noted before the
next one, so that a pod that is started again goes on: the reboot is counted on the node first, and
requested with a mark on the BareMetalHost in the same patch.

Whatever comes of it, the exit code is 0: a Job that fails lets Node Operation Controller take its
taint away. Only where its pod is ended in the middle it is 1, so that another pod goes on. The
outcome stands in the node's annotation ``reboot``: asked, done (another boot, and ready), late,
refused-attempts, refused-foreign-host (not of this site, or no host of Metal3), refused-no-host,
refused-other-machine (the host serves another machine), refused-no-answer (of the management
cluster).
"""

import logging
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from threading import Event
from typing import NoReturn, Self
from urllib.parse import quote

from node_repair.cluster import Cluster, ClusterError, Json
from node_repair.host import ASKED, HARD, Booted, Host, host_path, named
from node_repair.names import REBOOT, REBOOTS, TURN
from node_repair.notes import SKEW, times
from node_repair.state import part, text

LOG = logging.getLogger(__name__)


class _Over(Exception):
    """There is nothing left to do."""


class Ended(Exception):
    """The pod is told to end."""


@dataclass
class Reboot:
    """One reboot. ``here`` and ``there`` reach the site's cluster and the management cluster."""

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
    poll: float
    memory: Path
    """A folder that a restart of the container leaves."""
    here: Callable[[], Cluster]
    there: Callable[[], Cluster]
    ended: Event = field(default_factory=Event)

    @classmethod
    def read(cls, environment: Mapping[str, str], ended: Event) -> Self:
        """The reboot that an environment asks for. Raises KeyError or ValueError."""
        get, kubeconfig = environment.__getitem__, environment.get("KUBECONFIG", "")
        return cls(
            node=get("NODE"),
            operation=get("OPERATION"),
            job=f"/apis/batch/v1/namespaces/{get('JOB_NAMESPACE')}/jobs/{get('JOB')}",
            site=get("SITE"),
            attempts=int(get("ATTEMPTS")),
            window=int(get("WINDOW_SECONDS")),
            timeout=int(get("TIMEOUT_SECONDS")),
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

    def run(self) -> int:
        """Do it, and return the exit code."""
        try:
            with suppress(_Over):
                self._run()
        except Ended:
            return self._stop()
        return 0

    def _run(self) -> None:
        node = self._node()
        self._before = node.boot
        parts = self._noted.split(",")
        if parts[0] == self.operation and parts[-1] != "asked":
            self._log("was done before")
            return
        counted = parts[0] == self.operation
        if counted:
            self._log("goes on")
            self._before = parts[1]
            when = times(parts[-2], self._asked - SKEW, self._asked)
            self._asked = when[0] if when else self._asked
        if node.boot == self._before:
            host = self._find_host(node)
            if not counted:
                self._count(node)
            self._ask(host)
        self._wait()

    # --- the node ---

    @property
    def _path(self) -> str:
        return f"/api/v1/nodes/{quote(self.node, safe='')}"

    @property
    def _remembered(self) -> Path:
        return self.memory / f"asked-{self.operation}"

    def _read(self) -> Booted | None:
        """The node as it is now; None where it is gone, or made anew."""
        with self.here() as cluster:
            body = cluster.get(self._path)
        if body is None:
            return None
        found = Booted.of(body)
        self._place = self._place or named(found.provider, self.site)
        if TURN not in part(body, "metadata", "labels"):
            return None
        self._noted = found.noted
        return found

    def _node(self) -> Booted:
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
            raise _Over
        return found

    def _write(self, node: Booted, note: str, more: Mapping[str, str] | None = None) -> bool:
        """One patch of the node's annotations; False where it has changed meanwhile."""
        return self._sent(self.here, self._path, node.version, {REBOOT: note, **(more or {})})

    def _finish(self, state: str) -> NoReturn:
        """Note the end until it is there."""
        note = f"{self.operation},{self._before},{self._asked},{state}"
        node = self._node()
        while self._noted != note and not self._write(node, note):
            self._rest()
            node = self._node()
        self._log(f"reboot {state}")
        raise _Over

    # --- the host ---

    @property
    def _host_path(self) -> str:
        return host_path(self.site, self._place[0] if self._place else "")

    def _host(self) -> Host | None:
        with self.there() as cluster:
            body = cluster.get(self._host_path)
        return None if body is None else Host.of(body)

    def _judged(self) -> Host:
        """The host; one that is gone, or has been given to another machine, is not rebooted."""
        found = self._host()
        if found is None:
            self._finish("refused-no-host")
        if self._place is None or found.consumer != self._place[1]:
            self._finish("refused-other-machine")
        return found

    def _find_host(self, node: Booted) -> Host:
        self._place = named(node.provider, self.site)
        if self._place is None:
            self._finish("refused-foreign-host")
        while True:
            self._check()
            try:
                return self._judged()
            except ClusterError as error:
                self._log(f"the management cluster does not answer: {error}")
            self._rest_before("refused-no-answer")

    def _count(self, node: Booted) -> None:
        """Count the reboot on the node, beside those that are counted there when it is written."""
        self._asked = int(time.time())
        note = f"{self.operation},{self._before},{self._asked},asked"
        # A patch that got no answer may be there.
        while self._noted != note:
            self._check()
            counted = times(text(node.notes, REBOOTS), int(time.time()), self.window)
            if len(counted) >= self.attempts:
                self._finish("refused-attempts")
            if self._write(node, note, {REBOOTS: ",".join(map(str, (*counted, self._asked)))}):
                break
            self._rest()
            node = self._node()
        self._remembered.write_text(self._place[0] if self._place else "", "utf-8")
        self._log("reboot counted")

    def _ask(self, host: Host) -> None:
        """Request the reboot; the mark on the host says that this was done, whatever became of
        it."""
        while host.notes.get(REBOOT) != self.operation:
            self._check()
            notes = {ASKED: HARD, REBOOT: self.operation}
            if self._sent(self.there, self._host_path, host.version, notes):
                self._log("the BareMetalHost was asked for a reboot")
                return
            self._rest_before("refused-no-answer")
            try:
                host = self._judged()
            except ClusterError as error:
                self._log(f"the management cluster does not answer: {error}")

    def _cancel(self) -> None:
        """Withdraw a request that nobody has begun: it must not come when nobody expects it."""
        with suppress(ClusterError):
            host = self._host() if self._place else None
            if host and host.notes.get(REBOOT) == self.operation and ASKED in host.notes:
                notes = {ASKED: None, REBOOT: None}
                if self._sent(self.there, self._host_path, host.version, notes):
                    self._log("the reboot was taken back")

    def _wait(self) -> None:
        while True:
            node = self._node()
            if node.boot != self._before and node.ready:
                self._finish("done")
            if time.time() >= self._asked + self.timeout:
                self._cancel()
                self._finish("late")
            self._rest()

    # --- the pod ---

    def _stop(self) -> int:
        """The pod is ended. Where the repair is called off, the request is taken back; else, as
        when the pod is evicted, another pod is to go on: a Job whose pod ends well is complete."""
        try:
            if self._read() is not None:
                with self.here() as cluster:
                    job = cluster.get(self.job)
                metadata = part(job, "metadata")
                there = "deletionTimestamp" not in metadata
                if there and text(metadata, "uid") == self.operation:
                    return 1
        except ClusterError:
            return 1
        self._cancel()
        return 0

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

    def _sent(self, at: Callable[[], Cluster], path: str, version: str, notes: Json) -> bool:
        metadata = {"resourceVersion": version, "annotations": notes}
        try:
            with at() as found:
                found.patch(path, {"metadata": metadata})
        except ClusterError as error:
            self._log(f"not done: {error}")
            return False
        return True

    def _log(self, message: str) -> None:
        LOG.info("%s: %s", self.node, message)
