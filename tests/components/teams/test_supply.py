"""Accelerators guaranteed to teams exist: the rule's arithmetic against plans of real rollouts."""

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from components.effects.vocabulary import Effect, Impact, PoolPlan, SiteChange
from components.machines.fleet import side_of
from components.machines.names import COMPONENT
from components.machines.objects import objects
from components.machines.rollout import plans
from components.making.manifest import Manifest
from schemas.facts.quotas import machines_out, supply
from schemas.facts.site import Site
from schemas.model.accelerators import AcceleratorSettings
from schemas.model.codes import Code
from schemas.model.site_file import Rollout
from schemas.model.vocabulary import RolloutStrategy
from schemas.rules.finding import Finding
from tests.golden import every_site, with_file, with_pool
from tests.kit.teams_site import LANGUAGE, VISION, A, V, findings, site


def plans_of(made: Site) -> list[PoolPlan]:
    """The plans of all rollouts when every machine of a site gets another template at once.

    Where a person deletes the machines there is no rollout, and so no plan.
    """
    names = {(COMPONENT, each.name): each for each in objects(made)}
    side = side_of(made, names)
    replaced = [
        Effect(Impact.REIMAGE, name, (), "", "")
        for name, each in names.items()
        if each.kind == "KubeadmControlPlane" or _rolls(each)
    ]
    return list(plans(SiteChange(made.name, side, side, {}), replaced))


def _rolls(manifest: Manifest) -> bool:
    if manifest.kind != "MachineDeployment":
        return False
    strategy = manifest.body["spec"]["rollout"]["strategy"]["type"]
    return bool(strategy != RolloutStrategy.ON_DELETE)


def out_by_plan(made: Site) -> dict[str, int]:
    """Accelerators of each model of a site that the plans take out."""
    totals = dict.fromkeys(made.models(), 0)
    for plan in plans_of(made):
        if plan.out.model in totals:
            totals[plan.out.model] += plan.out.accelerators_out
    return totals


@pytest.mark.parametrize("name", sorted(every_site()))
def test_what_is_out_is_what_the_plan_takes_out(name: str) -> None:
    made = with_file(every_site()[name], accelerators=AcceleratorSettings(prefix="a.example"))
    assert {model: supply(made, model).out for model in made.models()} == out_by_plan(made)


@settings(max_examples=40)
@given(
    pool=st.sampled_from(["v100", "a100", "h100"]),
    spares=st.integers(0, 12),
    max_unavailable=st.integers(0, 25),
    max_surge=st.integers(0, 6),
    by_zone=st.booleans(),
    strategy=st.sampled_from(RolloutStrategy),
)
def test_what_is_out_is_what_the_plan_takes_out_whatever_the_settings(
    pool: str, spares: int, strategy: RolloutStrategy, **rollout: Any
) -> None:
    made = with_pool(site(), pool, spares=spares, rollout=Rollout(strategy=strategy, **rollout))
    assert {model: supply(made, model).out for model in made.models()} == out_by_plan(made)


@pytest.mark.parametrize(
    ("spares", "out"),
    [
        # Without a spare a machine goes before another comes; with one the new one comes first.
        (0, 1),
        (1, 0),
    ],
)
def test_a_control_plane_loses_one_machine_at_most(spares: int, out: int) -> None:
    made = with_pool(site(), "control", spares=spares)
    assert machines_out(made, made.control_plane) == out
    (control,) = [each for each in plans_of(made) if each.pool == "control"]
    assert control.out.hosts_out == out


def test_spares_are_no_supply() -> None:
    # 120 hosts with 8 each, two of them spare; four machines out at a time
    assert supply(site(), V) == (944, 32)
    # 80 hosts, none spare; one out in each of four zones
    assert supply(site(), A) == (640, 32)


def teams(vision: int, language: int = 0) -> list[dict[str, Any]]:
    """Two teams with promises of v100 and nothing else."""
    return [
        {**VISION, "accelerators": {V: vision}, "off_peak": {}},
        {**LANGUAGE, "accelerators": {V: language} if language else {}},
    ]


def judged(percent: int | None = None, **promises: int) -> list[Finding]:
    overcommit = {} if percent is None else {"overcommit_percent": {V: percent}}
    return findings(site(teams=teams(**promises), off_peak=None, **overcommit))


@pytest.mark.parametrize("promises", [{"vision": 912}, {"vision": 500, "language": 412}])
def test_promises_that_hold_in_a_rollout_are_fine(promises: dict[str, int]) -> None:
    assert judged(**promises) == []


@pytest.mark.parametrize(
    ("promises", "team"),
    [
        ({"vision": 913}, 0),
        ({"vision": 413, "language": 500}, 1),
        ({"vision": 913, "language": 1}, 0),
    ],
)
def test_a_promise_too_many_is_told_at_the_largest_with_all_others(
    promises: dict[str, int], team: int
) -> None:
    (found,) = judged(**promises)
    total = sum(promises.values())
    assert found.code is Code("overcommitted")
    assert found.place == ("scheduling", "teams", team, "accelerators", V)
    assert len(found.also) == len(promises), "the others, and overcommit_percent"
    assert all(word in found.message for word in (str(total), "944", "32", V))
    assert f"guarantee {total - 912} less" in found.fix


@pytest.mark.parametrize(
    ("percent", "vision", "codes"),
    [
        # 110 % of 944 are 1038
        (110, 1038, []),
        (110, 1039, [Code("overcommitted")]),
        (101, 944, []),
        (101, 913, []),
        (101, 912, [Code("scheduler-meaningless")]),
        (1000, 100, [Code("scheduler-meaningless")]),
    ],
)
def test_promises_may_go_beyond_where_that_is_said(
    percent: int, vision: int, codes: list[Code]
) -> None:
    assert [each.code for each in judged(percent, vision=vision)] == codes


@settings(max_examples=12)
@given(total=st.integers(913, 9440))
def test_the_percentage_that_the_fix_names_is_enough_and_the_least(total: int) -> None:
    (found,) = judged(vision=total)
    percent = int(found.fix.split(" to ")[1].split()[0])
    assert judged(percent, vision=total) == []
    if percent > 101:
        assert [each.code for each in judged(percent - 1, vision=total)] == [Code("overcommitted")]


def test_more_than_ten_times_as_much_can_only_be_lowered() -> None:
    (found,) = judged(vision=9441)
    assert "overcommit" not in found.fix
