"""The definition of an experiment, and the forms that most predictions take."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from components.effects.vocabulary import Impact
from tests.real.live.predictions import Group, Hosts, Outcome, Prediction
from tests.real.live.state import POOLS, Edit, State, host_name

TEMPLATE = "internal/controllers/machinedeployment/mdutil/util.go"
PLANNER = "internal/controllers/machinedeployment/machinedeployment_rollout_planner.go"
DELETION = "internal/controllers/machineset/machineset_deletion_order.go"
PREFLIGHT = "internal/controllers/machineset/machineset_preflight.go"
TARGETS = "internal/controllers/machinehealthcheck/machinehealthcheck_targets.go"
KCP_UPDATE = "controlplane/kubeadm/internal/controllers/update.go"
KCP_WEBHOOK = "controlplane/kubeadm/internal/webhooks/kubeadmcontrolplane.go"
GUARD = "components/machines/upgrade.py"
CHOICE = "metal3-io/cluster-api-provider-metal3 v1.13.2 baremetal/metal3machine_manager.go"
"""Files of Cluster API v1.13.6 unless they say otherwise."""


@dataclass(frozen=True)
class Experiment:
    """One change and what is predicted of it.

    ``edit`` is what a person changes in the files. Where ``check`` refuses it (with the code
    ``problem``), ``taken`` is the part that it takes and ``patched`` what is changed in the objects
    besides, by their logical names; the files then stay as they were. By hand a person first marks
    the Machine on the host ``marked`` to go first, deletes the one on ``deleted``, takes away the
    policy on worker versions (``unguarded``), or releases and deletes MachineDeployments that are
    no longer made (``released``). ``in_place`` machines are to be changed without
    being replaced. ``source`` is where the prediction's rule is from.
    """

    name: str
    edit: Edit
    predicted: Prediction
    source: str
    problem: str = ""
    taken: Edit = field(default_factory=Edit)
    patched: Mapping[str, dict[str, Any]] = field(default_factory=dict)
    marked: str = ""
    deleted: str = ""
    unguarded: bool = False
    released: bool = False
    in_place: int = 0

    @property
    def in_files(self) -> bool:
        """True if all of it is a change of the files, which a preview of them can see."""
        return not self.problem and not self.deleted and self.edit != Edit()

    @property
    def by_hand(self) -> tuple[str, ...]:
        """The steps of a person besides changing the files."""
        said = [f"Machine of `{self.marked}` marked to go first"] if self.marked else []
        said += [f"Machine of `{self.deleted}` deleted"] if self.deleted else []
        said += ["our policy on worker versions taken away"] if self.unguarded else []
        said += ["MachineDeployments that are gone from the objects deleted"] * self.released
        if self.problem:
            said.append(f"`check` refuses it (`{self.problem}`): changed in the objects")
        return tuple(said)


@dataclass(frozen=True)
class Step:
    """An experiment with the files around it: ``before``, ``after`` (what is applied is made of
    these), and ``tried``, what a person would have written."""

    experiment: Experiment
    before: State
    after: State
    tried: State


def every(*pools: str) -> frozenset[str]:
    """All hosts that pools have at the start."""
    return frozenset(
        host_name(pool, number, zone)
        for pool in pools
        for zone, count in POOLS[pool].items()
        for number in range(1, count + 1)
    )


def done(
    groups: Mapping[str, Group], impact: Impact, hosts: Iterable[str], at_most: int | None = None
) -> Prediction:
    """One thing happens to hosts, to ``at_most`` so many of them, as the change asks."""
    return Prediction(Outcome.DONE, groups, {impact: Hosts(frozenset(hosts), at_most)})


def still(**available: int) -> Prediction:
    """Nothing happens to any machine; ``available`` are the groups' machines."""
    return Prediction(Outcome.DONE, {name: Group(0, 0, 0, n) for name, n in available.items()})


def rolled(name: str, at_once: int, fewest: int) -> Prediction:
    """Every machine of one pool is replaced, on the hosts that the pool has."""
    hosts = every(name)
    group = Group(len(hosts), len(hosts), at_once, fewest)
    return done({name: group}, Impact.REIMAGE, hosts)


def strategy(surge: int, unavailable: int) -> dict[str, Any]:
    """A change of a MachineDeployment's rollout."""
    update = {"maxSurge": surge, "maxUnavailable": unavailable}
    return {"spec": {"rollout": {"strategy": {"rollingUpdate": update}}}}


def version(wanted: str) -> dict[str, Any]:
    """A change of the version of a MachineDeployment's machines."""
    return {"spec": {"template": {"spec": {"version": wanted}}}}
