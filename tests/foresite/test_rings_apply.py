"""``foresite apply`` goes ring by ring: what is waited for, what stops it, and how it goes on. The
engine and the clusters are played; tests/real/test_live_rings.py has the real ones."""

import argparse
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from unittest.mock import Mock

import pytest

from foresite.command import UsageError
from foresite.commands import apply, up
from foresite.delivery.rings import steps as steps_module
from foresite.delivery.rings.health import Health, Verdict
from foresite.delivery.rings.steps import State, Step, plan
from foresite.delivery.stack.applied import Standing, changed_since
from foresite.delivery.stack.engine import PASSED, UNDER_WAY, Record
from schemas.facts.site import Site
from schemas.model.fleet import Rings
from schemas.model.maintenance import Maintenance
from schemas.model.site_file import Decommission
from tests.kit.repository import all_sites

HEAD, OLDER, EARLIER = "a" * 40, "b" * 40, "c" * 40
OPTIONS = argparse.Namespace(format="json", root=None, trial=False, no_wait=False, minutes=None,
                             sites=[], plan=False)  # fmt: skip
FROZEN = Maintenance.model_validate(
    {"time_zone": "Asia/Tokyo", "freezes": [{"first_day": "2020-01-01", "last_day": "2099-01-01",
                                             "reason": "it is kept as it is"}]}
)  # fmt: skip


def site(name: str, **fields: Any) -> Site:
    lab = all_sites()["lab-1"]
    return replace(lab, file=lab.file.model_copy(update={"site": name, **fields}))


class Engine:
    """A stack that remembers its tags, and to which a commit was applied."""

    stack, kubectl, environment = "lab-1", None, {"PATH": ""}

    def __init__(self, applied: str = HEAD) -> None:
        self.noted: dict[str, str] = {}
        self.records = [
            Record("update", "succeeded", f"foresite {applied}", "2026-11-29T01:00:00Z")
        ]

    def mark(self, commit: str, tag: str) -> None:
        self.noted[tag] = commit

    def tags(self) -> dict[str, str]:
        return self.noted

    def history(self, _: int) -> list[Record]:
        return self.records

    def last_record(self) -> Record | None:
        return next(iter(self.records), None)


def step(name: str, state: State = State.DUE, **fields: Any) -> Step:
    engine: Any = Engine(HEAD if state is State.APPLIED else OLDER)
    due = "its data changed" if state is State.DUE else ""
    return Step(site(name, **fields), engine, Standing(OLDER, due), state)


# --- what is due, and what is waited for again ----------------------------------------------------


Due = dict[str, str]
"""Why sites are due, by name."""


def planned(
    monkeypatch: pytest.MonkeyPatch, sites: list[Site], due: Due, passed: str, **how: bool
) -> list[Step]:
    """What a run begins with, where OLDER was applied to all."""
    record = Record("update", "succeeded", f"foresite {OLDER}", "2026-11-29T01:00:00.000Z", passed)
    monkeypatch.setattr(steps_module, "engine_for", lambda *_, **__: Engine())
    monkeypatch.setattr(steps_module, "last_record", lambda _: (record, ""))
    commits: Any = SimpleNamespace(standing=lambda name, *_: Standing(OLDER, due.get(name, "")))
    return plan(Path(), sites, commits, trial=False, all_due=False, **how)


@pytest.mark.parametrize(
    ("due", "passed", "fields", "waits", "state"),
    [
        ("its data changed", "", {}, True, State.DUE),
        ("its data changed", OLDER, {}, True, State.DUE),
        ("", OLDER, {}, True, State.SAME),
        ("", EARLIER, {}, True, State.WAITING),  # it was applied, and its ring was not passed
        ("", "", {}, True, State.WAITING),
        ("", "", {}, False, State.SAME),
        ("", "", {"held": True}, True, State.SAME),
        ("", "", {"decommission": Decommission(reason="the lease ends")}, True, State.SAME),
        ("its data changed", "", {"maintenance": FROZEN}, True, State.NOT_NOW),
        ("", "", {"maintenance": FROZEN}, True, State.WAITING),
    ],
)
def test_the_state_that_a_run_begins_with(
    due: str, passed: str, fields: Any, waits: bool, state: State, monkeypatch: pytest.MonkeyPatch
) -> None:
    (found,) = planned(monkeypatch, [site("lab-1", **fields)], {"lab-1": due}, passed, waits=waits)
    assert (found.state, found.standing.due) == (state, due)
    assert state is not State.WAITING or found.since == 1795914000.0
    assert state is not State.NOT_NOW or "frozen (it is kept as it is), until 2099" in str(found)


def test_the_ring_before_the_first_that_is_due_is_looked_at_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Its sites may have failed since they passed."""
    sites = [site("a", ring=0), site("b", ring=1), site("c", ring=1, held=True),
             site("c2", ring=2, held=True), site("d", ring=3), site("e", ring=3)]  # fmt: skip
    letters = {State.SAME: "-", State.WAITING: "w", State.DUE: "d"}
    due = {"d": "its data changed"}
    for new, waits, states in ((due, True, "-w--d-"), (due, False, "----d-"), ({}, True, "------")):
        found = planned(monkeypatch, sites, new, OLDER, waits=waits)
        assert "".join(letters[each.state] for each in found) == states


# --- ring by ring ---------------------------------------------------------------------------------

Wait = Callable[[list[Step]], list[Step]]


def run(
    steps: list[Step], bad: tuple[str, ...] = (), wait: Wait = list
) -> tuple[list[str], list[str]]:
    """The sites that were applied, in that order, and how all stand in the end."""
    applied: list[str] = []

    def one(each: Step) -> Step:
        applied.append(each.site.name)
        return each._replace(state=State.FAILED if each.site.name in bad else State.APPLIED)

    done = apply._apply(OPTIONS, steps, one, wait)
    return applied, [each.state.value for each in done]


def passing(*names: str) -> Wait:
    """A wait that these sites do not pass."""

    def wait(ring: list[Step]) -> list[Step]:
        return [
            each._replace(state=State.FAILED if each.site.name in names else State.PASSED)
            if each.holds and each.state in (State.APPLIED, State.WAITING)
            else each
            for each in ring
        ]

    return wait


def test_the_next_ring_begins_when_this_one_is_passed() -> None:
    steps = [step("a", ring=0), step("b", ring=1), step("c", ring=1), step("d", ring=2)]
    assert run(steps, wait=passing()) == (["a", "b", "c", "d"], ["healthy"] * 4)
    assert run(steps, wait=passing("b")) == (
        ["a", "b", "c"], ["healthy", "failed", "healthy", "not reached"])  # fmt: skip
    assert run(steps, bad=("b",), wait=passing()) == (
        ["a", "b"], ["healthy", "failed", "not reached", "not reached"])  # fmt: skip


def test_a_ring_that_passed_is_not_begun_again_and_one_that_did_not_is_waited_for() -> None:
    steps = [step("a", State.SAME, ring=0), step("b", State.WAITING, ring=1), step("c", ring=2)]
    assert run(steps, wait=passing()) == (["c"], ["up to date", "healthy", "healthy"])
    assert run(steps, wait=passing("b")) == ([], ["up to date", "failed", "not reached"])
    for wait in (list, Mock(side_effect=UsageError)):
        assert run(steps, wait=wait) == ([], ["up to date", "waiting", "not reached"])


def test_a_site_that_is_closed_holds_later_rings_and_its_own_ring_goes_on() -> None:
    steps = [step("a", maintenance=FROZEN, ring=0), step("b", ring=0), step("c", ring=1)]
    assert run(steps, wait=passing()) == (["b"], ["not now", "healthy", "not reached"])


def test_a_site_that_is_held_or_ends_holds_no_ring() -> None:
    ends = Decommission(reason="the lease ends")
    for fields, bad in (({"held": True}, ("a",)), ({"held": True, "maintenance": FROZEN}, ())):
        steps = [step("a", ring=0, **fields), step("b", ring=1)]
        assert run(steps, bad, passing())[1][1] == "healthy"
    assert run([step("a", ring=0, decommission=ends)], wait=passing()) == (["a"], ["applied"])


# --- waiting --------------------------------------------------------------------------------------


def waiting(verdict: Verdict) -> Callable[..., Verdict]:
    """A wait that ends so for all sites."""

    def wait(sites: Any, *_: Any) -> Verdict:
        for each in sites:
            each.health = Health(verdict, "why", 1, 3)
        return verdict

    return wait


@pytest.mark.parametrize(
    ("verdict", "state", "tag"),
    [
        (Verdict.HEALTHY, State.PASSED, {PASSED: HEAD}),
        (Verdict.WAITING, State.WAITING, {}),
        (Verdict.FAILED, State.FAILED, {}),
    ],
)
def test_what_passed_is_noted_on_its_stack(
    verdict: Verdict, state: State, tag: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(apply, "wait", waiting(verdict))
    ring = [step("a", State.APPLIED), step("b", State.WAITING), step("c", State.APPLIED, held=True)]
    found = apply._wait(OPTIONS, Rings(), 0.0, HEAD, ring)
    assert [each.state for each in found] == [state, state, State.APPLIED]
    # What was applied by a run before is noted with the commit of that.
    noted = [tag, dict.fromkeys(tag, OLDER), {}]
    assert [each.engine.tags() for each in found] == noted
    assert apply._wait(OPTIONS, Rings(), 0.0, HEAD, ring[2:]) == ring[2:]


@pytest.mark.parametrize("state", [State.APPLIED, State.WAITING])
@pytest.mark.parametrize(
    ("records", "under_way", "words"),
    [
        ([Record("update", "succeeded", f"foresite {EARLIER}")], "", f"foresite {EARLIER}"),
        ([Record("update", "failed", f"foresite {HEAD}")], "", "update failed"),
        ([Record("destroy", "succeeded", "")], "", "destroy succeeded"),
        ([], "", "no history"),
        (None, EARLIER, f"foresite {EARLIER}"),
    ],
)
def test_no_ring_passes_on_what_another_run_applied(
    state: State, records: list[Record] | None, under_way: str, words: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    monkeypatch.setattr(apply, "wait", waiting(Verdict.HEALTHY))
    each, other = step("a", state), step("b", State.APPLIED)
    engine: Any = each.engine
    engine.records = engine.records if records is None else records
    engine.noted = {UNDER_WAY: under_way} if under_way else {}
    found, waits = apply._wait(OPTIONS, Rings(), 0.0, HEAD, [each, other])
    assert (found.state, PASSED in engine.noted) == (State.FAILED, False)
    # A ring passes as a whole: no other site of it is noted either.
    assert (waits.state, other.engine.tags()) == (State.WAITING, {})
    # Its machines may be well, and are of another revision: nobody is told to look at them.
    assert (found.machines, waits.machines) == ((0, 0), (1, 3))
    assert f"another run has worked on it meanwhile ({words}" in found.why.replace(
        "update succeeded ", "")  # fmt: skip


def test_alerts_count_from_the_first_update_after_what_passed() -> None:
    """Also those of an update that failed, was killed and done again, or was a commit before."""
    engine: Any = Engine()
    lines = (HEAD, "succeeded"), (HEAD, "failed"), (OLDER, "succeeded"), (EARLIER, "succeeded")
    engine.records = [
        Record("update", result, f"foresite {commit}", f"1970-01-01T00:00:{50 - n}Z")
        for n, (commit, result) in enumerate(lines)
    ]
    for passed, began in ((EARLIER, 48), (OLDER, 49), (HEAD, 50), ("", 0), ("d" * 40, 0)):
        engine.noted = {PASSED: passed} if passed else {}
        assert changed_since(engine) == began


@pytest.mark.parametrize(
    ("state", "code", "words"),
    [
        (State.PASSED, 0, ""),
        (State.WAITING, 3, "\ncontinue with: foresite apply --minutes=340"),
        (State.NOT_NOW, 3, "\ncontinue with: foresite apply --minutes=340"),
        (State.FAILED, 1, "held: true in sites/lab-1.yaml"),
        (State.FAILED, 1, "correct the problems above, then continue with: foresite apply"),
    ],
)
def test_the_report_says_how_to_go_on(
    state: State, code: int, words: str, capsys: pytest.CaptureFixture[str]
) -> None:
    options = argparse.Namespace(**{**vars(OPTIONS), "format": "text", "minutes": 340})
    each = step("lab-1", state)._replace(why="1 of 3 machines", machines=(1, 3))
    assert apply._report(options, HEAD, [each], []) == code
    assert words in capsys.readouterr().out


def test_up_changes_nothing_in_a_freeze_unless_it_is_told_to(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def select(_: Any) -> None:
        raise UsageError("it goes on")

    monkeypatch.setattr(up, "select", select)
    engine: Any = Engine()
    for given, words in ((False, "nothing was changed: frozen (it is kept"), (True, "it goes on")):
        options = argparse.Namespace(outside_maintenance=given)
        with pytest.raises(UsageError) as refused:
            up._up(options, engine, site("lab-1", maintenance=FROZEN), {})
        assert words in str(refused.value)
