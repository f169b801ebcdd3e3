"""The decision of a round: from the settings and the state of a cluster to what is changed.

Pure: it reads nothing else, does nothing, and remembers nothing, so a round that is killed anywhere
leaves nothing half done, and the next one decides from what is there.
"""

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from node_repair.cluster import Json
from node_repair.edit import Edit
from node_repair.names import FAULTY, JOB, QUARANTINED, REBOOT, REBOOTS, RESETTING, TURNS
from node_repair.notes import bad_devices, parts, times
from node_repair.settings import Pool, Repair, Settings
from node_repair.state import Node, Operation, State

ALWAYS = 2
"""Faulty nodes of a pool that are always hosts': one that is quarantined must not keep the next one
of a small pool in use."""
HELPS = ("done", "reset", RESETTING)
"""Outcomes after which a fault that is still there gets another slot. After a reset that is a
reboot: a host's devices are reset once between two of its starts."""
HELD_NAME = "turns-held-"
_GIVEN_UP = re.compile(r"late|refused-[a-z-]+")
_STUCK = "Another NodeOperation"
"""How the reason of an operation begins that took its own taint for another's, as after a flap: it
never looks again (node-operation-controller 0ac94deb, reconcilePending)."""


class Change(NamedTuple):
    """One patch of a node, bound to the version that was read, and why."""

    node: str
    body: Json
    why: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Decision:
    """What a round does."""

    changes: tuple[Change, ...]
    hold: Mapping[str, str]
    """The reason for each ConfigMap to create that tells of a held pool, by its name."""
    release: tuple[str, ...]
    """Those to delete."""
    contenders: tuple[str, ...]
    """Nodes whose pods must be known to choose among them; they get no slot without."""
    slots: Mapping[tuple[str, str], int]
    """Nodes with a slot, also those whose slot begins or ends now, by pool and remediator."""
    rolling: str
    """Why the control plane is not whole, so that no repair begins; empty where it is."""


class Findings(NamedTuple):
    """What a node has: its first fault, whether one is unknown, and its times in the window."""

    fault: str
    unknown: bool
    reboots: tuple[int, ...]
    turns: tuple[int, ...]


def _status(node: Node, repair: Repair) -> str:
    """The status of a fault. That of few enough devices is none of the node's."""
    status = node.conditions.get(repair.condition, "")
    bad = bad_devices(node.messages.get(repair.condition, "")) if repair.beyond else 1
    return "False" if status == "True" and bad <= repair.beyond else status


def _precedes_reboot(node: Node) -> bool:
    """True if a slot has no reboot yet: one whose node is cordoned has a reset at most."""
    note = node.notes.get(REBOOT, "")
    return not note or (node.cordoned and parts(note)[3] == RESETTING)


def decide(settings: Settings, state: State, now: int) -> Decision:
    """Decide a round at ``now``, in seconds since 1970."""
    return _Round(settings, state, now).decision()


@dataclass
class _Round:
    settings: Settings
    state: State
    now: int
    slots: Counter[tuple[str, str]] = field(default_factory=Counter)

    def __post_init__(self) -> None:
        self.found = {each.name: self._judge(each) for each in self.state.nodes}
        self.edits = {each.name: Edit(each) for each in self.state.nodes if not each.leaving}
        self.operations: dict[str, list[Operation]] = {}
        for each in self.state.operations:
            self.operations.setdefault(each.node, []).append(each)
        self.held = dict(self._held())
        self.hours = f"in {self.settings.window // 3600} hours"

    def decision(self) -> Decision:
        living = [each for each in self.state.nodes if not each.leaving]
        for node in living:
            self._decide(node)
        # A slot that ends is free in the next round: the patch that ends it may fail, and that of
        # another node be done.
        for node in self.state.nodes:
            if node.slot is not None and (repair := self._pool(node).of(node.slot)):
                self.slots[node.pool, repair.remediator] += 1
        rolling = self._rolling()
        contenders = [] if rolling else list(self._choose(living))
        told = {HELD_NAME + pool: why for pool, why in self.held.items()}
        return Decision(
            changes=tuple(
                Change(name, edit.body(), "; ".join(edit.why))
                for name, edit in self.edits.items()
                if edit.why
            ),
            hold={name: why for name, why in told.items() if name not in self.state.held},
            release=tuple(sorted(self.state.held - told.keys())),
            contenders=tuple(contenders),
            slots=self.slots,
            rolling=rolling,
        )

    def _pool(self, node: Node) -> Pool:
        return self.settings.pools.get(node.pool, Pool())

    def _judge(self, node: Node) -> Findings:
        pool = self._pool(node)
        states = [(each.fault, _status(node, each)) for each in (*pool.repairs, *pool.by_number)]
        fault = next((fault for fault, status in states if status == "True"), "")
        unknown = any(status == "Unknown" for _, status in states)
        window = self.settings.window
        reboots, turns = (
            times(str(node.notes.get(key, "")), self.now, window) for key in (REBOOTS, TURNS)
        )
        return Findings(fault, unknown, reboots, turns)

    def _held(self) -> Iterator[tuple[str, str]]:
        """Too many faults at once are no host's: a driver, or a check that is wrong. A quarantined
        node counts, as nobody lets it in because its detector is silent."""
        for name in self.settings.pools:
            nodes = [each for each in self.state.nodes if each.pool == name]
            faulty = sum(
                bool(self.found[each.name].fault) or each.has_taint(QUARANTINED) for each in nodes
            )
            if faulty > ALWAYS and faulty * 100 > self.settings.percent * len(nodes):
                counted = f"{faulty} of {len(nodes)} nodes of pool {name}"
                yield name, f"{counted} have a fault: no repair is begun"

    def _rolling(self) -> str:
        """Cluster API takes out one control plane node; no repair takes another beside it."""
        name, number = self.settings.control_plane
        nodes = [each for each in self.state.nodes if name and each.pool == name]
        if len({each.kubelet for each in nodes}) > 1:
            return "the control plane has several versions"
        if any(each.cordoned or each.leaving for each in nodes):
            return "a node of the control plane leaves"
        if nodes and len(nodes) != number:
            return f"the control plane has {len(nodes)} of {number} nodes"
        return ""

    # --- one node ---

    def _decide(self, node: Node) -> None:
        found, edit = self.found[node.name], self.edits[node.name]
        quarantined = node.has_taint(QUARANTINED)
        if node.resetting and node.slot is None:
            edit.end_reset()
        if QUARANTINED in node.notes and not quarantined:
            edit.forget("let in again by a person: its reboots are forgotten")
            return
        self._taint(node, found, edit)
        if node.slot is not None:
            self._end_slot(node, node.slot)
        elif not found.fault or quarantined or node.pool in self.held:
            return
        elif len(found.reboots) >= self.settings.attempts:
            edit.quarantine(found.fault, f"{len(found.reboots)} reboots {self.hours}", self.now)
        elif len(found.turns) >= 2 * self.settings.attempts:
            edit.quarantine(found.fault, f"{len(found.turns)} slots {self.hours}", self.now)

    def _taint(self, node: Node, found: Findings, edit: Edit) -> None:
        has, busy = edit.faulty(), node.slot is not None and self._active(node)
        if found.fault:
            if has != found.fault and (has is not None or node.pool not in self.held):
                edit.taint(FAULTY, found.fault, f"has {found.fault}: no new pods")
        elif has is not None and not found.unknown and not busy:
            edit.taint(FAULTY, None, "has no fault any more")

    def _active(self, node: Node) -> bool:
        return any(each.active for each in self.operations.get(node.name, ()))

    def _end_slot(self, node: Node, fault: str) -> None:
        """End a slot that is over: the fault is gone, no repair helps, or planned work comes."""
        edit, repair = self.edits[node.name], self._pool(node).of(fault)
        status = _status(node, repair) if repair else ""
        if node.has_taint(QUARANTINED):
            edit.end_slot("is quarantined")
        elif status not in ("True", "Unknown"):
            if not self._active(node):
                edit.end_slot(f"is repaired: {fault}")
        elif why := self._hopeless(node):
            edit.quarantine(fault, why, self.now)
        elif not _precedes_reboot(node):
            self._after_reboot(node, fault, status)
        else:
            self._before_reboot(node, fault)

    def _hopeless(self, node: Node) -> str:
        """Why a second try would end the same; empty where it may not."""
        outcome = parts(node.notes.get(REBOOT, ""))[3]
        if _GIVEN_UP.fullmatch(outcome):
            return f"reboot {outcome}"
        ours = [each for each in self.operations.get(node.name, ()) if each.ours]
        failed = any(each.phase == "Failed" for each in ours) and not self._active(node)
        cordoned = node.cordoned and _precedes_reboot(node)
        return "operation failed" if failed and not cordoned else ""

    def _before_reboot(self, node: Node, fault: str) -> None:
        """A slot without a reboot yet. A drain takes as long as it takes."""
        edit, found = self.edits[node.name], self.operations.get(node.name, ())
        begun = (each for each in found if each.ours and each.phase in ("JobCreating", "Running"))
        job = next((each.name for each in begun), None)
        if any(each.phase == "Pending" and each.reason.startswith(_STUCK) for each in found):
            edit.end_slot("its operation does not begin: once more")
        elif node.cordoned:
            edit.end_slot("is cordoned: its slot comes later")
        elif job is not None:
            self._idle(node, fault, job)
        elif not self._active(node):
            last = times(node.notes.get(TURNS, "").rpartition(",")[2], self.now, self.now)
            if not last:
                edit.begin(self.found[node.name].turns, self.now, "began")
            elif last[0] + self.settings.verdict <= self.now:
                edit.end_slot("has no operation: once more")

    def _idle(self, node: Node, fault: str, job: str) -> None:
        """A Job that does not begin, as its pod finds no place or no image."""
        edit, (name, when) = self.edits[node.name], parts(node.notes.get(JOB, ""))[:2]
        since = times(when, self.now, self.now)
        if name != job or not since:
            edit.note(JOB, f"{job},{self.now}", "its Job is there")
        elif since[0] + 2 * self.settings.verdict <= self.now:
            edit.quarantine(fault, "its job does not begin", self.now)

    def _after_reboot(self, node: Node, fault: str, status: str) -> None:
        """A host that is not back gets no second reboot: nobody could drain it. A time of the
        request that is none ends the slot too: nothing else would."""
        _, _, when, outcome = parts(node.notes[REBOOT])
        asked = times(when, self.now, self.now)
        if asked and asked[0] + self.settings.verdict > self.now:
            return
        edit, reboots = self.edits[node.name], len(self.found[node.name].reboots)
        if outcome not in HELPS:
            edit.quarantine(fault, "reboot late", self.now)
        elif status == "Unknown":
            edit.quarantine(fault, "its state is unknown after a reboot", self.now)
        elif reboots >= self.settings.attempts:
            edit.quarantine(fault, f"{reboots} reboots {self.hours}", self.now)
        else:
            edit.end_slot("a repair did not help: once more")

    # --- new slots ---

    def _choose(self, living: list[Node]) -> Iterator[str]:
        """Give slots, least disturbing drains first; the nodes whose pods must be known before."""
        for name, pool in self.settings.pools.items():
            mine = [each for each in self.state.nodes if each.pool == name]
            racks = {each.rack for each in mine if pool.by_rack and each.slot is not None}
            for remediator, limit in pool.limits.items() if name not in self.held else ():
                waiting = [
                    each
                    for each in living
                    if each.pool == name and self._waits(each, remediator)
                    if not racks or each.rack in racks
                ]
                free = max(0, limit - self.slots[name, remediator])
                crowded = len(waiting) > (1 if pool.by_rack else free)
                if free and crowded and self.state.work is None:
                    yield from (each.name for each in waiting)
                    continue
                waiting.sort(key=self._disturbance)
                if pool.by_rack:
                    waiting = [each for each in waiting if each.rack == waiting[0].rack]
                    racks.update(each.rack for each in waiting[:free])
                for node in waiting[:free]:
                    found = self.found[node.name]
                    self.edits[node.name].give_slot(found.fault, found.turns, self.now)
                    self.slots[name, remediator] += 1

    def _waits(self, node: Node, remediator: str) -> bool:
        """True if a node may get a slot; one that does not answer is left to Cluster API."""
        found, repair = self.found[node.name], self._pool(node).of(self.found[node.name].fault)
        return (
            repair is not None
            and repair.remediator == remediator
            and node.slot is None
            and not (node.cordoned or node.has_taint(QUARANTINED) or QUARANTINED in node.notes)
            and len(found.reboots) < self.settings.attempts
            and len(found.turns) < 2 * self.settings.attempts
            and node.ready
            and node.name not in self.state.remediations.values()
            and not self._active(node)
        )

    def _disturbance(self, node: Node) -> tuple[bool, int, int, str]:
        """Idle nodes first, then those of the lowest priority, then those with fewest pods."""
        mine = (self.state.work or {}).get(node.name)
        return (mine is not None, *(mine or (0, 0)), node.name)
