"""The result of a preview: pure data, the same for every report, which computes nothing.

A ``Preview`` has a ``SitePreview`` for each site touched; an ``Entry`` has sites with one effect.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from functools import cached_property
from typing import NamedTuple

from components.effects.vocabulary import Action, Effect, Impact, Ledger, ObjectChange, PoolPlan
from components.machines.installation import Installation
from components.object_cache.effects.consequences import Consequence
from components.object_cache.effects.moved import CacheMove
from preview.forge import NO_FORGE, Forge
from preview.regions import RegionChange
from schemas.kubernetes.grouping import group_by_key
from schemas.model.problem import Problem


class Cause(NamedTuple):
    """An edit in the change: where it is, and what stood and stands there. ``file`` is relative to
    the repository, ``line`` and ``column`` count from 1 in the later state, or in the earlier one
    where the edit takes something away (``gone``). ``before`` and ``after`` are short texts for a
    person, empty where there was or is nothing."""

    file: str
    line: int
    column: int
    path: str
    before: str
    after: str
    gone: bool = False

    @property
    def place(self) -> str:
        """``file:line:column``."""
        return f"{self.file}:{self.line}:{self.column}" if self.line else self.file


class Reason(NamedTuple):
    """The reason for an impact: an effect, the object it is traced to, and the edits behind it.
    ``object`` is for a person: ``MachineDeployment tokyo-1/v100``. ``causes`` are empty where the
    edit could not be told."""

    effect: Effect
    object: str
    causes: tuple[Cause, ...]


class HostVerdict(NamedTuple):
    """The verdict on one host: the worst of its reasons; ``reasons`` are indexes in the site's.
    ``at_most``: of the hosts with this verdict and its worst reason only so many are concerned, and
    Git does not say which; to the others, or to ``rest_at_most`` of them, happens ``rest``.
    ``together``: of hosts with the same ``limit`` (a reason's index) so many are concerned in all.
    ``zone`` and ``rack`` are where it stands."""

    host: str
    pool: str
    impact: Impact
    reasons: tuple[int, ...]
    at_most: int | None = None
    rest: Impact = Impact.NONE
    rest_at_most: int | None = None
    zone: str = ""
    rack: str = ""
    together: int | None = None
    limit: int | None = None

    @property
    def group_key(self) -> tuple[object, ...]:
        """The key by which hosts are counted together."""
        worst = () if self.at_most is None else self.reasons[:1]
        return self.impact, self.at_most, worst, self.together, self.limit


class ObjectVerdict(NamedTuple):
    """One object that differs: what becomes of it, and the indexes of the reasons that say why.
    Only the names of objects are kept, and what differs: 100,000 come from other processes."""

    change: ObjectChange
    action: Action
    reasons: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Deletion:
    """Something whose loss has to be named in the request: ``count`` things of a kind."""

    what: str
    count: int


class Swollen(NamedTuple):
    """One object that has grown too much; ``before`` and ``after`` are bytes of JSON."""

    object: str
    before: int
    after: int


class Growth(NamedTuple):
    """Unusual growth: objects on both sides, how many too many, and those grown too much."""

    before: int
    after: int
    more: int
    swollen: tuple[Swollen, ...] = ()

    @property
    def total(self) -> int:
        """The number that a pull request has to acknowledge."""
        return self.more + len(self.swollen)


class State(StrEnum):
    """The state of a site between the two sides."""

    CHANGED = "changed"
    ADDED = "added"
    DECOMMISSIONED = "decommissioned"
    """It ends: its cluster is taken away, and its hosts stay registered."""
    REMOVED = "removed"
    """Its file is gone, as it should be after its end."""
    VANISHED = "vanished"
    """Its file is gone, and it was not decommissioned."""
    INVALID = "invalid"
    """One side has problems."""


@dataclass(frozen=True)
class SitePreview:
    """The effect of the change on one site. ``problems`` are those of the side that cannot be read.
    ``hosts`` are all hosts of both sides, each once, in the order of the list. ``capacity`` has a
    line for each accelerator model (and one for hosts without), with what is out when all pools are
    at their worst moment at once. ``cache`` is what becomes of the cache's objects; None where
    nothing does. ``consequences`` are what else users of the cache feel, ``services`` what other
    people and jobs do. ``growth``: more than usual grows. ``guaranteed`` are the accelerators of
    each model that teams are guaranteed in all. ``installations`` are a new site's, ``regions`` the
    files behind it, ``patches`` a count. ``brief``: details are left out (verdict/brief.py)."""

    name: str
    state: State
    problems: tuple[Problem, ...] = ()
    hosts: tuple[HostVerdict, ...] = ()
    reasons: tuple[Reason, ...] = ()
    objects: tuple[ObjectVerdict, ...] = ()
    plans: tuple[PoolPlan, ...] = ()
    capacity: tuple[Ledger, ...] = ()
    deletions: tuple[Deletion, ...] = ()
    cache: CacheMove | None = None
    consequences: tuple[Consequence, ...] = ()
    services: tuple[Consequence, ...] = ()
    growth: Growth | None = None
    guaranteed: tuple[tuple[str, int], ...] = ()
    installations: tuple[Installation, ...] = ()
    regions: tuple[str, ...] = ()
    patches: int = 0
    brief: bool = False

    @cached_property
    def impact(self) -> Impact:
        """The worst that happens to a host, or that no rule knows; unknown where invalid."""
        if self.state is State.INVALID:
            return Impact.UNKNOWN
        found = [host.impact for host in self.hosts] + [r.effect.impact for r in self.reasons]
        return max(found, key=lambda impact: impact.rank, default=Impact.NONE)

    @cached_property
    def counts(self) -> Mapping[Impact, int]:
        """Hosts by what happens to them, worst first; at most so many where that is known."""
        return count_hosts(self.hosts)

    @cached_property
    def vague(self) -> set[Impact]:
        """What happens to some hosts of which Git does not say all."""
        found = {host.impact for host in self.hosts if host.at_most is not None}
        return found | {host.rest for host in self.hosts if host.rest_at_most is not None}

    @property
    def waiting(self) -> int:
        """Machines that are refused a change, which happens when it is applied again."""
        effects = (reason.effect for reason in self.reasons if reason.effect.waits)
        found = {
            e.name: len(e.hosts) if e.at_most is None else e.at_most for e in effects if e.hosts
        }
        return sum(found.values())

    @property
    def waiting_way(self) -> str:
        """What to write so that none of those machines is refused; empty where none is."""
        return next((r.effect.way for r in self.reasons if r.effect.waits and r.effect.way), "")


def count_hosts(hosts: Iterable[HostVerdict]) -> dict[Impact, int]:
    """Hosts by the impact on them, worst first; at most so many where that is known."""
    all_hosts = [*hosts]
    some = [h for h in all_hosts if h.impact is not Impact.NONE or h.limit is not None]
    groups = group_by_key((host.group_key, host) for host in some)
    found = Counter({Impact.NONE: len(all_hosts) - len(some)})
    left: dict[int, int] = {}
    for alike in sorted(groups.values(), key=lambda alike: -alike[0].impact.rank):
        first = alike[0]
        concerned = len(alike) if first.at_most is None else min(len(alike), first.at_most)
        if first.together is not None and first.limit is not None:
            concerned = min(concerned, left.get(first.limit, first.together))
            left[first.limit] = left.get(first.limit, first.together) - concerned
        found[first.impact] += concerned
        found.update(_count_rest(alike, len(alike) - concerned))
    return {impact: found[impact] for impact in reversed(Impact) if found[impact]}


def _count_rest(alike: Sequence[HostVerdict], others: int) -> dict[Impact, int]:
    """What happens to those of some hosts that are spared the worst, in all ``others`` of them."""
    found: Counter[Impact] = Counter()
    rests = Counter((host.rest, host.rest_at_most) for host in alike)
    for (rest, at_most), number in rests.items():
        if rest is not Impact.NONE:
            found[rest] += min(number, others if at_most is None else min(others, at_most))
    return found


class Entry(NamedTuple):
    """Sites to which the same happens, though not to as many hosts; ``site`` is one of them,
    ``members`` are all of them, in the order of ``sites``."""

    sites: tuple[str, ...]
    site: SitePreview
    members: tuple[SitePreview, ...]


class Gate(NamedTuple):
    """A gate that the change does not pass: which, why, and what lets it through."""

    name: str
    message: str
    fix: str


@dataclass(frozen=True, slots=True)
class Preview:
    """The effect of a change on every site. ``base`` and ``head`` name the sides (``main
    (1a2b3c4)``, ``work tree``); ``sites_total`` counts sites of the later side. ``entries`` are
    sorted, worst first. ``code`` says whose code rendered both sides; ``code_changed`` differs and
    is not in the preview; ``program_changed``: some of that is what Pulumi runs. ``nodes`` are
    sites whose nodes' state was given: how many, and when it was last told. ``forge`` leads to
    files."""

    base: str
    head: str
    sites_total: int
    entries: tuple[Entry, ...]
    code: str = ""
    code_changed: tuple[str, ...] = ()
    program_changed: bool = False
    gates: tuple[Gate, ...] = ()
    allowed: Mapping[str, int] = field(default_factory=dict)
    nodes: Mapping[str, tuple[int, str]] = field(default_factory=dict)
    regions: tuple[RegionChange, ...] = ()
    forge: Forge = NO_FORGE

    @property
    def impact(self) -> Impact:
        """The worst of all sites; unknown also where Foresite's own code differs, or a management
        cluster of which no site is known."""
        found = [entry.site.impact for entry in self.entries]
        if self.code_changed or any(each.unnamed for each in self.regions):
            found.append(Impact.UNKNOWN)
        return max(found, key=lambda impact: impact.rank, default=Impact.NONE)

    @property
    def sites(self) -> tuple[SitePreview, ...]:
        """Every site that the change touches."""
        return tuple(each for entry in self.entries for each in entry.members)

    @property
    def certain(self) -> bool:
        """True if the preview has a verdict on every site."""
        return all(e.site.state is not State.INVALID for e in self.entries)
