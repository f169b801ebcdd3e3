"""The words: what happens to a host, which change of which field does it, and what a pool goes
through. Pure data: the preview finds the changes, applies the rules and shows the result."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, NamedTuple

from components.effects.fleet import Fleet, NodeState
from components.making.manifest import GroupKind, Manifest
from schemas.model.management import PROVISIONING_LIMIT

Path = tuple[str | int, ...]
"""Where in an object: names of fields, keys of maps, and for lists the key of the item (such as a
container's name) or its index."""

Name = tuple[str, str]
"""A component, and the logical name of one of its objects."""


class Impact(StrEnum):
    """The impact on a host, from harmless to worst; compare by ``rank``. Unknown stands above all
    that can be undone: what no rule knows may be a re-image."""

    NONE = "none"
    """Nothing now; a change that waits for the next re-image is none as well, and says so."""
    ADD = "add"
    """The host joins the site as a machine."""
    IN_PLACE = "in place"
    """Its settings change while it runs: a program of the host may restart, and its pods stay."""
    POD_RESTART = "pod restart"
    """Pods of a DaemonSet, Deployment or static pod on it restart; its jobs go on."""
    DRAIN = "drain"
    """Its pods are evicted; it keeps its disks and comes back."""
    REBOOT = "reboot"
    """It is drained and power-cycled."""
    REIMAGE = "re-image"
    """Its Machine is deleted and a new one made: drained, wiped, installed again."""
    UNKNOWN = "unknown"
    """No rule knows."""
    REMOVE = "remove"
    """Its Machine or its BareMetalHost is deleted: drained and wiped, and not installed again."""

    @property
    def rank(self) -> int:
        """0 for none, and more for worse."""
        return _RANKS[self]


_RANKS = {impact: rank for rank, impact in enumerate(Impact)}


class FieldChange(NamedTuple):
    """One field that differs; ``ABSENT`` stands for a field that one side does not have."""

    path: Path
    before: Any
    after: Any


class Absent:
    """The value of a field that is not there; null is a value, this is none."""

    def __repr__(self) -> str:
        return "absent"

    def __reduce__(self) -> str:
        return "ABSENT"  # there is one alone, also where another process sends it


ABSENT = Absent()


class Action(StrEnum):
    """The action on an object when the change is applied."""

    ADDED = "added"
    CHANGED = "changed"
    """Changed in place."""
    REPLACED = "replaced"
    """Another object takes its place, under another name or because a field cannot change; a kept
    one stays beside the new one until a person removes it."""
    DELETED = "deleted"
    LEFT = "left"
    """No longer made, and left in the cluster: kept, or on a site that is no longer applied."""
    REFUSED = "refused"
    """The API server, a webhook or Pulumi refuses it: `pulumi up` stops there."""


class ObjectChange(NamedTuple):
    """One object that differs between the two sides; None where a side does not have it. ``fields``
    are what differs, where both sides have it."""

    component: str
    before: Manifest | None
    after: Manifest | None
    fields: tuple[FieldChange, ...] = ()

    @property
    def one(self) -> Manifest:
        """The object as it will be, or as it was where it goes."""
        found = self.after or self.before
        if found is None:
            raise ValueError("an object that neither side has")
        return found

    @property
    def both(self) -> tuple[Manifest | None, Manifest | None]:
        """The object before and after."""
        return (self.before, self.after)

    @property
    def name(self) -> Name:
        """The component and the logical name."""
        return (self.component, self.one.name)

    @property
    def kind(self) -> str:
        """The object's kind."""
        return self.one.kind

    @property
    def group_kind(self) -> GroupKind:
        """The object's kind and API group, by which its rules are found."""
        return self.one.group_kind


@dataclass(frozen=True, slots=True)
class Side:
    """One side of the change: the machines, and the objects by name. ``source`` is what both were
    read from, such as a typed site, for effects that need their component's section alone
    (components/source.py)."""

    fleet: Fleet
    objects: Mapping[Name, Manifest]
    source: object = None


@dataclass(frozen=True, slots=True)
class SiteChange:
    """The change of one site's data; a side is None where the site is not there.

    ``changes`` are the objects that differ, in the order of the components, by name. ``nodes`` are
    the site's nodes as they were last seen, by name; None where nobody said how they were.
    """

    name: str
    before: Side | None
    after: Side | None
    changes: Mapping[Name, ObjectChange]
    nodes: Mapping[str, NodeState] | None = None

    @property
    def sides(self) -> tuple[Side, ...]:
        """The sides that there are, the earlier first."""
        return tuple(side for side in (self.before, self.after) if side is not None)

    @property
    def side(self) -> Side:
        """The site as it will be, or as it was where it goes."""
        return self.sides[-1]


class Effect(NamedTuple):
    """The effect of one change of one field (or of a whole object, ``path`` empty).

    ``hosts`` are the names of those concerned, none where no machine notices. ``at_most``: only so
    many of them, and Git does not say which (or whether). ``together``: so many at most of all
    effects of this object and field that say so: they are alternatives. ``at_once``: so many of a
    pool are out at a time, as whoever does it keeps to a pace. ``waits``: it is refused now, and
    happens to the hosts when the change is applied again. ``way``: what to write for a smaller
    effect, where there is such a way. ``why`` is a sentence for the reviewer: what will
    happen and because of which behaviour. ``action`` is given where the effect says what becomes of
    the object itself. ``source`` is where the rule is from: project, version, file, or KEP.
    """

    impact: Impact
    name: Name
    path: Path
    why: str
    source: str
    hosts: tuple[str, ...] = ()
    at_most: int | None = None
    action: Action | None = None
    at_once: int | None = None
    together: int | None = None
    waits: bool = False
    way: str = ""


Field = FieldChange | None
"""What a judge looks at: a field, or None for an object as a whole."""
Effects = Iterable[Effect]


class Ledger(NamedTuple):
    """Hosts that have a machine (no spares), their accelerators of one ``model`` (empty for hosts
    that have none), and how many are out at the worst moment."""

    model: str
    hosts: int
    accelerators: int
    hosts_out: int
    accelerators_out: int


class PoolPlan(NamedTuple):
    """How a pool's machines are replaced, as its rollout settings say.

    ``zone`` is empty where zones are not kept apart. ``machines`` are replaced, ``at_once`` at a
    time at most, in ``waves`` (groups one after the other; in truth the window slides). ``hours``
    are for installing this pool alone, at the pace of the Bare Metal Operator and without drains;
    ``drain_hours`` what drains may add at most. ``out`` is what is missing at the worst moment, of
    the machines before; ``stuck`` says why it makes no progress, empty where it does; ``notes`` are
    further things to know. ``wait_hours`` and ``wait_drain_hours`` are those of the control plane,
    where its upgrade goes first. ``control_plane``: it is that pool. ``limit``: so many hosts are
    provisioned at a time, over all pools.
    """

    pool: str
    zone: str
    machines: int
    at_once: int
    surge: int
    waves: int
    hours: float
    drain_hours: float
    out: Ledger
    stuck: str = ""
    notes: tuple[str, ...] = ()
    wait_hours: float = 0.0
    wait_drain_hours: float = 0.0
    control_plane: bool = False
    limit: int = PROVISIONING_LIMIT
