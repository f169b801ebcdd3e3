"""Experiments that end badly, as they are to, and the ways out of them."""

from components.effects.vocabulary import Impact
from tests.real.live.experiment import (
    CHOICE,
    DELETION,
    GUARD,
    KCP_WEBHOOK,
    PLANNER,
    PREFLIGHT,
    Experiment,
    done,
    every,
    strategy,
    version,
)
from tests.real.live.predictions import Group, Hosts, Outcome, Prediction
from tests.real.live.recorder import CONTROL
from tests.real.live.state import Edit, host_name

REFUSED_AND_STUCK = (
    Experiment(
        "a minor skipped",
        Edit({"cluster.kubernetes": "v1.36.0"}),
        Prediction(
            Outcome.REFUSED,
            {CONTROL: Group(0, 0, 0, 3)},
            refused=frozenset({"KubeadmControlPlane"}),
            says="cannot update Kubernetes version",
        ),
        KCP_WEBHOOK,
        problem="version-unsupported",
        patched={"KubeadmControlPlane": {"spec": {"version": "v1.36.0"}}},
    ),
    Experiment(
        "workers ahead",
        Edit({"cluster.workers": "v1.35.5"}),
        Prediction(
            Outcome.REFUSED,
            {"surge": Group(0, 0, 0, 8)},
            refused=frozenset({"MachineDeployment/surge"}),
            says="workers must wait",
        ),
        GUARD,
        problem="version-skew",
        patched={"MachineDeployment/surge": version("v1.35.5")},
    ),
    Experiment(
        "workers ahead, without our policy",
        Edit({"cluster.workers": "v1.35.5"}),
        Prediction(
            Outcome.STUCK,
            {"four": Group(4, 0, 4, 6)},
            {Impact.REMOVE: Hosts(every("four"), at_most=4)},
            says="do not conform to the kubernetes version skew policy",
        ),
        PREFLIGHT,
        problem="version-skew",
        patched={"MachineDeployment/four": version("v1.35.5")},
        unguarded=True,
    ),
    Experiment(
        "image, surge without a spare",
        Edit(
            {"pools.one.os": "rocky-9", "pools.one.rollout": {"max_surge": 1, "max_unavailable": 0}}
        ),
        Prediction(Outcome.STUCK, {"one": Group(0, 0, 1, 8)}, says="no available host found"),
        PLANNER,
        problem="rollout-stuck",
        taken=Edit({"pools.one.os": "rocky-9"}),
        patched={"MachineDeployment/one": strategy(1, 0)},
    ),
    Experiment(
        "host moved to another pool",
        Edit(changed={host_name("two", 5): {"pool": "manual"}}),
        Prediction(
            Outcome.STUCK,
            {"two": Group(1, 0, 1, 7), "manual": Group(0, 0, 1, 9)},
            {
                Impact.REMOVE: Hosts(every("two"), at_most=1),
                Impact.ADD: Hosts(frozenset({host_name("two", 5)}), at_most=1),
            },
            says="no available host found",
        ),
        f"{DELETION}; {CHOICE}",
        # Else the Machine whose name comes first goes: one time in eight the moved host's.
        marked=host_name("two", 1),
    ),
)

WAYS_OUT = (
    Experiment(
        "revert of workers ahead",
        Edit(),
        done({"four": Group(0, 4, 4, 6)}, Impact.ADD, every("four"), 4),
        PLANNER,
    ),
    Experiment(
        "revert of a surge without a spare",
        Edit(),
        Prediction(Outcome.DONE, {"one": Group(0, 0, 1, 8)}),
        PLANNER,
    ),
    Experiment(
        "the moved host's Machine deleted",
        Edit(),
        Prediction(
            Outcome.DONE,
            {"two": Group(1, 1, 1, 6), "manual": Group(0, 1, 1, 9)},
            {
                Impact.REIMAGE: Hosts(frozenset({host_name("two", 5)})),
                Impact.ADD: Hosts(frozenset({host_name("two", 1)})),
            },
        ),
        CHOICE,
        deleted=host_name("two", 5),
    ),
)

MARKED = (
    Experiment(
        "host moved, its Machine marked",
        Edit(changed={host_name("two", 6): {"pool": "manual"}}),
        done(
            {"two": Group(1, 0, 1, 6), "manual": Group(0, 1, 1, 10)},
            Impact.REIMAGE,
            {host_name("two", 6)},
        ),
        f"{DELETION}; {CHOICE}",
        marked=host_name("two", 6),
    ),
)
