"""Rings wait under the real Flux, with the real controllers of Cluster API, and Flux deletes
nothing. One run, in six to eleven minutes on two cores that are busy."""

from functools import partial
from typing import Any

import pytest

from tests.real.live.flux import GROUPS
from tests.real.live.flux_fleet import SOAK_SECONDS
from tests.real.live.run import observe_with
from tools.toolchain import ensure

pytestmark = [pytest.mark.capi, pytest.mark.proof]
Json = dict[str, Any]
PASSED = ("first", "good", "bad")


@pytest.fixture(scope="module")
def seen() -> Json:
    found: Json = observe_with(partial(ensure, GROUPS), "tests.real.live.flux")
    return found


@pytest.mark.parametrize("step", PASSED)
def test_each_ring_waits_for_the_one_before_and_passes_with_its_machines(
    step: str, seen: Json
) -> None:
    assert seen[step]["first"]
    assert [(each["waited"], each["fit"]) for each in seen[step]["rings"]] == [(True, True)] * 3


def test_a_ring_soaks(seen: Json) -> None:
    assert all(each["soaked"] >= SOAK_SECONDS for each in seen["good"]["rings"])


def test_a_ring_that_fails_leaves_the_others_alone_and_a_fix_goes_on(seen: Json) -> None:
    found = seen["bad"]
    assert (found["others"], found["same"], found["passed"]) == (True, True, False)
    assert found["rolls"]  # which holds the others


def test_a_commit_in_the_middle_takes_the_place_of_the_one_before(seen: Json) -> None:
    assert seen["good"]["others"]


def test_files_that_go_delete_nothing(seen: Json) -> None:
    assert seen["removed"] == {"same": True, "there": True}


def test_what_is_changed_by_hand_is_put_right_but_for_the_providers_fields(seen: Json) -> None:
    assert seen["drift"] == {"online": False}


def test_without_flux_all_stays(seen: Json) -> None:
    assert seen["deleted"]["same"] and seen["deleted"]["objects"] > 30
