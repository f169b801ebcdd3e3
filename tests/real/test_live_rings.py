"""``foresite apply`` waits for real controllers: a bad image stops at the first ring, and once it
is put right the same command goes on; and no status that is stale passes."""

from functools import partial

import pytest

from tests.real.live.rings import SITES
from tests.real.live.run import GROUPS, observe_with
from tools.toolchain import locate

PROOF = pytest.mark.proof


run = partial(observe_with, partial(locate, (*GROUPS, "pulumi")))


@pytest.mark.capi
@pytest.mark.pulumi
@PROOF
def test_a_bad_image_stays_in_its_ring_and_a_good_one_passes_all_in_order() -> None:
    made, bad, mended = run("tests.real.live.rings")
    for each, states in (
        (made, ["healthy"] * 3),
        (bad, ["failed", "not reached", "not reached"]),
        (mended, ["healthy"] * 3),
    ):
        assert [site["state"] for site in each["report"]["sites"]] == states
        assert each["report"]["code"] == (each is bad)
        # Each site began when the machines of the one before were new and available.
        assert all(each["begun"].values())
    assert bad["report"]["sites"][0]["why"].startswith("late: MachineDeployment one: ")
    # Later rings are untouched; and the same command applies the first site not once more.
    assert made["touched"] == list(SITES)
    assert bad["touched"] == [SITES[0]]
    assert mended["touched"] == [*SITES[1:]]


@pytest.mark.capi
@PROOF
def test_no_gate_passes_on_a_status_of_before() -> None:
    for each in run("tests.real.live.stale", "free", "3"):
        assert each["early"] == []
        assert each["passed"]
