"""A row of the proof table: edits to the example sites, and what upstream makes of them."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from components.effects.vocabulary import Action, Impact
from preview.result import State
from schemas.model.codes import Code
from tests.verdicts.edits import Edit

ANY = -1
"""For ``at_most``: the source does not say, so the table does not either."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """The verdict on hosts of a pool: on all of them, where ``hosts`` is None.

    ``at_most``: to so many of these, whichever. ``also``: impacts that would be as true.
    """

    impact: Impact
    hosts: int | None = None
    at_most: int | None = None
    also: tuple[Impact, ...] = ()


@dataclass(frozen=True, slots=True)
class Expected:
    """The effect of the change on one site.

    To hosts that ``pools`` does not speak of happens nothing. ``actions`` are of objects by a
    pattern of their logical names; no other object may be refused or deleted. ``deletions`` are
    the losses that the pull request must acknowledge. ``lines``: a logical name and the text of the
    line that its reasons are traced to, where there are several edits. ``counts``: hosts in all.
    ``plans``: of a pool and zone the machines that are replaced, how many at once, and how many
    are missing. ``stuck``: pools whose rollout makes no progress. ``out``: of an accelerator model
    the machines before, and how many of them are missing when all is at its worst. ``says``: parts
    of sentences of reasons. ``waiting``: machines that are refused a change for now.
    ``ways``: parts of what to write for a smaller effect, none where there is no such way; None:
    that is not the point.
    """

    pools: Mapping[str, Verdict | tuple[Verdict, ...]] = field(default_factory=dict)
    actions: Mapping[str, Action] = field(default_factory=dict)
    deletions: Mapping[str, int] = field(default_factory=dict)
    lines: Mapping[str, str] = field(default_factory=dict)
    counts: Mapping[Impact, int | None] = field(default_factory=dict)
    plans: Mapping[tuple[str, str], tuple[int, int, int]] = field(default_factory=dict)
    stuck: frozenset[str] = frozenset()
    out: Mapping[str, tuple[int, int]] = field(default_factory=dict)
    says: tuple[str, ...] = ()
    waiting: int = 0
    ways: tuple[str, ...] | None = None
    state: State = State.CHANGED


@dataclass(frozen=True, slots=True)
class Invalid:
    """A side that `foresite check` refuses, with the codes of its problems, a part of the line that
    they stand at, and one of what to do."""

    codes: frozenset[Code]
    at: str = ""
    fix: str = ""


@dataclass(frozen=True, slots=True)
class Row:
    """Edits on top of a base, and what they do to each site; to those not named, nothing.

    ``source``: the project, version and file, or the fact, that says so. ``entries``: the sites
    that are shown as one, where that is the point.
    """

    name: str
    edits: tuple[Edit, ...]
    sites: Mapping[str, Expected | Invalid]
    source: str
    base: tuple[Edit, ...] = ()
    entries: tuple[tuple[str, ...], ...] = ()


def reimaged(hosts: int | None = None, at_most: int | None = None) -> Verdict:
    """Hosts that are installed again."""
    return Verdict(Impact.REIMAGE, hosts, at_most)


def removed(hosts: int | None = None, at_most: int | None = None) -> Verdict:
    """Hosts that lose their machine."""
    return Verdict(Impact.REMOVE, hosts, at_most)


def added(hosts: int | None = None, at_most: int | None = None) -> Verdict:
    """Hosts that become machines."""
    return Verdict(Impact.ADD, hosts, at_most)


def restarted() -> Verdict:
    """Hosts on which pods restart; a spare has none, and Git does not say which hosts are spare."""
    return Verdict(Impact.POD_RESTART, None, ANY)


SPARE = 1
"""Hosts of tsukuba-1's mncore2 that have no machine; v100 of tokyo-1 has two."""
LAB = {"lab": reimaged(3)}
CPU = {"cpu": reimaged(21)}
CONTROL = {"control": reimaged(3)}
MNCORE2 = {"mncore2": reimaged(40, 40 - SPARE)}
TSUKUBA = {**CONTROL, **CPU, **MNCORE2}
"""Every machine of tsukuba-1 is installed again."""
TOKYO_WORKERS = {
    "cpu": reimaged(147),
    "v100": reimaged(120, 118),
    "a100": reimaged(80),
    "h100": reimaged(50),
}
TOKYO = {**CONTROL, **TOKYO_WORKERS}
TOKYO_PLANS = {
    ("control", ""): (3, 1, 1),
    ("cpu", ""): (147, 10, 10),
    ("v100", ""): (118, 6, 4),
    **{("a100", zone): (20, 1, 1) for zone in "abcd"},
    ("h100", ""): (50, 2, 2),
}
"""Never more out than max_unavailable, and max_surge more on spares (capi-live.md, a and b); of a
control plane without a spare one."""

MD_ROLLS = (
    "Cluster API 1.13.6, machinedeployment/mdutil/util.go, MachineTemplateUpToDate: a template's "
    "name, the version and the failure domain roll, and nothing else"
)
MD_IN_PLACE = (
    "Cluster API 1.13.6, machinedeployment/mdutil/util.go, MachineTemplateDeepCopyRolloutFields: "
    "labels and deletion.* are left out of the comparison; seen live (capi-live.md, d)"
)
KCP_ROLLS = (
    "Cluster API 1.13.6, controlplane/kubeadm/internal/filters.go, matchesMachineSpec: version, "
    "KubeadmConfig and infrastructure template roll"
)
SCALE_DOWN = (
    "Cluster API 1.13.6, machineset/machineset_deletion_order.go: by name among equals, so Git "
    "does not say which"
)
PROTECTED = "Pulumi, protect: an update that would delete such an object fails"
NO_OBJECT = "components/: no object carries it"
SAME = "Kubernetes compares values: the objects are the same"
