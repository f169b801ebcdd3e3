"""How turns end: the fault is gone, another try, or quarantine until a person says otherwise."""

import time

import pytest

from components.making.faults import FAULTY_TAINT, QUARANTINED_TAINT, TURN_LABEL
from tests.kit.remediation_rounds import BAD, GOOD, HANGS, MISSING, VERDICT, ago, lines, one_round
from tests.kit.remediation_server import SECONDS, Server

pytestmark = [pytest.mark.controlplane, pytest.mark.proof]


def test_a_repair_from_the_fault_to_its_end(server: Server) -> None:
    text = lines({"a": 1})
    for name in ("n1", "n2", "n3"):
        server.node(name, "a", GOOD)
    server.condition("n2", **BAD)
    one_round(server, text)
    assert server.turns() == {"n2": MISSING}
    assert server.taints("n2") == {FAULTY_TAINT: MISSING}
    server.operation("n2", "Draining", "r")
    server.condition("n2", **GOOD)
    # The controller has not seen yet that the fault is gone.
    one_round(server, text)
    assert server.turns() == {"n2": MISSING}
    assert server.taints("n2") == {FAULTY_TAINT: MISSING}
    server.end_operations()
    one_round(server, text)
    assert not server.turns()
    assert not any(server.taints(name) for name in ("n1", "n2", "n3"))
    assert one_round(server, text) == ""


def test_two_faults_get_one_turn_after_another(server: Server) -> None:
    text = lines({"a": 1})
    server.node("n", "a", {**BAD, "KernelDeadlock": "True"})
    one_round(server, text)
    assert server.turns() == {"n": MISSING}
    server.condition("n", **GOOD)
    one_round(server, text)
    assert not server.turns() and server.taints("n") == {FAULTY_TAINT: HANGS}
    one_round(server, text)
    assert server.turns() == {"n": HANGS}


@pytest.mark.parametrize(
    ("state", "note", "reboots", "end"),
    [
        ("True", f"done,{VERDICT - 100}", 2, "turn"),
        ("Unknown", f"done,{VERDICT - 100}", 2, "turn"),
        ("True", f"asked,{VERDICT - 100}", 2, "turn"),
        ("True", f"done,{VERDICT}", 1, "again"),
        ("True", f"done,{VERDICT}", 2, "2 reboots in 1 hours"),
        ("Unknown", f"done,{VERDICT}", 1, "its state is unknown after a reboot"),
        ("True", f"asked,{VERDICT}", 1, "reboot late"),
        ("True", "late,1", 1, "reboot late"),
        ("True", "refused-no-host,1", 0, "reboot refused-no-host"),
    ],
)
def test_what_comes_of_a_turn(
    server: Server, state: str, note: str, reboots: int, end: str
) -> None:
    server.node("n", "a", {"AcceleratorMissing": state}, labels={TURN_LABEL: MISSING})
    outcome, _, seconds = note.partition(",")
    times = ",".join(str(ago(int(seconds) - number)) for number in range(reboots))
    server.annotate("n", reboot=f"job,boot-0,{ago(int(seconds))},{outcome}", reboots=times)
    server.operation("n", "Running", "r")
    one_round(server, lines({"a": 1}))
    assert bool(server.turns()) == (end == "turn")
    quarantined = QUARANTINED_TAINT in server.taints("n")
    assert quarantined == (end not in ("turn", "again"))
    if quarantined:
        since, _, why = (server.note("n", "quarantined") or "").partition(" ")
        assert abs(int(since) - time.time()) < SECONDS and why == f"{MISSING}: {end}"


def test_another_try_forgets_what_came_of_the_last(server: Server) -> None:
    """A note that is left would end the new turn at once."""
    server.node("n", "a", BAD, labels={TURN_LABEL: MISSING})
    server.annotate("n", reboot=f"job,boot-0,{ago(VERDICT)},done", reboots=str(ago(VERDICT)))
    one_round(server, lines({"a": 1}))
    assert not server.turns()
    one_round(server, lines({"a": 1}))
    assert server.turns() == {"n": MISSING} and server.note("n", "reboot") is None
    one_round(server, lines({"a": 1}))
    assert server.turns() == {"n": MISSING}


def test_an_operation_that_failed_ends_in_quarantine(server: Server) -> None:
    for name in ("failed", "other"):
        server.node(name, "a", BAD, labels={TURN_LABEL: MISSING})
        server.annotate(name, turns=str(ago(5)))
    server.operation("failed", "Failed", "r")
    # Somebody's own operation says nothing of the repair.
    server.operation("other", "Failed")
    one_round(server, lines({"a": 2}))
    assert server.turns() == {"other": MISSING}
    assert server.taints("failed") == dict.fromkeys((FAULTY_TAINT, QUARANTINED_TAINT), MISSING)


def test_a_fault_that_comes_again_and_again_ends_in_quarantine(server: Server) -> None:
    server.node("often", "a", BAD)
    server.node("seldom", "a", BAD)
    server.annotate("often", reboots=f"{ago(3000)},{ago(200)}")
    server.annotate("seldom", reboots=f"{ago(9000)},{ago(3700)},{ago(200)}")
    one_round(server, lines({"a": 2}))
    assert server.turns() == {"seldom": MISSING}
    assert QUARANTINED_TAINT in server.taints("often")


def test_a_person_lets_a_node_in_again(server: Server) -> None:
    text = lines({"a": 1})
    server.node("n", "a", BAD)
    server.node("next", "a", BAD)
    server.annotate("n", reboots=f"{ago(300)},{ago(200)}")
    one_round(server, text)
    # The budget is free for the next.
    assert server.turns() == {"next": MISSING}
    server.condition("n", **GOOD)
    one_round(server, text)
    # A fault that goes by itself lets nobody in.
    assert server.taints("n") == {QUARANTINED_TAINT: MISSING}
    server.patch("n", {"spec": {"taints": []}})
    server.condition("n", **BAD)
    server.condition("next", **GOOD)
    one_round(server, text)
    assert server.note("n", "quarantined") is None and server.note("n", "reboots") is None
    one_round(server, text)
    assert server.turns() == {"n": MISSING} and server.taints("n") == {FAULTY_TAINT: MISSING}


def test_what_the_site_mends_no_more_is_let_go(server: Server) -> None:
    server.node("n", "gone", BAD, labels={TURN_LABEL: MISSING})
    server.patch("n", {"spec": {"taints": [{"key": FAULTY_TAINT, "effect": "NoSchedule"}]}})
    one_round(server, lines({"a": 1}))
    assert not server.turns() and not server.taints("n")


def test_a_node_made_anew_by_a_rollout_starts_anew(server: Server) -> None:
    text = lines({"a": 1})
    server.node("n", "a", BAD)
    one_round(server, text)
    server.annotate("n", reboot=f"job,boot-0,{ago(5)},asked", reboots=str(ago(5)))
    server.operation("n", "Running", "r")
    server.client.delete("v1", "Node", "n")
    one_round(server, text)
    server.node("n", "a", {})
    server.node("next", "a", BAD)
    one_round(server, text)
    assert server.turns() == {"next": MISSING}
    assert not server.taints("n")


def test_nodes_that_are_deleted_are_left_alone(server: Server) -> None:
    server.node("n", "a", BAD)
    finalizers = {"metadata": {"finalizers": ["example.com/wait"]}}
    server.patch("n", finalizers)
    server.client.delete("v1", "Node", "n")
    try:
        assert one_round(server, lines({"a": 1})) == ""
        assert not server.turns() and not server.taints("n")
    finally:
        server.patch("n", {"metadata": {"finalizers": []}})
