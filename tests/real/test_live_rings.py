"""``foresite apply`` waits for real controllers: a bad image stops at the first ring, and once it
is put right the same command goes on; and no status that is stale passes."""

from typing import Any

import pytest

from tests.real.live.namespace import why_not
from tests.real.live.rings import SITES
from tests.real.live.run import GROUPS, observe
from tools.toolchain import ToolchainError, locate

PROOF = pytest.mark.proof


def run(module: str, *arguments: str) -> Any:
    """What a module saw; the test is skipped, with the reason, where it cannot run."""
    if reason := why_not():
        pytest.skip(reason)
    try:
        locate((*GROUPS, "pulumi"))
    except ToolchainError as error:
        pytest.skip(str(error))
    return observe(module, *arguments)


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
