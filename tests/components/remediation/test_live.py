"""The repair of faults by the real Node Operation Controller, with the objects and scripts that a
site makes. Nodes are KWOK's, hosts and kubelets stand-ins (tests/kit/twin)."""

import itertools
from collections.abc import Iterator

import pytest

from components.making.faults import CONDITIONS, FAULTY_TAINT, QUARANTINED_TAINT
from components.remediation.names import HISTORY_ANNOTATION
from tests.kit.remediation_history import State
from tests.kit.remediation_play import DEADLOCK, LONG_SECONDS, MISSING, TEN, Play, play
from tests.kit.remediation_world import MANY, NOC, ONE, PATIENCE_SECONDS
from tests.kit.twin.hosts import BMH

pytestmark = [pytest.mark.remediation, pytest.mark.proof]


@pytest.fixture(scope="module")
def cast(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Play]:
    with play(tmp_path_factory.mktemp("remediation")) as found:
        yield found
        found.here.check()


def returned(cast: Play, node: str, seconds: float = LONG_SECONDS) -> None:
    """Wait until a node is as before, what was done to it meanwhile included."""
    if node in cast.done:
        cast.done[node].result(LONG_SECONDS + PATIENCE_SECONDS)
    cast.here.until(f"the return of {node}", lambda: cast.returned(node), seconds)


def quarantined(cast: Play, node: str) -> State:
    """Wait until a node is given up; how it is then."""

    def given_up() -> State | None:
        now = cast.here.history.now(node)
        done = QUARANTINED_TAINT in now.taints and not now.turn and not now.operating
        return now if done and not cast.phase(node) else None

    if node in cast.done:
        cast.done[node].result(LONG_SECONDS + PATIENCE_SECONDS)
    return cast.here.until(f"the quarantine of {node}", given_up, LONG_SECONDS)


def test_a_fault_leads_to_taint_drain_reboot_and_return(cast: Play) -> None:
    returned(cast, cast.held)
    history = cast.here.history
    first = history.states(cast.held)[0].boot
    steps = [
        history.first(cast.held, lambda state: state.faults),
        history.first(cast.held, lambda state: FAULTY_TAINT in state.taints),
        history.first(cast.held, lambda state: state.operating),
        # The budget of its pod held the drain until it was taken away.
        next(each.seconds for each in cast.here.world.watch.deletions(cast.namespace)
             if each.pod == f"on-{cast.held}"),
        history.first(cast.held, lambda state: state.boot != first),
    ]  # fmt: skip
    assert steps == sorted(steps, key=lambda each: each or 0.0) and None not in steps
    assert cast.here.reboots(cast.held) == 1


def test_a_restart_of_the_controller_under_a_reboot_changes_nothing(cast: Play) -> None:
    returned(cast, cast.killed)
    assert cast.here.reboots(cast.killed) == 1
    assert len(cast.here.history.operations(cast.killed)) == 1


def test_a_condition_that_flaps_costs_a_drain_and_no_reboot(cast: Play) -> None:
    returned(cast, cast.flapping)
    assert cast.here.reboots(cast.flapping) == 1
    # The next operation may find the taint of the one before, and then there is a third.
    assert len(cast.here.history.operations(cast.flapping)) >= 2


def test_a_reboot_that_does_not_help_ends_in_quarantine_and_frees_the_budget(cast: Play) -> None:
    now = quarantined(cast, cast.hopeless)
    assert now.faults == {CONDITIONS[MISSING]}
    returned(cast, cast.after)
    history = cast.here.history
    assert cast.here.reboots(cast.hopeless) == cast.attempts
    assert len(history.operations(cast.hopeless)) == cast.attempts
    assert QUARANTINED_TAINT in history.now(cast.hopeless).taints
    assert history.peak("a100") == ONE


@pytest.mark.parametrize("name", ["deleted", "failed"])
def test_a_job_that_ends_early_never_gives_a_broken_node_back(cast: Play, name: str) -> None:
    node = getattr(cast, name)
    quarantined(cast, node)
    (operation,) = cast.here.history.operations(node)
    assert "Failed" in operation.phases
    # The controller took its own taint away then, and only the site's kept pods out.
    after = operation.phases["Failed"]
    bare = [s for s in cast.here.history.states(node) if s.seconds > after and not s.operating]
    assert bare and all(state.kept_out for state in bare)


def test_two_faults_of_a_node_are_mended_one_after_another(cast: Play) -> None:
    returned(cast, cast.twice)
    turns = [state.turn for state in cast.here.history.states(cast.twice) if state.turn]
    assert [turn for turn, _ in itertools.groupby(turns)] == [MISSING, DEADLOCK]
    assert cast.here.reboots(cast.twice) == 2
    first, second = cast.here.history.operations(cast.twice)
    assert first.phases["gone"] <= second.phases["Draining"]


def test_a_reset_that_helps_needs_no_reboot_and_one_that_does_not_is_followed_by_one(
    cast: Play,
) -> None:
    returned(cast, cast.reset)
    assert cast.here.reboots(cast.reset) == 1
    host = cast.here.world.t.client.get(BMH, "BareMetalHost", cast.reset, cast.here.site.name)
    assert host is not None
    repairs = host["metadata"]["annotations"][HISTORY_ANNOTATION].split(";")[1:]
    assert [each.split(",")[1] for each in repairs] == ["reset", "reset-reboot"]


def test_ten_faults_at_once_keep_to_the_budget_and_idle_nodes_go_first(cast: Play) -> None:
    for node in [*cast.idle, *cast.busy]:
        returned(cast, node)
    history = cast.here.history
    # Of one round the labels are written by the nodes' names. Its time is that of its decision.
    last = max(map(cast.first_turn, cast.idle))
    for node in cast.busy:
        assert cast.first_turn(node) >= last
    assert 1 < history.peak("v100") <= MANY
    assert sum(cast.here.reboots(node) for node in [*cast.idle, *cast.busy]) == TEN


def test_a_storm_of_faults_drains_nothing(cast: Play) -> None:
    # All turns of the others were given meanwhile.
    for node in cast.mended():
        returned(cast, node)
    history = cast.here.history
    told = ("v1", "ConfigMap", "turns-held-cpu", cast.here.namespace)
    assert cast.here.world.t.client.get(*told), "nobody is told of it"
    for node in cast.storm:
        assert history.now(node).faults == {CONDITIONS[DEADLOCK]}
        assert not any(state.turn or state.operating for state in history.states(node))
        assert not history.operations(node)


def test_a_broken_node_is_kept_out_from_when_it_is_seen_until_it_is_sound(cast: Play) -> None:
    for node in cast.mended():
        returned(cast, node)
    for node in [*cast.mended(), *cast.given_up()]:
        seen = False
        for broken, run in itertools.groupby(
            cast.here.history.states(node), lambda state: bool(state.faults)
        ):
            kept_out = [state.kept_out for state in run]
            if broken:
                seen = any(kept_out)
                assert kept_out == sorted(kept_out), f"{node} was let in while it was broken"
        assert seen or not broken


def test_an_operation_that_waits_for_its_own_taint_does_not_hang(cast: Play) -> None:
    """The controller takes the taint that it finds for another operation's, and never looks again
    (v0.2.2, controllers/nodeoperation_controller.go, reconcilePending)."""
    returned(cast, cast.hung)
    assert cast.here.reboots(cast.hung) == 1


def test_heartbeats_of_sound_nodes_cost_the_controller_nothing(cast: Play) -> None:
    """With a NodeRemediation for each node it is at its client's limit of 20 requests a second."""
    for node in cast.mended():
        returned(cast, node)
    nodes = [node for pool in ("v100", "a100", "h100") for node in cast.here.pool(pool)]
    sound = [node for node in nodes if not cast.here.history.now(node).faults]
    before = requests(cast)
    for node in sound:
        cast.here.hosts.report(node, CONDITIONS[MISSING], "False")
    # What it does for these it has done when it has mended one more.
    cast.here.fail(MISSING, sound[-1])
    cast.here.until("one more reboot", lambda: cast.here.reboots(sound[-1]))
    returned(cast, sound[-1])
    assert requests(cast) - before < len(sound)


def requests(cast: Play) -> float:
    """How many requests the controller has sent since it was started."""
    lines = cast.here.world.t.metrics(NOC).splitlines()
    counters = (line for line in lines if line.startswith("rest_client_requests_total{"))
    return sum(float(line.rpartition(" ")[2]) for line in counters)
