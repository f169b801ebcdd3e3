"""The golden files of Cluster API's rollout planner are read as numbers that make sense."""

import pytest

from schemas.facts.rollout import waves
from tests.real.live.golden import Rollout, Step, rollouts

pytestmark = pytest.mark.go


@pytest.fixture(scope="module")
def every() -> list[Rollout]:
    return rollouts()


def test_every_file_ends_with_all_machines_new_and_available(every: list[Rollout]) -> None:
    assert len({each.name for each in every}) == len(every) > 30
    for each in every:
        first = each.steps[0]
        wanted = int(each.besides.rpartition(" ")[2]) if "scale" in each.besides else each.replicas
        assert first.total == first.available > 0, each.name
        assert each.steps[-1] == Step(0, wanted, wanted, wanted), each.name


def test_a_regular_rollout_keeps_its_own_limits(every: list[Rollout]) -> None:
    plain = [each for each in every if not each.in_place and not each.besides]
    assert {(each.replicas, each.max_surge, each.max_unavailable) for each in plain} == {
        (3, 0, 1), (3, 1, 0), (6, 0, 10), (6, 1, 3), (6, 3, 1), (6, 10, 0),
    }  # fmt: skip
    for each in plain:
        assert each.replicas <= each.most <= each.replicas + each.max_surge, each.name
        # A planner that is never allowed to take one away would leave all of them there.
        lost = min(each.replicas, each.max_unavailable)
        assert each.replicas - lost <= each.fewest <= each.replicas - bool(lost), each.name


def test_our_plan_of_a_rollout_has_the_planners_numbers(every: list[Rollout]) -> None:
    for each in every:
        if each.in_place or each.besides:
            continue
        # The simulated machines need no host, so a surge never lacks a spare.
        ours = waves(each.replicas, each.max_unavailable, each.max_surge, each.max_surge)
        assert not ours.stuck
        assert each.fewest == each.replicas - ours.out, each.name
        assert each.most <= each.replicas + ours.at_once - ours.out, each.name


def test_a_rollout_without_surge_replaces_one_after_the_other(every: list[Rollout]) -> None:
    name = "regular rollout, 3 replicas, maxsurge 0, maxunavailable 1"
    (found,) = [each for each in every if each.name == name]
    # One goes, one comes, three times: read from the file by hand.
    assert found.steps == (
        Step(2, 0, 3, 3), Step(2, 1, 2, 2), Step(1, 1, 3, 3), Step(1, 2, 2, 2), Step(0, 2, 3, 3),
        Step(0, 3, 2, 2), Step(0, 3, 3, 3),
    )  # fmt: skip
    assert (found.most, found.fewest) == (3, 2)
