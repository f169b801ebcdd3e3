"""The arithmetic of a rollout, against a simulation of what Cluster API does step by step."""

import re
from dataclasses import dataclass
from math import ceil
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from preview.report.findings import findings
from preview.report.hours import duration, shared_hours
from preview.report.phrase import plain
from preview.result import Preview, SitePreview
from schemas.facts.rollout import waves
from tests.kit.preview_repository import Repository

TOKYO = "sites/tokyo-1.yaml"


@dataclass
class Pool:
    """A MachineDeployment in the middle of a rollout; a Machine without a host waits for one."""

    replicas: int
    max_unavailable: int
    max_surge: int
    hosts: int
    old: int = 0
    installing: int = 0
    new: int = 0
    waiting: int = 0
    fewest: int = 0
    most_at_once: int = 0

    def __post_init__(self) -> None:
        self.old = self.fewest = self.replicas

    @property
    def available(self) -> int:
        return self.old + self.new

    def step(self) -> bool:
        """Reconcile, let waiting Machines take free hosts, and finish what installs.

        Cluster API 1.13, machinedeployment_rollout_rollingupdate.go: new Machines up to
        replicas + maxSurge in all, old ones deleted down to replicas - maxUnavailable available.
        """
        before = (self.old, self.new, self.installing, self.waiting)
        machines = self.old + self.new + self.installing + self.waiting
        wanted = self.replicas - self.new - self.installing - self.waiting
        self.waiting += max(0, min(wanted, self.replicas + self.max_surge - machines))
        deletable = self.available - (self.replicas - self.max_unavailable)
        self.old -= max(0, min(self.old, deletable))
        machines = self.old + self.new + self.installing + self.waiting
        wanted = self.replicas - self.new - self.installing - self.waiting
        self.waiting += max(0, min(wanted, self.replicas + self.max_surge - machines))
        free = self.hosts - self.old - self.new - self.installing
        taken = min(free, self.waiting)
        self.waiting, self.installing = self.waiting - taken, self.installing + taken
        self.fewest = min(self.fewest, self.available)
        self.most_at_once = max(self.most_at_once, self.installing)
        moved = before != (self.old, self.new, self.installing, self.waiting)
        self.new, self.installing = self.new + self.installing, 0
        return moved


@given(
    replicas=st.integers(1, 60),
    max_unavailable=st.integers(0, 20),
    max_surge=st.integers(0, 8),
    spares=st.integers(0, 8),
)
def test_the_plan_is_what_the_steps_come_to(
    replicas: int, max_unavailable: int, max_surge: int, spares: int
) -> None:
    plan = waves(replicas, max_unavailable, max_surge, spares)
    pool = Pool(replicas, max_unavailable, max_surge, replicas + spares)
    steps = 0
    while (pool.new < replicas or pool.old) and pool.step():
        steps += 1
    done = pool.new == replicas and not pool.old
    assert done == (not plan.stuck)
    if done:
        assert pool.fewest == replicas - plan.out
        assert pool.most_at_once <= plan.at_once
        assert plan.groups == ceil(replicas / plan.at_once)
        assert steps in (plan.groups, plan.groups + 1)


@pytest.mark.parametrize(
    ("settings", "at_once", "groups", "stuck"),
    [
        # facts of the real controllers: 8 machines, surge and unavailable, spare hosts
        ((8, 1, 0, 0), 1, 8, False),
        ((8, 2, 0, 0), 2, 4, False),
        ((8, 0, 1, 0), 0, 0, True),
        ((8, 0, 1, 1), 1, 8, False),
        ((8, 0, 0, 4), 0, 0, True),
        ((3, 5, 0, 0), 3, 1, False),
    ],
)
def test_known_rollouts(
    settings: tuple[int, int, int, int], at_once: int, groups: int, stuck: bool
) -> None:
    plan = waves(*settings)
    assert (plan.at_once, plan.groups, bool(plan.stuck)) == (at_once, groups, stuck)


@pytest.fixture
def upgraded(tmp_path: Path) -> SitePreview:
    """The effect of a patch upgrade of everything on tokyo-1."""
    repository = Repository(tmp_path)
    repository.replace(TOKYO, "kubernetes: v1.34.3", "kubernetes: v1.34.8")
    return repository.site("tokyo-1")


def test_hours_follow_from_the_profile_and_the_waves(upgraded: SitePreview) -> None:
    plans = {(plan.pool, plan.zone): plan for plan in upgraded.plans}
    v100 = plans["v100", ""]
    # 120 hosts, two of them spares; four out and two by surge at a time; 35 minutes each
    assert (v100.machines, v100.at_once, v100.surge, v100.waves) == (118, 6, 2, 20)
    assert v100.hours == pytest.approx(20 * 35 / 60)
    assert v100.out == ("v100-sxm2-32gb", 118, 944, 4, 32)
    assert plans["control", ""].at_once == 1
    assert {zone for pool, zone in plans if pool == "a100"} == {"a", "b", "c", "d"}


def test_what_is_out_at_worst_adds_up_over_pools_and_zones(upgraded: SitePreview) -> None:
    ledgers = {ledger.model: ledger for ledger in upgraded.capacity}
    assert sum(ledger.hosts for ledger in ledgers.values()) == 398, "two spares are no machines"
    assert ledgers["a100-sxm4-80gb"][1:] == (80, 640, 4, 32), "one host in each of four zones"
    assert ledgers[""].hosts_out == 11, "ten of cpu, one of the control plane"


LIMIT = "the Bare Metal Operator provisions 20 hosts at a time"


def renamed(tmp_path: Path, *names: str) -> Preview:
    """The effect of other names for pools of tokyo-1 in its file and its host list."""
    repository = Repository(tmp_path)
    for name in names:
        for file in (TOKYO, "sites/tokyo-1.hosts.csv"):
            text = re.sub(rf"\b{name}\b(?!-)", f"{name}x", repository.text(file))
            repository.write(file, text)
    return repository.preview()


def test_a_pool_at_once_is_installed_at_the_pace_of_the_operator(tmp_path: Path) -> None:
    (site,) = renamed(tmp_path, "v100").sites
    (plan,) = site.plans
    assert (plan.machines, plan.at_once, plan.waves) == (118, 118, 1)
    assert plan.hours == pytest.approx(6 * 35 / 60), "118 are six turns of 20"
    assert plan.drain_hours == 1, "all are drained at the same time"
    assert LIMIT in plan.notes


def test_waves_beyond_the_limit_take_turns(tmp_path: Path) -> None:
    repository = Repository(tmp_path)
    repository.replace(TOKYO, "max_unavailable: 10}", "max_unavailable: 100}")
    repository.commit("many at a time")
    repository.replace(TOKYO, "user: ops,", "user: admin,")
    plans = {plan.pool: plan for plan in repository.site("tokyo-1").plans}
    assert plans["cpu"].waves == 2
    assert plans["cpu"].hours == pytest.approx(8 * 25 / 60)


def test_pools_that_share_the_limit_take_longer_than_each(tmp_path: Path) -> None:
    found = renamed(tmp_path, "v100", "h100")
    (site,) = found.sites
    hours = {plan.pool: plan.hours for plan in site.plans}
    assert all(plan.notes[-1].startswith(f"{LIMIT}, over all pools") for plan in site.plans)
    work = sum(plan.machines * hours[plan.pool] / ceil(plan.machines / 20) for plan in site.plans)
    assert work / 20 > max(hours.values())
    assert shared_hours(site.plans) == pytest.approx(work / 20)
    (takes,) = (each for each in findings(found) if plain(each.what) == "takes")
    assert plain(takes.figure).startswith(f"at least {duration(work / 20)}")


def test_pools_below_the_limit_do_not_wait_for_each_other(tmp_path: Path) -> None:
    repository = Repository(tmp_path)
    repository.replace(TOKYO, "max_unavailable: 10}", "max_unavailable: 7}")
    repository.commit("fewer at a time")
    repository.replace(TOKYO, "user: ops,", "user: admin,")
    site = repository.site("tokyo-1")
    assert sum(plan.at_once for plan in site.plans) == 20
    notes = [note for plan in site.plans for note in plan.notes]
    assert shared_hours(site.plans) == 0 and not any(LIMIT in note for note in notes)
