"""The history of nodes while they are repaired: every state that a watch has seen, in its order."""

import time
from collections import defaultdict
from collections.abc import Callable, Iterator
from typing import NamedTuple, Self, TypeVar

from components.making.faults import CONDITIONS, FAULTY_TAINT, QUARANTINED_TAINT, TURN_LABEL
from controlplane import Manifest
from controlplane.access import Access
from schemas.kubernetes.node_labels import POOL_LABEL
from tests.real.live.watch import Mirror, condition

T = TypeVar("T")
NODEOPS = "nodeops.k8s.preferred.jp/v1alpha1"
OPERATING = "nodeops.k8s.preferred.jp/operating"
"""The taint of the controller (node-operation-controller v0.2.2,
controllers/nodeoperation_controller.go)."""
_FOLLOWED = ((NODEOPS, "NodeOperation"), (NODEOPS, "NodeRemediation"), ("batch/v1", "Job"))


class State(NamedTuple):
    """A node as it was from ``seconds`` on, on ``time.monotonic``."""

    seconds: float
    faults: frozenset[str]
    """Types of conditions of faults that are True."""
    taints: frozenset[str]
    """Keys of its taints."""
    turn: str
    """The value of its turn's label; empty where it has none."""
    boot: str

    @property
    def kept_out(self) -> bool:
        """True if no new pod may come because of a fault."""
        return bool(self.taints & {FAULTY_TAINT, QUARANTINED_TAINT})

    @property
    def operating(self) -> bool:
        """True if the controller works on it."""
        return OPERATING in self.taints


class Operation(NamedTuple):
    """A NodeOperation that there was: its node, and the phases that were seen, each with a time."""

    node: str
    phases: dict[str, float]


class History:
    """Follows nodes, operations and jobs, and remembers what nodes went through."""

    def __init__(self, access: Access) -> None:
        self._mirror = Mirror(access)
        self._states: defaultdict[str, list[State]] = defaultdict(list)
        self._pools: dict[str, str] = {}
        self._operations: dict[str, Operation] = {}
        self._peaks: defaultdict[str, int] = defaultdict(int)

    def __enter__(self) -> Self:
        self._mirror.listen(self._note)
        self._mirror.follow("v1", "Node")
        for api_version, kind in _FOLLOWED:
            self._mirror.follow(api_version, kind)
        return self

    def __exit__(self, *_: object) -> None:
        self._mirror.close()

    def all(self, kind: str) -> list[Manifest]:
        """The objects of a kind as they are; nobody may change them."""
        return self._mirror.all(kind)

    def states(self, node: str) -> list[State]:
        """All states of a node, in their order."""
        with self._mirror.changed:
            return list(self._states[node])

    def now(self, node: str) -> State:
        """A node as it is."""
        with self._mirror.changed:
            return self._states[node][-1]

    def operations(self, node: str) -> list[Operation]:
        """Every operation that there was on a node, in their order."""
        with self._mirror.changed:
            return [each for each in self._operations.values() if each.node == node]

    def peak(self, pool: str) -> int:
        """How many nodes of a pool the controller worked on at a time, at most."""
        with self._mirror.changed:
            return self._peaks[pool]

    def first(self, node: str, fits: Callable[[State], object]) -> float | None:
        """The time when a node first was in a state that fits; None where it never was."""
        found = (each.seconds for each in self.states(node) if fits(each))
        return next(found, None)

    def until(self, what: str, done: Callable[[], T | None], seconds: float) -> T:
        """Wait for changes until ``done()`` is true; what it then gives, or TimeoutError."""
        deadline = time.monotonic() + seconds
        with self._mirror.changed:
            while not (found := done()):
                left = deadline - time.monotonic()
                if left <= 0:
                    shown = "\n".join(self._shown())
                    raise TimeoutError(f"after {seconds:g} s still waiting for {what}\n{shown}")
                # What is waited for may be the doing of a stand-in, which is no change here.
                self._mirror.changed.wait(min(left, 1.0))
        return found

    def _shown(self) -> Iterator[str]:
        for node, states in sorted(self._states.items()):
            last = states[-1]
            if last.kept_out or last.operating or last.turn:
                phases = [each.phases for each in self.operations(node)]
                yield f"{node}: {last} {phases}"

    def _note(self, kind: str, old: Manifest | None, new: Manifest | None) -> None:
        if kind == "Node" and new is not None:
            self._node(new)
        elif kind == "NodeOperation" and (body := new or old) is not None:
            phases = self._operations.setdefault(
                body["metadata"]["uid"], Operation(body["spec"]["nodeName"], {})
            ).phases
            said = "gone" if new is None else body.get("status", {}).get("phase", "")
            phases.setdefault(said, time.monotonic())

    def _node(self, body: Manifest) -> None:
        name, labels = body["metadata"]["name"], body["metadata"]["labels"]
        state = State(
            time.monotonic(),
            frozenset(
                kind
                for kind in CONDITIONS.values()
                if condition(body, kind).get("status") == "True"
            ),
            frozenset(each["key"] for each in body["spec"].get("taints", ())),
            labels.get(TURN_LABEL, ""),
            body["status"].get("nodeInfo", {}).get("bootID", ""),
        )
        states = self._states[name]
        if states and states[-1][1:] == state[1:]:
            return
        states.append(state)
        pool = self._pools[name] = labels[POOL_LABEL]
        working = sum(
            self._states[each][-1].operating
            for each, mine in self._pools.items()
            if mine == pool and self._states[each]
        )
        self._peaks[pool] = max(self._peaks[pool], working)
