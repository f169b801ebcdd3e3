"""The changes that are tried, in the order of one history, each with what is predicted of it.

Predictions are written by hand here, from the rules that each experiment's ``source`` names.
"""

from collections.abc import Iterable, Iterator

from components.effects.vocabulary import Impact
from tests.real.live import figures
from tests.real.live.experiment import (
    CHOICE,
    DELETION,
    GUARD,
    KCP_UPDATE,
    PLANNER,
    PREFLIGHT,
    TARGETS,
    TEMPLATE,
    Experiment,
    Step,
    done,
    every,
    rolled,
    still,
)
from tests.real.live.predictions import Group, Hosts, Outcome, Prediction
from tests.real.live.recorder import CONTROL
from tests.real.live.state import Edit, State, boot, host_name, start
from tests.real.live.trouble import MARKED, REFUSED_AND_STUCK, WAYS_OUT

MANUAL_9 = host_name("manual", 9)
IN_PLACE = (
    Experiment(
        "synced label",
        Edit({"pools.one.labels": {"node-role.kubernetes.io/batch": ""}}),
        still(one=8),
        TEMPLATE,
        in_place=8,
    ),
    Experiment(
        "drain timeout",
        Edit({"pools.two.rollout.drain_timeout_seconds": 600}),
        still(two=8),
        TEMPLATE,
        in_place=8,
    ),
    Experiment(
        "rollout settings alone",
        Edit({"pools.four.rollout.max_unavailable": 4}),
        still(four=12),
        TEMPLATE,
    ),
    Experiment(
        "health check",
        Edit({"pools.zoned.health_check": {"unhealthy_timeout_seconds": 3600}}),
        still(**{"zoned-a": 4, "zoned-b": 4}),
        TARGETS,
    ),
    Experiment(
        "label of the control plane",
        Edit({"pools.control.labels": {"node-role.kubernetes.io/infra": ""}}),
        still(control=3),
        KCP_UPDATE,
        in_place=3,
    ),
    Experiment(
        "rack of a host",
        Edit(changed={host_name("surge", 1): {"rack": "a-02"}}),
        still(surge=8),
        CHOICE,
    ),
    Experiment(
        "host added",
        Edit(added={MANUAL_9: ("manual", "a")}),
        done({"manual": Group(0, 1, 1, 8)}, Impact.ADD, {MANUAL_9}),
        PLANNER,
    ),
)

UBUNTU = "ubuntu-24.04"
IMAGES = (
    Experiment("image, 1 out", Edit({"pools.one.os": UBUNTU}), rolled("one", 1, 7), PLANNER),
    Experiment("image, 2 out", Edit({"pools.two.os": UBUNTU}), rolled("two", 2, 6), PLANNER),
    Experiment("image, 4 out", Edit({"pools.four.os": UBUNTU}), rolled("four", 4, 8), PLANNER),
    Experiment(
        "image, by zone",
        Edit({"pools.zoned.os": UBUNTU}),
        done({f"zoned-{zone}": Group(4, 4, 1, 3) for zone in "ab"}, Impact.REIMAGE, every("zoned")),
        PLANNER,
    ),
    Experiment("image, OnDelete", Edit({"pools.manual.os": UBUNTU}), still(manual=9), PLANNER),
    Experiment(
        "image, surge with a spare",
        Edit({"pools.surge.os": UBUNTU}),
        done({"surge": Group(8, 8, 1, 8)}, Impact.REIMAGE, every("surge"), 8),
        PLANNER,
    ),
    Experiment(
        "image of the control plane",
        Edit({"pools.control.os": UBUNTU}),
        rolled(CONTROL, 1, 2),
        KCP_UPDATE,
    ),
)

BY_POOL = (
    Experiment("first boot", Edit({"pools.two.first_boot": boot()}), rolled("two", 2, 6), PLANNER),
    Experiment(
        "kubelet, surge and 2 out",
        Edit({"pools.surge.kubelet": {"max_pods": 200}, "pools.surge.rollout.max_unavailable": 2}),
        done({"surge": Group(8, 8, 3, 6)}, Impact.REIMAGE, every("surge"), 8),
        PLANNER,
    ),
    Experiment(
        "two spares more",
        Edit({"pools.four.spares": 2}),
        done({"four": Group(2, 0, 2, 10)}, Impact.REMOVE, every("four"), 2),
        DELETION,
    ),
    Experiment(
        "OnDelete, a Machine deleted",
        Edit(),
        done({"manual": Group(1, 1, 1, 8)}, Impact.REIMAGE, {host_name("manual", 1)}),
        PLANNER,
        deleted=host_name("manual", 1),
    ),
)

PATCH = (
    Experiment(
        "patch, all in one step",
        Edit({"cluster.kubernetes": "v1.34.8"}),
        done(
            {
                CONTROL: Group(3, 3, 1, 2),
                "one": Group(8, 8, 1, 7),
                "two": Group(6, 6, 2, 4),
                "four": Group(10, 10, 4, 6),
                "zoned-a": Group(4, 4, 1, 3),
                "zoned-b": Group(4, 4, 1, 3),
                "manual": Group(0, 0, 0, 11),
                "surge": Group(8, 8, 3, 6),
                "joined-a": Group(2, 2, 1, 1),
                "joined-b": Group(2, 2, 1, 1),
                "parted": Group(8, 8, 1, 7),
                "mixed": Group(5, 5, 1, 4),
                **{name: Group(0, 0, 0, n) for name, n in (("spared", 8), ("stocked", 4))},
                **{name: Group(0, 0, 0, n) for name, n in (("giver", 3), ("places-a", 1))},
                "places-b": Group(0, 0, 0, 5),
            },
            Impact.REIMAGE,
            every(
                CONTROL,
                *("one", "two", "four", "zoned", "surge"),
                *("joined", "parted", "mixed", "named"),
            ),
            3 + 8 + 6 + 10 + 8 + 8 + 4 + 8 + 5,
        ),
        f"{PLANNER}; {PREFLIGHT}",
    ),
)

LAST = (
    Experiment(
        "host removed from the list",
        Edit(removed=(host_name("zoned", 1, "b"),)),
        done(
            {"zoned-b": Group(1, 0, 1, 3)},
            Impact.REMOVE,
            {host_name("zoned", n, "b") for n in range(1, 5)},
            1,
        ),
        DELETION,
    ),
    Experiment(
        "minor, all in one step",
        Edit({"cluster.kubernetes": "v1.35.5"}),
        Prediction(
            Outcome.REFUSED,
            {CONTROL: Group(3, 3, 1, 2)},
            {Impact.REIMAGE: Hosts(every(CONTROL))},
            refused=frozenset(
                f"MachineDeployment/{name}"
                for name in (
                    *("one", "two", "four", "zoned/a", "zoned/b", "manual", "surge"),
                    *("joined/a", "joined/b", "parted", "mixed", "spared", "stocked", "giver"),
                    *("places/a", "places/b"),
                )
            ),
            says="workers must wait",
        ),
        GUARD,
    ),
)

ROUNDS = (
    (*IN_PLACE, *figures.SETTINGS),
    (*IMAGES, *figures.MADE_ANEW),
    (*BY_POOL, *figures.TOGETHER),
    (*REFUSED_AND_STUCK, *figures.FREED),
    WAYS_OUT,
    (*MARKED, *figures.MERGED),
    PATCH,
    LAST,
    figures.AGAIN,
)
"""Experiments of one round go on side by side, in groups of their own; rounds follow each other."""


def history(
    now: State | None = None, rounds: Iterable[tuple[Experiment, ...]] = ROUNDS
) -> Iterator[tuple[Step, ...]]:
    """The rounds, each as steps of one history of the files."""
    now = now or start()
    for experiments in rounds:
        steps = []
        for each in experiments:
            tried = now.edited(each.edit)
            after = now.edited(each.taken) if each.problem else tried
            steps.append(Step(each, now, after, tried))
            # What check refuses never gets into the files.
            now = now if each.problem else tried
        yield tuple(steps)


def predicted(step: Step) -> Prediction:
    """The prediction of a step: by hand, until the preview makes it."""
    return step.experiment.predicted
