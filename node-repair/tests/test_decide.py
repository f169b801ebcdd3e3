"""The decision of a round: bounds that hold in any state, and the end of every fault."""

from collections import Counter
from dataclasses import replace
from itertools import compress
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)
from node_repair.decide import Decision, decide
from node_repair.names import DOMAIN, FAULTY, JOB, QUARANTINED, REBOOT, REBOOTS, RESET, TURN, TURNS
from node_repair.settings import Pool, Repair, Settings
from node_repair.state import Node, Operation, State, Work

NOW, VERDICT, WINDOW, ATTEMPTS = 1_800_000_000, 1000, 86_400, 2
ODD = ["", ",", "x", "-1", "08", "99999999999", "job,,", "a,b,c,d,e", '"\n', "asked", "1e9,1e9"]
POOLS = {
    "a": Pool(limits={"r": 1}, repairs=(Repair("f", "F", "r"), Repair("g", "G", "r"))),
    "b": Pool(limits={"r": 2, "s": 1}, repairs=(Repair("f", "F", "r"), Repair("g", "G", "s"))),
    "c": Pool(limits={"r": 2}, by_number=(Repair("f", "F", "r", beyond=2),)),
}
_BOUNDS = {"attempts": ATTEMPTS, "window": WINDOW, "verdict": VERDICT, "percent": 95}
SITE = Settings.model_validate({**_BOUNDS, "control_plane": ("cp", 3), "pools": POOLS})

whens = st.integers(NOW - 2 * WINDOW, NOW + 60).map(str) | st.sampled_from(ODD)
outcomes = st.sampled_from(
    ["asked", "done", "reset", "resetting", "late", "refused-no-host", "odd"]
)
notes = st.fixed_dictionaries(
    {},
    optional={
        REBOOT: st.builds("job,boot,{},{}".format, whens, outcomes) | st.sampled_from(ODD),
        REBOOTS: st.lists(whens, max_size=3).map(",".join),
        TURNS: st.lists(whens, max_size=5).map(",".join),
        JOB: st.builds("op-1,{}".format, whens) | st.sampled_from(ODD),
        QUARANTINED: st.just("1 f: late"),
    },
)
statuses = st.sampled_from(["True", "True", "False", "Unknown", "odd"])
ready = st.sampled_from(["True", "True", "True", "False"])
taints = st.lists(st.sampled_from([FAULTY, QUARANTINED, "else"]), unique=True).map(
    lambda keys: tuple({"key": key, "value": "f", "effect": "NoSchedule"} for key in keys)
)
nodes = st.builds(
    Node,
    name=st.just(""),
    version=st.just("7"),
    pool=st.sampled_from(["a", "a", "b", "b", "other"]),
    slot=st.sampled_from([None, None, None, "f", "g", "gone", ""]),
    cordoned=st.sampled_from([False, False, False, True]),
    leaving=st.sampled_from([False, False, True]),
    resetting=st.sampled_from([False, False, True]),
    notes=st.just({}) | notes,
    taints=st.just(()) | taints,
    conditions=st.fixed_dictionaries({"F": statuses, "G": statuses, "Ready": ready}),
)
phases = ["", "Pending", "Draining", "JobCreating", "Running", "Completed", "Failed", "odd"]
WHOLE = Node(name="", pool="cp", kubelet="v1.36.1")
LEAVES: list[dict[str, Any]] = [{"cordoned": True}, {"leaving": True}, {"kubelet": "v1.36.2"}]


@st.composite
def states(draw: st.DrawFn) -> State:
    found = [
        replace(each, name=f"n{number}")
        for number, each in enumerate(draw(st.lists(nodes, max_size=9)))
    ]
    names = st.sampled_from([each.name for each in found] or ["none"])
    reasons = st.sampled_from(["", "Another NodeOperation runs"])
    operation = st.builds(
        Operation, st.just("op-1"), names, st.sampled_from(phases), reasons, st.booleans()
    )
    work = st.dictionaries(names, st.builds(Work, st.integers(-5, 5), st.integers(1, 3)))
    plane = [replace(WHOLE, name=f"plane{number}") for number in range(3)]
    plane[0] = replace(plane[0], **draw(st.sampled_from([{}, {}, *LEAVES])))
    plane = plane[: draw(st.sampled_from([3, 3, 3, 3, 2, 0]))]
    return State(
        nodes=(*found, *plane),
        remediations=draw(st.dictionaries(st.sampled_from("xyz"), names, max_size=3)),
        operations=tuple(draw(st.lists(operation, max_size=4))),
        held=frozenset(draw(st.sets(st.sampled_from(["turns-held-a", "turns-held-old"])))),
        work=draw(st.none() | work),
    )


def after(state: State, decision: Decision) -> State:
    """The state with the patches of a decision, as an API server merges them."""
    patches = {each.node: each.body for each in decision.changes}
    return replace(
        state, nodes=tuple(patched(each, patches.get(each.name)) for each in state.nodes)
    )


def patched(node: Node, body: dict[str, Any] | None) -> Node:
    if body is None:
        return node
    metadata = body["metadata"]
    changed = {**node.notes, **metadata.get("annotations", {})}
    return replace(
        node,
        slot=metadata.get("labels", {}).get(TURN, node.slot),
        resetting=node.resetting and RESET not in metadata.get("labels", {}),
        notes={key: value for key, value in changed.items() if value is not None},
        taints=tuple(body.get("spec", {}).get("taints", node.taints)),
    )


def slots(state: State) -> Counter[tuple[str, str]]:
    found: Counter[tuple[str, str]] = Counter()
    for node in state.nodes:
        repair = POOLS[node.pool].of(node.slot or "") if node.pool in POOLS else None
        found.update([(node.pool, repair.remediator)] if repair else [])
    return found


def given_slots(state: State, decision: Decision) -> list[Node]:
    before = {each.name: each for each in state.nodes}
    new = (each for each in after(state, decision).nodes if each.slot is not None)
    return [before[each.name] for each in new if before[each.name].slot is None]


@settings(max_examples=150, deadline=None)
@given(states())
def test_no_round_breaks_a_bound(state: State) -> None:
    """Budgets, one program on a node, and only nodes with a fault of their own."""
    decision = decide(SITE, state, NOW)
    now, before = slots(after(state, decision)), slots(state)
    for (pool, remediator), count in now.items():
        assert count <= max(POOLS[pool].limits[remediator], before[pool, remediator])
    busy = {each.node for each in state.operations if each.active} | {*state.remediations.values()}
    plane = [replace(each, name="") for each in state.nodes if each.pool == "cp"]
    rolls = plane not in ([], [WHOLE] * 3)
    for node in given_slots(state, decision):
        assert not rolls and node.name not in busy and node.conditions["Ready"] == "True"
        assert not node.cordoned and not node.has_taint(QUARANTINED) and not node.leaving
        assert "True" in (node.conditions["F"], node.conditions["G"])
    for node in after(state, decision).nodes:
        assert node.slot is not None or node.leaving or not node.resetting
    assert decide(SITE, state, NOW) == decision
    assert bool(decision.rolling) == rolls


@settings(max_examples=80, deadline=None)
@given(states())
def test_a_patch_touches_nothing_of_others(state: State) -> None:
    """Those of others stay, and each patch is bound to the version that was read."""
    living = {each.name: each for each in state.nodes if not each.leaving}
    for node, body, why in decide(SITE, state, NOW).changes:
        assert why and body["metadata"]["resourceVersion"] == living[node].version
        kept = [each for each in living[node].taints if each["key"] == "else"]
        wanted = body.get("spec", {}).get("taints", living[node].taints)
        assert [each for each in wanted if each["key"] == "else"] == kept
        keys = {*body["metadata"].get("labels", {}), *body["metadata"].get("annotations", {})}
        assert all(key.startswith(f"{DOMAIN}/") for key in keys)


@settings(max_examples=80, deadline=None)
@given(states())
def test_a_node_without_a_reported_fault_is_kept_as_it_is(state: State) -> None:
    """Unknown and odd statuses begin nothing, and take no taint away."""
    for node in after(state, decide(SITE, state, NOW)).nodes:
        before = next(each for each in state.nodes if each.name == node.name)
        known = {before.conditions.get("F"), before.conditions.get("G")}
        if before.slot is None and "True" not in known:
            assert node.slot is None
            assert node.has_taint(QUARANTINED) == before.has_taint(QUARANTINED)
            assert node.has_taint(FAULTY) <= before.has_taint(FAULTY)
            if "Unknown" in known and before.pool in POOLS:
                assert node.has_taint(FAULTY) == before.has_taint(FAULTY)


@settings(max_examples=80, deadline=None)
@given(states(), st.data())
def test_a_round_that_is_cut_short_is_finished_by_the_next(state: State, data: Any) -> None:
    """Each change is of one node: any of them may be missing, and no bound breaks, not even between
    the two rounds."""
    decision = decide(SITE, state, NOW)
    count = len(decision.changes)
    done = data.draw(st.lists(st.booleans(), min_size=count, max_size=count))
    cut = replace(decision, changes=tuple(compress(decision.changes, done)))
    second, before = after(state, cut), slots(state)
    for (pool, remediator), used in slots(second).items():
        assert used <= max(POOLS[pool].limits[remediator], before[pool, remediator])
    now = slots(after(second, decide(SITE, second, NOW)))
    for (pool, remediator), count in now.items():
        assert count <= max(POOLS[pool].limits[remediator], slots(second)[pool, remediator])


@pytest.mark.parametrize("end", ["repaired", "cordoned", "quarantined"])
def test_a_slot_is_given_anew_only_when_its_end_is_stored(end: str) -> None:
    """The first node's patch may fail where the second one's is done."""
    bad = {"F": "True", "Ready": "True"}
    first = Node(
        name="z",
        pool="a",
        slot="f",
        conditions=bad | ({"F": "False"} if end == "repaired" else {}),
        cordoned=end == "cordoned",
        notes={REBOOT: f"job,boot,{NOW},late"} if end == "quarantined" else {},
    )
    state = State(nodes=(first, Node(name="b", pool="a", conditions=bad)))
    decision = decide(SITE, state, NOW)
    state = after(state, decision)
    assert not slots(state) and decision.slots == {("a", "r"): 1}
    state = after(state, decide(SITE, state, NOW))
    assert [each.name for each in state.nodes if each.slot is not None] == ["b"]


@pytest.mark.parametrize("faulty", [False, True])
def test_a_job_that_is_seen_first_takes_its_slot(faulty: bool) -> None:
    """The note of it must not free the slot for another node in the same round."""
    bad, name = {"F": "True", "Ready": "True"}, "a" * (1 + faulty)
    first = Node(name=name, pool="a", slot="f", conditions=bad, notes={TURNS: str(NOW - 10)})
    second = Node(name="z", pool="a", conditions=bad)
    running = Operation("op-1", name, "Running", "", True)
    state = State(nodes=(first, second), operations=(running,))
    assert slots(after(state, decide(SITE, state, NOW))) == {("a", "r"): 1}


racked = st.tuples(st.sampled_from("xyz"), statuses, st.sampled_from([None, None, None, "f"]))


@settings(max_examples=150, deadline=None)
@given(st.lists(racked, min_size=1, max_size=9))
def test_repairs_of_racks_go_rack_by_rack(found: list[tuple[str, str, str | None]]) -> None:
    """A repair ends the jobs across its rack: none begins in a rack beside those of another."""
    conditions = [{"F": status, "Ready": "True"} for _, status, _ in found]
    nodes = tuple(
        Node(name=f"n{n}", pool="a", rack=rack, slot=slot, conditions=conditions[n])
        for n, (rack, _, slot) in enumerate(found)
    )
    pool = Pool(limits={"r": 2}, repairs=(Repair("f", "F", "r"),), by_rack=True)
    site = SITE.model_copy(update={"pools": {"a": pool}, "percent": 100})
    state = State(nodes=nodes, work={})
    given = given_slots(state, decide(site, state, NOW))
    busy = {each.rack for each in nodes if each.slot}
    waiting = [each for each in nodes if not each.slot and each.conditions["F"] == "True"]
    assert len({each.rack for each in given}) <= 1
    assert not busy or {each.rack for each in given} <= busy
    assert given or busy or not waiting, "a rack waits for none"


messages = st.sampled_from(
    ["", "0000:3b:00.0 has 8 of 16 lanes", "0000:3B:00.0,0000:3b:00.0 have 8", "99999 of 8", "of",
     "3 of 8 have 8 of 16", "0000:1a:00.0,0000:3b:00.0,0000:5e:00.0 have 8 of 16"]
)  # fmt: skip


@settings(max_examples=80, deadline=None)
@given(st.lists(st.tuples(statuses, messages), min_size=1, max_size=6))
def test_hosts_are_repaired_by_the_number_of_their_own_bad_devices(
    found: list[tuple[str, str]],
) -> None:
    """Few devices are taken out by themselves; a bad one of one host never drains another."""
    nodes = tuple(
        Node(
            name=f"n{n}", pool="c", conditions={"F": status, "Ready": "True"}, messages={"F": told}
        )
        for n, (status, told) in enumerate(found)
    )
    for node in after(State(nodes=nodes), decide(SITE, State(nodes=nodes), NOW)).nodes:
        told = node.messages["F"]
        many = node.conditions["F"] == "True" and ("3 of" in told or told.count("0000:") == 3)
        assert many or (node.slot is None and not node.taints)
    decision = decide(SITE, State(nodes=nodes, work={}), NOW)
    assert all(each.conditions["F"] == "True" for each in given_slots(State(nodes=nodes), decision))


RESETS_THAT = ["are not tried", "help", "do not last", "hang", "fail"]


class Repairs(RuleBasedStateMachine):
    """Nodes of one pool, with the controller and the hosts played: every fault ends repaired or
    quarantined, through restarts at any point, lost operations and reboots that do not help."""

    def __init__(self) -> None:
        super().__init__()
        self.now = NOW
        self.nodes = {
            name: Node(name=name, pool="b", conditions={"F": "False", "Ready": "True"})
            for name in ("n1", "n2", "n3", "n4", "n5", "n6")
        }
        self.operations: dict[str, str] = {}
        self.resets: set[str] = set()
        self.reboots: Counter[str] = Counter()

    def state(self) -> State:
        found = [Operation(f"op-{n}", n, p, "", True) for n, p in self.operations.items()]
        return State(nodes=tuple(self.nodes.values()), operations=tuple(found), work={})

    def round(self, only: str = "") -> None:
        state = self.state()
        decision = decide(SITE, state, self.now)
        changes = tuple(each for each in decision.changes if each.node == only or not only)
        done = after(state, replace(decision, changes=changes))
        for name, body, _ in changes:
            self.judged(name, body)
        self.nodes = {each.name: each for each in done.nodes}
        for name in [*self.operations]:
            # The controller deletes the operation of a node that is not selected any more.
            if self.nodes[name].slot is None or self.nodes[name].conditions["F"] == "False":
                del self.operations[name]
        self.bounds_hold()

    def judged(self, name: str, body: dict[str, Any]) -> None:
        """A reset that did not help gets a host a reboot, and no person."""
        node, metadata = self.nodes[name], body["metadata"]
        if metadata.get("labels", {}).get(RESET, "") is None:
            self.resets.discard(name)
        tried = node.notes.get(REBOOT, "").endswith((",reset", ",resetting"))
        failed = self.operations.get(name) == "Failed"
        if metadata.get("annotations", {}).get(QUARANTINED) and tried and not failed:
            slots = node.notes[TURNS].count(",") + 1
            many = self.reboots[name] >= ATTEMPTS or slots >= 2 * ATTEMPTS
            assert many or node.conditions["F"] == "Unknown"

    def change(self, name: str, **fields: Any) -> None:
        self.nodes[name] = replace(self.nodes[name], **fields)

    names = st.sampled_from(["n1", "n2", "n3", "n4", "n5", "n6"])

    @rule(name=names, status=st.sampled_from(["True", "True", "False", "Unknown"]))
    def report(self, name: str, status: str) -> None:
        self.change(name, conditions={"F": status, "Ready": "True"})

    @rule(only=st.sampled_from(["", "n1", "n2"]), seconds=st.sampled_from([20, 400, VERDICT]))
    def look(self, only: str, seconds: int) -> None:
        """A round, or what is left of one that was killed."""
        self.now += seconds
        self.round(only)

    resets_that = st.sampled_from(RESETS_THAT)

    @rule(name=names, reset=resets_that)
    def operate(self, name: str, reset: str) -> None:
        """The controller and the Job go one step on."""
        node = self.nodes[name]
        steps = {None: "Draining", "Draining": "Running"}
        if node.slot is None or node.conditions["F"] != "True":
            return
        phase = self.operations.get(name)
        if phase in steps:
            self.operations[name] = steps[phase]
        elif phase != "Running" or not (REBOOT not in node.notes or name in self.resets):
            return
        elif REBOOT not in node.notes and reset != "are not tried":
            self.resets.add(name)
            self.note(name, "resetting")
        elif name in self.resets and reset in ("help", "do not last"):
            self.resets.remove(name)
            self.note(name, "reset")
            if reset == "help":
                self.change(name, conditions={"F": "False", "Ready": "True"})
        elif reset != "hang":
            self.resets.discard(name)
            counted = ",".join(filter(None, [node.notes.get(REBOOTS, ""), str(self.now)]))
            self.note(name, "done", {REBOOTS: counted})
            self.reboots[name] += 1

    def note(self, name: str, outcome: str, more: dict[str, str] | None = None) -> None:
        note = f"op-{name},boot,{self.now},{outcome}"
        self.change(name, notes={**self.nodes[name].notes, REBOOT: note, **(more or {})})

    @rule(name=names, failed=st.booleans())
    def lose(self, name: str, failed: bool) -> None:
        """Somebody deletes the operation, or its Job fails."""
        if name in self.operations:
            self.operations[name] = "Failed"
            if not failed:
                del self.operations[name]

    @invariant()
    def bounds_hold(self) -> None:
        assert slots(self.state())["b", "r"] <= POOLS["b"].limits["r"]
        assert all(count <= ATTEMPTS for count in self.reboots.values())
        assert all(self.nodes[name].slot is not None for name in self.resets)

    @precondition(lambda self: self.now < NOW + WINDOW // 2)
    @rule(reset=resets_that)
    def every_fault_ends(self, reset: str) -> None:
        """With the controller at work, and no reboot that helps, all that is faulty is given up: as
        many as one pool's hosts may be; else the pool is held, and says so."""
        for _ in range(80):
            self.now += VERDICT // 2
            for name in self.nodes:
                self.operate(name, reset)
                self.operate(name, reset)
            self.round()
        decision = decide(SITE, self.state(), self.now)
        held = "turns-held-b" in decision.hold
        for node in self.nodes.values():
            if node.conditions["F"] == "True":
                assert held or node.has_taint(QUARANTINED)
            elif node.conditions["F"] == "False":
                assert node.slot is None
        raise_if_long(self)


def raise_if_long(machine: Repairs) -> None:
    """The window in which reboots count is not left."""
    machine.now = min(machine.now, NOW + WINDOW - 1)


def test_every_fault_ends_repaired_or_quarantined() -> None:
    limits = settings(max_examples=15, stateful_step_count=20, deadline=None)
    run_state_machine_as_test(Repairs, settings=limits)


@pytest.mark.parametrize("lost", [False, True], ids=["runs", "fails"])
@pytest.mark.parametrize("reset", RESETS_THAT)
def test_each_end_of_a_reset_ends_the_fault(reset: str, lost: bool) -> None:
    """Also where its Job fails in the middle."""
    machine = Repairs()
    for name in ("n1", "n2", "n3"):
        machine.change(name, conditions={"F": "True", "Ready": "True"})
    machine.round()
    for _ in range(3):
        machine.operate("n1", reset)
    if lost:
        machine.lose("n1", failed=True)
        machine.round()
    machine.every_fault_ends(reset)
