"""What is tried on single hosts on the real Metal3 (hosts.py), and the rollouts before it.

Predictions are written by hand, from the rules that each ``source`` names.
"""

from dataclasses import dataclass, field
from typing import Any

from components.effects.vocabulary import Impact
from components.making.decommission import MAY_BE_DELETED
from controlplane import Manifest
from tests.real.live.experiment import CHOICE, PLANNER, Experiment, done
from tests.real.live.experiments import UBUNTU, history
from tests.real.live.predictions import Group
from tests.real.live.state import SITE, Edit, Row, host_name, start

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
ROUNDS = tuple(history(START, [(each,) for each in ROLLOUTS]))
STEPS = [step for steps in ROUNDS for step in steps]
ROLLED = STEPS[-1].after

VALIDATION = "BMO v0.13.2 internal/webhooks/metal3.io/v1alpha1/baremetalhost_validation.go"
MACHINE = "BMO v0.13.2 internal/controller/metal3.io/host_state_machine.go"
_INSTALLED = "available > provisioning > provisioned"
REINSTALLED = f"provisioned > deprovisioning > {_INSTALLED}"
_OFF = "powering off before delete > deleting > gone"
POLICY = "policies/cluster/rules.yaml, host-deletion"
_BMC_SAYS = "BMC address can not be changed if the BMH is not in the Registering state"
_MAC_SAYS = "bootMACAddress can not be changed once it is set"
_DETACHED = "baremetalhost.metal3.io/detached"
_UNHEALTHY = "capm3.metal3.io/unhealthy"


def _annotated(**values: str | None) -> Manifest:
    return {"metadata": {"annotations": dict(values)}}


_NONE = {"apiVersion": "infrastructure.cluster.x-k8s.io/v1beta2", "kind": "Metal3Machine",
         "name": "gone"}  # fmt: skip
_OF_NONE: Manifest = {
    "metadata": {
        "ownerReferences": [{**_NONE, "uid": "00000000-0000-4000-8000-000000000000"}],
    },
    "spec": {"consumerRef": {**_NONE, "namespace": SITE}},
}
"""What CAPM3 leaves on a host whose Metal3Machine is deleted in the instant in which it takes it
(seen once); the garbage collector deletes what only such an owner has."""


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


TWO = sorted(_hosts("two"))
_OTHER_BMC = {"bmc": "10.41.0.201"}
_OTHER_DISK = {"root_disk": "serial_number=OTHER1"}
TRIALS = (
    (
        Trial("boot MAC changed", TWO[0], "provisioned", "kept", VALIDATION,
              cells={"mac": "52:54:00:04:01:01"}, says=_MAC_SAYS),
        Trial("BMC address changed", TWO[1], "provisioned", "kept", VALIDATION,
              cells=_OTHER_BMC, says=_BMC_SAYS),
        Trial("root disk changed, running", TWO[2], "provisioned", "kept", MACHINE,
              cells=_OTHER_DISK, spec={"rootDeviceHints": {"serialNumber": "OTHER1"}}),
        Trial("root disk changed, spare", "surge:spare", "available",
              "none", MACHINE, cells=_OTHER_DISK),
        Trial("`online: false`, running", TWO[3], "provisioned", "kept", CHOICE,
              patch={"spec": {"online": False}}, spec={"online": True}),
        Trial("host deleted, not released", TWO[3], "provisioned", "kept", POLICY,
              deleted="BareMetalHost", released=False, says="still runs machine"),
        Trial("spare of a Metal3Machine that is gone", "spared:spare", "available", "none",
              POLICY, patch=_OF_NONE),
    ),
    (
        Trial("detached", TWO[1], "provisioned > provisioned, detached", "kept", MACHINE,
              patch=_annotated(**{_DETACHED: ""})),
        Trial("the same, released", "spared:spare", f"available > {_OFF}", "none", POLICY,
              patch=_annotated(**{MAY_BE_DELETED: "tried"})),
        Trial("image taken away by hand", TWO[0], REINSTALLED, "kept", f"{MACHINE}; {CHOICE}",
              patch={"spec": {"image": None}}),
    ),
    (
        Trial("BMC address changed while detached", TWO[1], "provisioned, detached", "kept",
              VALIDATION, cells=_OTHER_BMC,
              spec={"bmc": {"address": "redfish-virtualmedia://10.41.0.201/redfish/v1/Systems/1"}}),
        Trial("spare marked unhealthy", "surge:spare", "available", "none", CHOICE,
              patch=_annotated(**{_UNHEALTHY: ""})),
    ),
    (
        Trial("attached again", TWO[1], "provisioned, detached > provisioned", "kept", MACHINE,
              patch=_annotated(**{_DETACHED: None})),
        Trial("Machine deleted, the spare is unhealthy", "surge:running", REINSTALLED, "new",
              CHOICE, deleted="Machine"),
        Trial("another host detached", TWO[3], "provisioned > provisioned, detached", "kept",
              MACHINE, patch=_annotated(**{_DETACHED: ""})),
    ),
    (
        Trial("host deleted", TWO[2],
              f"provisioned > deprovisioning > {_OFF}",
              "left", f"{MACHINE}; {CHOICE}", deleted="BareMetalHost"),
        Trial("spare deleted", "surge:spare",
              f"available > {_OFF}", "none", MACHINE,
              deleted="BareMetalHost"),
        Trial("host deleted while detached", TWO[3], "provisioned, detached > deleting > gone",
              "left", MACHINE, deleted="BareMetalHost"),
    ),
    (
        Trial("Machine without its host deleted", TWO[2], "gone", "gone", CHOICE,
              deleted="Machine", says="no available host found"),
    ),
    (
        Trial("line added again", TWO[2],
              f"gone > registering > inspecting > preparing > {_INSTALLED}",
              "new", MACHINE, again=True),
    ),
)  # fmt: skip
"""Trials of one round go on side by side; rounds follow each other."""


def differences(trial: Trial, seen: dict[str, Any]) -> dict[str, Any]:
    """What was seen of a trial otherwise than predicted; empty where the prediction held."""
    said = {"trail": trial.trail, "machine": trial.machine, "said": True, "spec": trial.spec}
    return {key: seen[key] for key, value in said.items() if seen[key] != value}
