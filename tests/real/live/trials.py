"""What is tried on single hosts on the real Metal3 (hosts.py), and the rollouts before it.

Rows are data (trials.yaml).
"""

from dataclasses import dataclass, field, replace
from itertools import chain
from pathlib import Path
from typing import Any

import yaml

from components.effects.vocabulary import Impact
from controlplane import Manifest
from tests.real.live.experiment import CHOICE, PLANNER, Experiment, done, still
from tests.real.live.experiments import ROUNDS as EVERYWHERE
from tests.real.live.experiments import history
from tests.real.live.predictions import Group, Prediction
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
_STOCKED, _SPARED = {NEW, host_name("stocked", 4)}, _hosts("spared")
_THERE = {each.name: each for each in chain.from_iterable(EVERYWHERE)}


def _here(name: str, predicted: Prediction, in_place: int = 0) -> Experiment:
    """An experiment that the fake's site has too, with what is predicted of this one."""
    return replace(_THERE[name], predicted=predicted, in_place=in_place)


def _refused(name: str, group: str, machines: int) -> Experiment:
    groups = {group: Group(0, 0, 0, machines)}
    return _here(name, replace(_THERE[name].predicted, groups=groups))


ROLLOUTS = (
    (
        _here("synced label", still(one=2), 2),
        _here("drain timeout", still(two=4), 4),
        _here("label of the control plane", still(control=1), 1),
        _here("rack of a host", still(surge=2)),
        _here("spare added", still(stocked=1)),
        _here("order of pools, zones and hosts", still(spared=1)),
    ),
    (
        _refused("a minor skipped", "control", 1),
        _refused("workers ahead", "surge", 2),
        replace(
            _here("image, OnDelete", still(spared=1)), edit=Edit({"pools.spared.os": "rocky-9"})
        ),
    ),
    (_here("image, 1 out", done({"one": Group(2, 2, 1, 1)}, Impact.REIMAGE, _hosts("one"))),),
    (
        replace(
            _here(
                "image, surge with a spare",
                done({"surge": Group(2, 2, 1, 2)}, Impact.REIMAGE, _hosts("surge"), 2),
            ),
            source=f"{PLANNER}; {CHOICE}",
        ),
    ),
    (
        replace(
            _here("host added", done({"stocked": Group(0, 1, 1, 1)}, Impact.ADD, _STOCKED, 1)),
            edit=Edit(added={NEW: ("stocked", "a")}),
        ),
        _here("a spare fewer", done({"spared": Group(0, 1, 1, 1)}, Impact.ADD, _SPARED, 1)),
    ),
)
"""Rounds. Where hosts are wiped there is one experiment alone: the operator's test mode has one
image for all hosts, so that those that are written and those that are wiped at one time hold each
other up."""
STEPS_OF_ROUNDS = tuple(history(START, ROLLOUTS))
STEPS = [*chain.from_iterable(STEPS_OF_ROUNDS)]
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
