"""Predictions on hosts and their machines hold for the real Metal3: CAPM3, IPAM and the Bare Metal
Operator with its webhook. One run, in about six minutes on two cores."""

from pathlib import Path
from typing import Any

import pytest

from components.effects.vocabulary import Action, Impact
from tests.real.live.experiment import Step
from tests.real.live.host_report import written
from tests.real.live.predictions import disagreements
from tests.real.live.run import from_json, observe_metal3
from tests.real.live.state import Edit
from tests.real.live.trials import ROLLED, STEPS, TRIALS, Trial, differences
from tests.real.live.verdict import contradictions, verdict

Json = dict[str, Any]
real = [pytest.mark.capi, pytest.mark.proof]


def step_name(step: Step) -> str:
    return step.experiment.name


@pytest.fixture(scope="module")
def result() -> Json:
    """What was seen in one run; skipped where it cannot be made."""
    found: Json = observe_metal3("tests.real.live.hosts")
    return found


class TestOnTheRealControllers:
    pytestmark = real

    @pytest.mark.parametrize("step", STEPS, ids=step_name)
    def test_rollouts_go_as_predicted_and_previewed(
        self, step: Step, result: Json, tmp_path: Path
    ) -> None:
        seen = from_json(result["rollouts"][step.experiment.name])
        assert disagreements(step.experiment.predicted, seen) == []
        assert seen.updated == step.experiment.in_place
        if step.experiment.in_files:
            assert list(contradictions(verdict(step.before, step.after, tmp_path), seen)) == []

    @pytest.mark.parametrize("number", range(len(TRIALS)), ids=[each.name for each in TRIALS])
    def test_a_host_and_its_machine_do_what_was_predicted(self, number: int, result: Json) -> None:
        assert differences(TRIALS[number], result["trials"][number]) == {}

    def test_hosts_keep_their_network_when_their_machines_are_replaced(self, result: Json) -> None:
        before, after = result["networks"]
        for host, was in before.items():
            now = after[host]
            assert (now["host"], now["data"]) == (was["host"], was["data"])
            assert now["machine"] != was["machine"]


# What needs no controllers

CHANGED = [each for each in TRIALS if each.cells]


@pytest.mark.parametrize("trial", CHANGED, ids=[each.name for each in CHANGED])
def test_the_preview_says_what_becomes_of_a_host(trial: Trial, tmp_path: Path) -> None:
    host = "surge-a-03" if trial.host == "surge:spare" else trial.host
    found = verdict(ROLLED, ROLLED.edited(Edit(changed={host: trial.cells})), tmp_path)
    effects = [each.effect for each in found.reasons if host in each.effect.hosts]
    assert {each.impact for each in effects} == {Impact.NONE}
    refused = [each for each in effects if each.action is Action.REFUSED]
    # No file says which hosts a person has detached: the preview calls their edits refused too.
    assert bool(refused) == (bool(trial.says) or "detached" in trial.trail)


def test_the_preview_says_that_a_machine_outlives_its_host(tmp_path: Path) -> None:
    host = "two-a-03"
    found = verdict(ROLLED, ROLLED.edited(Edit(removed=(host,))), tmp_path)
    (whole,) = (each.effect for each in found.reasons if each.effect.path == ())
    assert whole.impact is Impact.REMOVE and whole.hosts == (host,)
    assert "its Machine stays behind without a host, and counts" in whole.why


def test_the_page_has_every_trial() -> None:
    rows = [each.name for each in TRIALS] + [step_name(each) for each in STEPS]
    assert sorted(written()) == sorted(rows), "run python -m tests.real.live.host_report"
