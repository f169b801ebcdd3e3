"""Many faults at once on one site, and what people and accidents do meanwhile: the controller
waits a minute between two looks at a node, so that one after another would take half an hour."""

import contextlib
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path

from components.making.faults import CONDITIONS, RESET_LABEL
from controlplane import Manifest
from schemas.model.vocabulary import Fault
from tests.kit.remediation_history import NODEOPS
from tests.kit.remediation_world import NOC, PATIENCE_SECONDS, Repairs, repairing, site
from tests.kit.twin.pods import on, pod

MISSING, DEADLOCK = Fault.ACCELERATOR_MISSING, Fault.KERNEL_DEADLOCK
ERROR = Fault.ACCELERATOR_ERROR
REBOOT_SECONDS = 300
"""How long a reboot may take: the least that a site can say."""
SLOW_SECONDS = 10.0
PAUSES = {"INTERVAL": "5", "POLL_SECONDS": "1"}
"""A site's turns are looked at every 20 seconds, and a host that is rebooted every 5."""
LONG_SECONDS = 300.0
"""Of ten that are mended four at a time, some of which take a minute to drain."""
TEN, BUSY = 10, 2
STORM = 35
"""Faulty hosts of the 147 of cpu: more than max_faulty_percent."""
_MERGE = "application/merge-patch+json"
_EVERY_TAINT = ({"operator": "Exists"},)
_NOTE = "remediation.foresite.dev/reboot"
_TURNS = "remediation.foresite.dev/turns"
_OTHER = "Another NodeOperation"
"""How the reason of an operation begins that waits for another of its node."""
_REFUSED = "Cannot do a Pod due to PDB"
"""The controller's log of an eviction that a budget forbids (v0.2.2,
controllers/eviction_stragegy.go)."""


@dataclass
class Play:
    """The site, who is who on it, and what was done to each."""

    here: Repairs
    held: str
    """Its pod has a disruption budget, which lets go after a while. The controller is killed just
    then, while it drains."""
    flapping: str
    """Its condition is False for a moment while it is drained."""
    twice: str
    """It has two faults, and a reboot mends the first."""
    killed: str
    """The controller is killed while its reboot job runs."""
    hung: str
    """Its operation finds the controller's own taint, as after a kill between two writes."""
    deleted: str
    """Somebody deletes its reboot job; no reboot helps it."""
    failed: str
    """Its reboot job fails; no reboot helps it."""
    hopeless: str
    """No reboot helps it; the time until that is said is taken from its note."""
    reset: str
    """A reset of its GPUs helps; in another repair it does not, and a reboot follows."""
    after: str
    """Next on the pool of ``hopeless``, whose budget is one."""
    busy: list[str]
    idle: list[str]
    """Ten of one pool; the busy ones come first by name."""
    storm: list[str]
    """More of one pool than a host's faults can be."""
    namespace: str
    done: dict[str, Future[None]] = field(default_factory=dict, kw_only=True)
    """Work on each node in the meantime, by its name."""
    restarts: threading.Lock = field(default_factory=threading.Lock, kw_only=True)

    @property
    def attempts(self) -> int:
        """How often a host is rebooted in vain before it is given up."""
        settings = self.here.site.file.remediation
        assert settings is not None
        return settings.reboot.attempts

    def mended(self) -> list[str]:
        """The nodes that are to end as if nothing had been, but ``hung``, which comes last."""
        alone = [self.held, self.flapping, self.twice, self.killed, self.reset, self.after]
        return [*alone, *self.busy, *self.idle]

    def given_up(self) -> list[str]:
        """The nodes that are to end in quarantine."""
        return [self.deleted, self.failed, self.hopeless]

    def returned(self, node: str) -> bool:
        """True if a node is as it was before its fault."""
        now = self.here.history.now(node)
        return not (now.faults or now.turn or now.kept_out or now.operating)

    def first_turn(self, node: str) -> int:
        """The time of the round that first gave a node its turn, in the clock's seconds."""
        (found,) = (
            each["metadata"]["annotations"][_TURNS]
            for each in self.here.history.all("Node")
            if each["metadata"]["name"] == node
        )
        return int(found.partition(",")[0])

    def running(self, node: str) -> Manifest | None:
        """The job of a node's operation while the controller waits for it."""
        for operation in self.here.history.all("NodeOperation"):
            if operation["spec"]["nodeName"] == node and _phase(operation) == "Running":
                name = operation["status"]["jobReference"]["name"]
                jobs = self.here.history.all("Job")
                return next((each for each in jobs if each["metadata"]["name"] == name), None)
        return None

    def phase(self, node: str) -> str:
        """The phase of a node's operation; empty where there is none."""
        return self._status(node).get("phase", "")

    def said(self, node: str) -> str:
        """The reason that a node's operation gives; empty where there is none."""
        return self._status(node).get("reason", "")

    def _status(self, node: str) -> dict[str, str]:
        for operation in self.here.history.all("NodeOperation"):
            if operation["spec"]["nodeName"] == node:
                found: dict[str, str] = operation.get("status", {})
                return found
        return {}


@contextlib.contextmanager
def play(directory: Path) -> Iterator[Play]:
    """All faults reported, and what happens to them under way."""
    made = site(timeout_seconds=REBOOT_SECONDS, reset_first=True)
    # Its threads start programs, which end with them.
    with ThreadPoolExecutor(max_workers=8) as threads, repairing(directory, made, PAUSES) as here:
        cast = _cast(here)
        _pods(cast)
        here.hosts.hopeless |= set(cast.given_up())
        here.hosts.partly.add(cast.twice)
        here.hosts.slow |= dict.fromkeys((cast.killed, cast.deleted, cast.failed), SLOW_SECONDS)
        deeds: dict[str, Callable[[Play], None]] = {
            cast.held: _let_go,
            cast.flapping: _flap,
            cast.killed: _kill_while_rebooting,
            cast.deleted: _delete_job,
            cast.failed: _fail_job,
            cast.hung: _hang,
            cast.reset: _reset,
            cast.hopeless: _let_time_pass,
        }
        for node, deed in deeds.items():
            cast.done[node] = threads.submit(deed, cast)
        _report(cast)
        yield cast


def _cast(here: Repairs) -> Play:
    wide, one, many = here.pool("h100"), here.pool("a100"), here.pool("v100")
    storm = here.pool("cpu")[-STORM:]
    space = here.world.t.namespace("work")
    held, flapping, twice, killed, hung, deleted, failed, reset = wide[:8]
    hopeless, after = one[:2]
    alone = (held, flapping, twice, killed, hung, deleted, failed, hopeless, reset, after)
    return Play(here, *alone, many[:BUSY], many[BUSY:TEN], storm, space)


def _pods(cast: Play) -> None:
    """A pod on each node that has to be drained; that of ``held`` with a disruption budget."""
    nodes = [cast.held, cast.flapping, cast.hung, *cast.busy]
    labels = {"app": "held"}
    cast.here.world.run(
        pod(
            f"on-{node}",
            cast.namespace,
            requests={"cpu": "1"},
            labels=labels if node == cast.held else {},
            affinity=on(node),
            tolerations=_EVERY_TAINT,
        )
        for node in nodes
    )
    budget = {
        "apiVersion": "policy/v1",
        "kind": "PodDisruptionBudget",
        "metadata": {"name": "held", "namespace": cast.namespace},
        "spec": {"minAvailable": 1, "selector": {"matchLabels": labels}},
    }
    cast.here.world.t.client.create(budget)
    watch = cast.here.world.watch
    watch.until("the pods run", lambda: len(_running(cast)) == len(nodes), PATIENCE_SECONDS)


def _running(cast: Play) -> list[Manifest]:
    pods = cast.here.world.watch.pods(cast.namespace)
    return [each for each in pods if each.get("status", {}).get("phase") == "Running"]


def _report(cast: Play) -> None:
    """All faults: as one who looks for the first time finds them."""
    fail = cast.here.fail
    fail(DEADLOCK, *cast.storm)
    fail(MISSING, cast.hopeless, *cast.idle, *cast.busy)
    fail(MISSING, cast.held, cast.flapping, cast.killed, cast.deleted, cast.failed, cast.twice)
    fail(DEADLOCK, cast.twice)
    cast.here.kubelet.start()
    # Its turn comes after the hopeless one's, which is known by then.
    first = cast.hopeless
    cast.here.until("a turn", lambda: cast.here.history.now(first).turn)
    fail(MISSING, cast.after)


def _hang(cast: Play) -> None:
    """Put an operation back to what it is between the controller's two writes, the node's taint and
    its own phase. That is done last: a restart of the controller might wake it, and whenever an
    operation goes, the controller takes its taint from nodes whose operation has not begun."""
    for done in [cast.done[node] for node in cast.mended() if node in cast.done]:
        done.result()

    def over() -> bool:
        return all(cast.returned(each) for each in cast.mended())

    cast.here.until("the return of the others", over, LONG_SECONDS)
    here, node = cast.here, cast.hung
    here.fail(MISSING, node)
    here.until("the drain", lambda: cast.phase(node) == "Draining")
    found = (each for each in here.history.all("NodeOperation") if each["spec"]["nodeName"] == node)
    path = f"/apis/{NODEOPS}/nodeoperations/{next(found)['metadata']['name']}"
    here.world.t.client.request("PATCH", path, {"status": {"phase": "Pending"}}, _MERGE)
    here.until("an operation that waits for itself", lambda: _OTHER in cast.said(node))


def _reset(cast: Play) -> None:
    """Be the pod that resets, and the detector that sees what came of it."""
    here, node = cast.here, cast.reset
    asks = "XID 119 of 0000:3b:00: reset"

    def resets() -> bool:
        nodes = {each["metadata"]["name"]: each["metadata"] for each in here.history.all("Node")}
        return RESET_LABEL in nodes[node]["labels"]

    for helps in (True, False):
        here.hosts.report(node, CONDITIONS[ERROR], message=asks)
        here.until("a reset", resets)
        assert here.reboots(node) == 0
        status, message = ("False", "") if helps else ("True", asks.removesuffix(": reset"))
        here.hosts.report(node, CONDITIONS[ERROR], status, message)
        here.until("the return", lambda: cast.returned(node) and not resets(), LONG_SECONDS)


def _let_time_pass(cast: Play) -> None:
    """Once it is back, have it rebooted so long ago that the fault would have to be gone."""
    seen: set[str] = set()
    for _ in range(cast.attempts):
        operation, boot, asked, state = cast.here.until("a reboot", lambda: _ended(cast, seen))
        seen.add(operation)
        note = {_NOTE: f"{operation},{boot},{int(asked) - REBOOT_SECONDS},{state}"}
        path, body = f"/api/v1/nodes/{cast.hopeless}", {"metadata": {"annotations": note}}
        cast.here.world.t.client.request("PATCH", path, body, _MERGE)


def _ended(cast: Play, but: set[str]) -> list[str] | None:
    """The note of a reboot of the hopeless one that ended, but of these operations."""
    nodes = {each["metadata"]["name"]: each["metadata"] for each in cast.here.history.all("Node")}
    note: list[str] = nodes[cast.hopeless].get("annotations", {}).get(_NOTE, "").split(",")
    return note if note[-1] == "done" and note[0] not in but else None


def _let_go(cast: Play) -> None:
    """Once the eviction has been refused, let the pod go, and kill the controller meanwhile."""
    here, name = cast.here, f"on-{cast.held}"
    log = here.world.t.log(NOC)
    here.until("the budget's no", lambda: _refused(log, name))
    assert here.world.watch.pod(cast.namespace, name), "the budget did not hold the pod"
    here.world.t.client.delete("policy/v1", "PodDisruptionBudget", "held", cast.namespace)
    assert cast.phase(cast.held) == "Draining"
    _restart(cast)


def _refused(log: Path, name: str) -> bool:
    lines = log.read_text(encoding="utf-8", errors="replace").splitlines()
    return any(_REFUSED in line and name in line for line in lines)


def _flap(cast: Play) -> None:
    """Take the fault back for as long as the controller takes to see it."""
    here, node = cast.here, cast.flapping
    here.until("the drain", lambda: cast.phase(node) == "Draining")
    here.recover(MISSING, node)
    here.until("the end of the operation", lambda: not cast.phase(node))
    here.fail(MISSING, node)


def _kill_while_rebooting(cast: Play) -> None:
    cast.here.until("the reboot", lambda: cast.here.reboots(cast.killed))
    cast.here.until("the job", lambda: cast.running(cast.killed))
    _restart(cast)


def _restart(cast: Play) -> None:
    with cast.restarts:
        cast.here.world.t.kill(NOC)
        cast.here.world.t.revive(NOC)


def _delete_job(cast: Play) -> None:
    job = cast.here.until("the job", lambda: cast.running(cast.deleted))
    metadata = job["metadata"]
    cast.here.world.t.client.delete("batch/v1", "Job", metadata["name"], metadata["namespace"])
    _await_failure(cast, cast.deleted)


def _fail_job(cast: Play) -> None:
    """Give the job a second to live: the one way in which it can fail."""
    metadata = cast.here.until("the job", lambda: cast.running(cast.failed))["metadata"]
    path = f"/apis/batch/v1/namespaces/{metadata['namespace']}/jobs/{metadata['name']}"
    body = {"spec": {"activeDeadlineSeconds": 1}}
    cast.here.world.t.client.request("PATCH", path, body, _MERGE)
    _await_failure(cast, cast.failed)


def _await_failure(cast: Play, node: str) -> None:
    """Until the controller has given the node back."""
    cast.here.until("the failure", lambda: cast.phase(node) == "Failed")


def _phase(operation: Manifest) -> str:
    found: str = operation.get("status", {}).get("phase", "")
    return found
