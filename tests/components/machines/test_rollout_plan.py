"""The arithmetic of a rollout, against a simulation of what Cluster API does step by step."""

from dataclasses import dataclass
from math import ceil
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from preview.result import SitePreview
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
