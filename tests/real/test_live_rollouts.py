"""Foresite's predictions on machines hold for the real controllers of Cluster API.

The experiments run once, side by side where they do not meet, in about eight minutes on two cores.
"""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from components.effects.vocabulary import Impact
from schemas.reading.catalogue import load_release
from tests.real.live import in_place
from tests.real.live.experiment import Step
from tests.real.live.experiments import history, predicted
from tests.real.live.namespace import why_not
from tests.real.live.predictions import (
    Group,
    Hosts,
    Observation,
    Outcome,
    Prediction,
    disagreements,
)
from tests.real.live.report import PAGE, names
from tests.real.live.run import GROUPS, from_json, observe
from tests.real.live.state import start
from tests.real.live.verdict import contradictions, verdict
from tools.toolchain import ToolchainError, locate
from tools.toolchain.parts import in_groups

STEPS = [step for steps in history() for step in steps]
PROOF = pytest.mark.proof


def name(step: Step) -> str:
    return step.experiment.name


@pytest.fixture(scope="module")
def result() -> dict[str, Any]:
    """The results of all experiments, in one run."""
    if reason := why_not():
        pytest.skip(reason)
    try:
        locate(GROUPS)
    except ToolchainError as error:
        pytest.fail(str(error), pytrace=False)
    found: dict[str, Any] = observe()
    return found


@pytest.mark.capi
@PROOF
@pytest.mark.parametrize("step", STEPS, ids=name)
def test_the_controllers_do_what_was_predicted(step: Step, result: dict[str, Any]) -> None:
    seen = from_json(result["experiments"][name(step)])
    assert disagreements(predicted(step), seen) == []
    assert seen.updated == step.experiment.in_place


IN_FILES = [step for step in STEPS if step.experiment.in_files]


@pytest.mark.capi
@PROOF
@pytest.mark.parametrize("step", IN_FILES, ids=name)
def test_the_preview_says_what_the_controllers_do(
    step: Step, result: dict[str, Any], tmp_path: Path
) -> None:
    seen = from_json(result["experiments"][name(step)])
    assert list(contradictions(verdict(step.before, step.after, tmp_path), seen)) == []


@pytest.mark.capi
@PROOF
def test_no_machine_moves_that_no_experiment_is_about(result: dict[str, Any]) -> None:
    assert result["strays"] == []


@pytest.mark.capi
@PROOF
def test_labels_and_taints_reach_running_nodes_and_no_machine_is_replaced(tmp_path: Path) -> None:
    if reason := why_not():
        pytest.skip(reason)
    came, changed = observe("tests.real.live.in_place")
    for each, step in zip((came, changed), in_place.EXPERIMENTS, strict=True):
        assert disagreements(step.predicted, from_json(each["seen"])) == []
        assert each["kept"] and each["seen"]["updated"] == step.in_place
    for seen, label, taints in ((came, "a", ["example.com/a"]), (changed, "b", [])):
        assert sorted(map(str, seen["nodes"].values())) == sorted(
            map(str, [["c", []]] * 3 + [[label, taints]] * 8)
        )
    now = start(in_place.POOLS)
    after = now.edited(in_place.EXPERIMENTS[0].edit)
    assert list(contradictions(verdict(now, after, tmp_path), from_json(came["seen"]))) == []


# What needs no controllers


@pytest.mark.parametrize("step", STEPS, ids=name)
def test_check_says_of_each_change_what_the_experiment_says(step: Step, tmp_path: Path) -> None:
    found = {problem.code.value for problem in step.tried.load(tmp_path).problems}
    assert found == ({step.experiment.problem} if step.experiment.problem else set())
    assert not step.after.load(tmp_path).problems


def test_the_managers_are_those_of_the_release() -> None:
    release, problems = load_release(STEPS[0].before.site["release"])
    assert release and not problems
    for part in in_groups(["cluster-api"]):
        assert f"v{part.version}" == release.cluster_api.core


def test_the_page_has_every_experiment() -> None:
    written = names(PAGE.read_text("utf-8"))
    assert written == [name(step) for step in STEPS], "run python -m tests.real.live.report"
    assert len(set(written)) == len(written)


HOSTS = frozenset({"a", "b", "c"})
ROLLED = Prediction(
    Outcome.DONE, {"pool": Group(3, 3, 1, 2)}, {Impact.REIMAGE: Hosts(HOSTS)}, says="rolling"
)
SEEN = Observation(
    Outcome.DONE, {"pool": Group(3, 3, 1, 2)}, HOSTS, HOSTS, said=("it is rolling out",)
)


def test_what_was_predicted_is_no_disagreement() -> None:
    assert disagreements(ROLLED, SEEN) == []
    one = replace(ROLLED, hosts={Impact.REIMAGE: Hosts(HOSTS, at_most=2)})
    assert disagreements(one, replace(SEEN, wiped=HOSTS - {"a"}, installed=HOSTS - {"b"})) == []


@pytest.mark.parametrize(
    "seen",
    [
        replace(SEEN, outcome=Outcome.STUCK),
        replace(SEEN, groups={"pool": Group(3, 3, 2, 2)}),
        replace(SEEN, groups={"pool": Group(3, 3, 1, 1)}),
        replace(SEEN, groups={**SEEN.groups, "other": Group(0, 0, 0, 8)}),
        replace(SEEN, wiped=HOSTS - {"a"}),
        replace(SEEN, installed=HOSTS | {"d"}),
        replace(SEEN, refused=frozenset({"MachineDeployment/pool"})),
        replace(SEEN, said=()),
    ],
    ids=["outcome", "width", "left", "another group", "fewer", "more", "refused", "words"],
)
def test_what_was_not_predicted_is_a_disagreement(seen: Observation) -> None:
    assert disagreements(ROLLED, seen)


@pytest.mark.parametrize(("wiped", "installed"), [(HOSTS, HOSTS), ({"d"}, {"a"}), ({"a"}, {"d"})])
def test_a_limit_is_one_on_number_and_on_names(wiped: set[str], installed: set[str]) -> None:
    limited = replace(ROLLED, hosts={Impact.REIMAGE: Hosts(HOSTS, at_most=2)})
    seen = replace(SEEN, wiped=frozenset(wiped), installed=frozenset(installed))
    assert disagreements(limited, seen)
