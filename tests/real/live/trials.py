"""What is tried on single hosts on the real Metal3 (hosts.py), and the rollouts before it.

Rows are data (trials.yaml).
"""

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

from components.effects.vocabulary import Impact
from controlplane import Manifest
from tests.real.live.experiment import CHOICE, PLANNER, Experiment, done
from tests.real.live.experiments import UBUNTU, history
from tests.real.live.predictions import Group
from tests.real.live.state import Edit, Row, host_name, start

START = start(
    {
        "control": {"a": 2},
        "one": {"a": 2},
        "two": {"a": 4},
        "surge": {"a": 3},
        "stocked": {"a": 1},
        "spared": {"a": 3},
    }
).edited(Edit({"pools.control.spares": 1}))
"""The site: one control plane machine and five pools; ``surge`` has a spare, ``spared`` two."""


def _hosts(pool: str) -> frozenset[str]:
    return frozenset(row["name"] for row in START.hosts if row["pool"] == pool)


NEW = host_name("stocked", 2)
ROLLOUTS = (
    Experiment(
        "image, 1 out",
        Edit({"pools.one.os": UBUNTU}),
        done({"one": Group(2, 2, 1, 1)}, Impact.REIMAGE, _hosts("one")),
        PLANNER,
    ),
    Experiment(
        "image, surge with a spare",
        Edit({"pools.surge.os": UBUNTU}),
        done({"surge": Group(2, 2, 1, 2)}, Impact.REIMAGE, _hosts("surge"), 2),
        f"{PLANNER}; {CHOICE}",
    ),
    Experiment(
        "host added",
        Edit(added={NEW: ("stocked", "a")}),
        done({"stocked": Group(0, 1, 1, 1)}, Impact.ADD, {NEW}),
        PLANNER,
    ),
)
"""One after the other: the operator's test mode has one image for all hosts, so that those that are
written and those that are wiped at one time may hold each other up without end."""
STEPS = [step for steps in history(START, [(each,) for each in ROLLOUTS]) for step in steps]
ROLLED = STEPS[-1].after


@dataclass(frozen=True)
class Trial:
    """What a person does to one host, and what is predicted of it.

    ``host`` is a name, or a pool and ``spare`` or ``running``: its first host without a Machine, or
    with one. ``cells`` are changed in its line of the host list, ``patch`` in the object by hand;
    ``deleted`` is the kind of the object that is deleted (``released``: our policy on deletions is
    given a reason), ``again`` applies the line as it is. ``trail`` are the host's states from the
    first on, and ``machine`` is what becomes of its Machine: *kept*, *new*, *none* before and
    after, *gone*, or *left* behind without its host. ``says`` is a part of a refusal or a message;
    ``spec`` is in the host at the end.
    """

    name: str
    host: str
    trail: str
    machine: str
    source: str
    cells: Row = field(default_factory=dict)
    patch: Manifest = field(default_factory=dict)
    deleted: str = ""
    released: bool = True
    again: bool = False
    says: str = ""
    spec: Manifest = field(default_factory=dict)


_TABLE = yaml.safe_load(Path(__file__).with_suffix(".yaml").read_text(encoding="utf-8"))
SOURCES: dict[str, str] = _TABLE["sources"]
ROUNDS = tuple(tuple(Trial(**each) for each in some) for some in _TABLE["rounds"])
TRIALS = [trial for some in ROUNDS for trial in some]


def differences(trial: Trial, seen: dict[str, Any]) -> dict[str, Any]:
    """What was seen of a trial otherwise than predicted; empty where the prediction held."""
    said = {"trail": trial.trail, "machine": trial.machine, "said": True, "spec": trial.spec}
    return {key: seen[key] for key, value in said.items() if seen[key] != value}
