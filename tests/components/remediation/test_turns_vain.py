"""Turns that come to nothing: no operation, a job that does not begin, faults that come and go; and
values by which those who write one object would tell of others."""

from typing import Any

import pytest

from components.making.faults import FAULTY_TAINT, QUARANTINED_TAINT, TURN_LABEL
from tests.kit.remediation_rounds import (
    ATTEMPTS,
    BAD,
    GOOD,
    MISSING,
    UNKNOWN,
    VERDICT,
    ago,
    lines,
    one_round,
)
from tests.kit.remediation_server import SECONDS, SPACE, Server

pytestmark = [pytest.mark.controlplane, pytest.mark.proof]
OURS, OWN = "r", None
"""Operations of a remediation, and of a person."""
FORGED = 'x\ty"\ncondition\tsound\t"AcceleratorMissing"\t"True"\n'
"""Whoever writes this on its own line makes a sound node faulty."""


def turning(server: Server, state: dict[str, str], since: int, **notes: str) -> None:
    """A node whose turn began so many seconds ago."""
    server.node("n", "a", state, labels={TURN_LABEL: MISSING})
    server.annotate("n", turns=str(ago(since)), **notes)


@pytest.mark.parametrize("state", [BAD, UNKNOWN])
@pytest.mark.parametrize(
    ("phase", "owner", "since", "stays"),
    [
        (None, OWN, VERDICT, False),
        (None, OWN, VERDICT - 100, True),
        # Ended, and a person's: no other one follows.
        ("Completed", OURS, VERDICT, False),
        # A drain takes as long as it takes.
        ("Draining", OURS, 100 * VERDICT, True),
        ("Pending", OURS, 100 * VERDICT, True),
    ],
)
def test_a_turn_without_an_operation_is_taken_back(
    server: Server, state: Any, phase: str | None, owner: str | None, since: int, stays: bool
) -> None:
    turning(server, state, since)
    server.node("next", "a", BAD)
    if phase:
        server.operation("n", phase, owner)
    one_round(server, lines({"a": 1}))
    assert ("n" in server.turns()) == stays
    assert server.note("n", "quarantined") is None
    one_round(server, lines({"a": 1}))
    assert len(server.turns()) == 1


@pytest.mark.parametrize("noted", [None, "x", "99999999999"])
def test_a_turn_whose_start_is_not_known_counts_from_now(server: Server, noted: str | None) -> None:
    server.node("n", "a", BAD, labels={TURN_LABEL: MISSING})
    if noted:
        server.annotate("n", turns=noted)
    one_round(server, lines({"a": 1}))
    assert server.turns() == {"n": MISSING}
    assert abs(int((server.note("n", "turns") or "").split(",")[-1]) - ago(0)) < SECONDS


@pytest.mark.parametrize("phase", ["JobCreating", "Running"])
@pytest.mark.parametrize(
    ("operation", "since", "ends"),
    [
        ("r-n-operation", 2 * VERDICT, True),
        ("r-n-operation", 2 * VERDICT - 100, False),
        ("an-earlier-one", 2 * VERDICT, False),
    ],
)
def test_a_job_that_does_not_begin_ends_in_quarantine(
    server: Server, phase: str, operation: str, since: int, ends: bool
) -> None:
    """As its pod finds no place, or its image is gone. Counted from when the job is there."""
    turning(server, BAD, 100 * VERDICT, job=f"{operation},{ago(since)}")
    server.operation("n", phase, OURS)
    one_round(server, lines({"a": 1}))
    assert (QUARANTINED_TAINT in server.taints("n")) == ends
    assert bool(server.turns()) != ends
    if ends:
        assert "its job does not begin" in (server.note("n", "quarantined") or "")


def test_the_time_of_a_job_counts_from_when_it_is_seen(server: Server) -> None:
    turning(server, BAD, 100 * VERDICT)
    server.operation("n", "Running", OURS)
    one_round(server, lines({"a": 1}))
    name, _, seconds = (server.note("n", "job") or "").partition(",")
    assert name == "r-n-operation" and abs(int(seconds) - ago(0)) < SECONDS
    assert one_round(server, lines({"a": 1})) == ""


def test_a_fault_that_comes_and_goes_drains_no_node_without_end(server: Server) -> None:
    """No reboot is asked for, as the fault is gone before."""
    text = lines({"a": 1})
    server.node("n", "a", GOOD)
    for _ in range(2 * ATTEMPTS):
        server.condition("n", **BAD)
        one_round(server, text)
        assert server.turns() == {"n": MISSING}
        server.condition("n", **GOOD)
        one_round(server, text)
        assert not server.turns()
    server.condition("n", **BAD)
    one_round(server, text)
    assert not server.turns()
    assert server.taints("n") == dict.fromkeys((FAULTY_TAINT, QUARANTINED_TAINT), MISSING)
    assert f"{2 * ATTEMPTS} slots" in (server.note("n", "quarantined") or "")
    server.patch("n", {"spec": {"taints": []}})
    one_round(server, text)
    assert server.note("n", "turns") is None
    one_round(server, text)
    assert server.turns() == {"n": MISSING}


def test_turns_of_long_ago_do_not_count(server: Server) -> None:
    server.node("n", "a", BAD)
    server.annotate("n", turns=",".join(str(ago(3700 + each)) for each in range(9)))
    one_round(server, lines({"a": 1}))
    assert server.turns() == {"n": MISSING}
    assert (server.note("n", "turns") or "").count(",") == 0


@pytest.mark.parametrize("place", ["condition", "phase of a pod", "owner", "operation"])
def test_nobody_tells_of_other_nodes_in_a_value_of_their_own(server: Server, place: str) -> None:
    server.node("sound", "a", GOOD)
    for name in ("bad", "worse"):
        server.node(name, "a", BAD)
    if place == "condition":
        server.condition("bad", KernelDeadlock=FORGED)
    elif place == "operation":
        server.operation("bad", FORGED)
    elif place == "owner":
        owner = {"apiVersion": "v1", "kind": FORGED, "name": "o", "uid": "u"}
        server.pod("p", "bad", ownerReferences=[owner])
    else:
        server.pod("p", "bad")
        path = f"/api/v1/namespaces/{SPACE}/pods/p/status"
        kind = "application/merge-patch+json"
        server.client.request("PATCH", path, {"status": {"phase": FORGED}}, kind)
    one_round(server, lines({"a": 1}))
    assert server.taints("bad") and not server.taints("sound")
