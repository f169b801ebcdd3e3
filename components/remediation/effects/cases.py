"""Faults that are repaired on a pool, and what the nodes' last known state says of who has them.

Sources: node_repair/decide.py (``_held``, ``_waits``): who gets a turn;
medik8s/node-healthcheck-operator dd444329, internal/controller/nodehealthcheck_controller.go.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from components.effects import Effects, Field, Impact, ObjectChange, SiteChange
from components.effects.applying import effect
from components.effects.fleet import NodeState
from components.making.faults import CONDITIONS
from components.remediation.effects.readings import Reading, reading
from components.remediation.effects.thresholds import shift
from components.remediation.names import find_pool, settings_of
from components.source import site_of
from schemas.facts.site import Site
from schemas.model.remediation import Remediator
from schemas.model.site_file import Pool
from schemas.model.vocabulary import RemediatorKind

TURNS = "foresite, node_repair/decide.py (_held, _waits)"
HEALTH_CHECK = (
    "medik8s/node-healthcheck-operator dd444329, internal/controller/nodehealthcheck_controller.go"
)
NAMED = 5
"""Nodes that are named in a sentence."""


class Case(NamedTuple):
    """Faults that are repaired on a pool after the change: by whom, how many hosts at a time, and
    beyond how many faulty ones nobody is (``fault_bound``)."""

    site: Site
    pool: Pool
    faults: tuple[str, ...]
    remediator: Remediator
    bound: int

    @property
    def conditions(self) -> str:
        """The types of the nodes' conditions, as alternatives."""
        *others, last = (CONDITIONS[each] for each in self.faults)
        return f"{', '.join(others)} or {last}" if others else last

    @property
    def how(self) -> str:
        """The fate of a host that is repaired."""
        pace = f"{self.remediator.max_unavailable} of the pool at a time"
        if self.remediator.kind is RemediatorKind.MEDIK8S:
            return f"rebooted by itself without evicting its pods, {pace}"
        return f"tainted, drained and rebooted, {pace}"

    @property
    def machines(self) -> int:
        """How many hosts may be repaired in all: hosts that were repaired make room for the next,
        so ``bound`` is none of that number."""
        return self.site.replicas(self.pool)

    @property
    def limit(self) -> str:
        """The condition under which no repair begins."""
        return f"none is begun while more than {self.bound} of them have a fault at once"

    @property
    def source(self) -> str:
        """The source of the rule."""
        return HEALTH_CHECK if self.remediator.kind is RemediatorKind.MEDIK8S else TURNS


class Found(NamedTuple):
    """The effect on some of a pool's hosts."""

    impact: Impact
    hosts: tuple[str, ...]
    why: str
    at_most: int | None = None


def cases_of(site: SiteChange, pool: str, faults: Iterable[str]) -> list[Case]:
    """The repairs on a pool after the change, a case for each remediator."""
    if site.after is None or drops_cluster(site):
        return []
    after, wanted, found = site_of(site.after), set(faults), []
    one = find_pool(after, pool)
    if one is None:
        return []
    for remediator in after.remediators_of(one):
        mine = tuple(each for each in after.repairs(one, remediator) if each in wanted)
        if mine:
            found.append(Case(after, one, mine, remediator, fault_bound(after, one, remediator)))
            wanted -= set(mine)
    return found


def drops_cluster(site: SiteChange) -> bool:
    """True if all objects of the site's own cluster are deleted: nobody names that cluster now."""
    contexts = [each.fleet.context for each in (site.before, site.after) if each]
    return len(contexts) == 2 and contexts[0] is not None and contexts[1] is None


def fault_bound(site: Site, pool: Pool, remediator: Remediator) -> int:
    """How many hosts of a pool may be faulty before repairs stop there."""
    return tolerance(site, remediator, site.replicas(pool))


def tolerance(site: Site, remediator: Remediator, machines: int) -> int:
    """How many of so many nodes may be faulty before repairs stop."""
    found, kind = settings_of(site).may_be_faulty(remediator.kind, machines), remediator.kind
    return min(found, remediator.max_unavailable) if kind is RemediatorKind.MEDIK8S else found


def effects(change: ObjectChange, field: Field, case: Case, found: Iterable[Found]) -> Effects:
    """The found cases, as effects of changes to an object; new hosts have no fault yet."""
    pace = case.remediator.max_unavailable
    for each in found:
        told = effect(change, field, Impact.NONE, each.why, case.source)
        if each.hosts:
            told = told._replace(impact=each.impact, hosts=each.hosts, at_most=each.at_most)
        yield told._replace(at_once=pace if each.hosts else None)


# --- what was seen --------------------------------------------------------------------------------
class Seen(NamedTuple):
    """Of a pool's hosts: which were nodes, which had a fault, of which that is not known, and of
    how many of these: spares have no node."""

    machines: tuple[str, ...]
    bad: tuple[str, ...]
    dark: tuple[str, ...]
    unsure: int


def look(site: SiteChange, case: Case, hosts: Sequence[str]) -> Seen:
    """The faults on hosts in the given state, by the checks as they will be."""
    nodes = site.nodes or {}
    machines = tuple(name for name in hosts if name in nodes)
    bad = tuple(name for name in machines if _bad(site, case, nodes[name]))
    silent = [name for name in machines if name not in bad and _silent(case, nodes[name])]
    unlisted = [name for name in hosts if name not in nodes]
    missing = min(len(unlisted), max(0, case.site.replicas(case.pool) - len(machines)))
    dark = (*silent, *unlisted) if missing else tuple(silent)
    return Seen(machines, bad, dark, len(silent) + missing)


def _bad(site: SiteChange, case: Case, node: NodeState) -> bool:
    """True if a node has one of the faults, and keeps it by a check that changes."""
    seen = (each for each in case.faults if node.status(CONDITIONS[each]) == "True")
    return any(not _well(site, case, fault, node) for fault in seen)


def _silent(case: Case, node: NodeState) -> bool:
    return any(node.status(CONDITIONS[fault]) not in ("True", "False") for fault in case.faults)


def _well(site: SiteChange, case: Case, fault: str, node: NodeState) -> bool:
    if site.before is None:
        return False
    found = shift(site_of(site.before), case.site, case.pool.name, fault)
    if found is None or not any(found):
        return False
    return reading_of(case.site, case.pool, fault, node).faulty is False


def reading_of(site: Site, pool: Pool, fault: str, node: NodeState) -> Reading:
    """The reading of the message of a fault's condition."""
    condition = node.conditions.get(CONDITIONS[fault])
    return reading(site, pool, fault, condition.message if condition else "")


def faulty(case: Case, node: NodeState) -> bool:
    """True if a node has a fault that any remediator of this kind repairs on the pool."""
    site, kind = case.site, case.remediator.kind
    alike = (each for each in site.remediators_of(case.pool) if each.kind is kind)
    faults = {fault for each in alike for fault in site.repairs(case.pool, each)}
    return any(node.status(CONDITIONS[each]) == "True" for each in faults)


def hosts_of(site: SiteChange, pool: Pool) -> tuple[str, ...]:
    """The hosts of a pool that both sides have: one that is new is no node yet."""
    before = set(site.before.fleet.names) if site.before else set()
    after = site.after.fleet.hosts_of(pool.name) if site.after else ()
    return tuple(host.name for host in after if host.name in before)


# --- in words -------------------------------------------------------------------------------------
def describe_nodes(case: Case, nodes: Mapping[str, NodeState], names: Sequence[str]) -> str:
    """Nodes by name, with the messages of their conditions."""
    return list_names([f"{name}{_describe_faults(case, nodes[name])}" for name in names])


def _describe_faults(case: Case, node: NodeState) -> str:
    mine = [each for each in case.faults if node.status(CONDITIONS[each]) == "True"]
    words = (reading_of(case.site, case.pool, each, node).words for each in mine)
    return in_words(", ".join(w or CONDITIONS[f] for w, f in zip(words, mine, strict=True)))


def in_words(said: str) -> str:
    """The text behind a node's name."""
    return f" ({said})" if said else ""


def list_names(names: Sequence[str]) -> str:
    """The first of some names, and the number of the others."""
    some = ", ".join(names[:NAMED])
    more = len(names) - NAMED
    return f"{some} and {more} more" if more > 0 else some
