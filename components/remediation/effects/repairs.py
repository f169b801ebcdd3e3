"""The hosts that may be repaired, and so rebooted, because of a change.

Git says which faults are repaired from now on and which checks find more; it does not say which
nodes have a fault. So any machine of the pool may be rebooted, a few at a time, and which of them
is not known; unless somebody gives the nodes' last known state (``SiteChange.nodes``): then those
that have the fault are. How many may be faulty before nobody is repaired (``Case.bound``) is no
bound of that number: hosts that were repaired make room for others.
"""

from collections.abc import Iterator, Mapping, Sequence

from components.effects import Impact, SiteChange
from components.effects.fleet import NodeState
from components.making.faults import CONDITIONS, QUARANTINED_TAINT, TURN_LABEL
from components.making.told import Told
from components.remediation.effects.cases import (
    Case,
    Found,
    Seen,
    describe_nodes,
    faulty,
    hosts_of,
    in_words,
    list_names,
    look,
    reading_of,
    tolerance,
)
from components.source import site_of
from schemas.model.site_file import Pool
from schemas.model.vocabulary import RemediatorKind

TOLD = Told(__file__)


def _say(name: str, case: Case, **values: object) -> str:
    """A sentence on a case."""
    return TOLD.say(
        name,
        remediator=case.remediator.name,
        conditions=case.conditions,
        pool=case.pool.name,
        how=case.how,
        limit=case.limit,
        **values,
    )


def _any_of(case: Case, hosts: tuple[str, ...], why: str, most: int) -> Found:
    """So many of the hosts at most: their state is not given."""
    return Found(Impact.REBOOT, hosts, f"{why}; {_say('not_given', case)}", min(most, len(hosts)))


# --- faults that are newly mended -----------------------------------------------------------------
def first_repairs(site: SiteChange, case: Case) -> Iterator[Found]:
    """Nodes that have a fault when a remediator begins to repair it."""
    hosts = hosts_of(site, case.pool)
    if site.nodes is None:
        yield _any_of(case, hosts, _say("first", case), case.machines)
        return
    seen = look(site, case, hosts)
    if seen.bad:
        yield from _reboots(case, site.nodes, seen)
    if seen.dark:
        why = _say("first_dark", case, names=list_names(seen.dark))
        yield Found(Impact.REBOOT, seen.dark, why, min(seen.unsure, case.machines))
    if not seen.bad and not seen.dark:
        yield Found(Impact.NONE, (), _say("first_none", case))


def _reboots(case: Case, nodes: Mapping[str, NodeState], seen: Seen) -> Iterator[Found]:
    medik8s = case.remediator.kind is RemediatorKind.MEDIK8S
    # Too many of these stop all repairs (decide.py, ``_held``).
    sick = [
        name
        for name in seen.machines
        if faulty(case, nodes[name]) or (not medik8s and QUARANTINED_TAINT in nodes[name].taints)
    ]
    if len(sick) > tolerance(case.site, case.remediator, len(seen.machines)):
        counts = {"sick": len(sick), "nodes": len(seen.machines), "names": list_names(seen.bad)}
        yield Found(Impact.UNKNOWN, seen.bad, _say("too_many", case, **counts))
        return
    out = {name: word for name in seen.bad if (word := _waits(case, nodes[name]))}
    ready = tuple(name for name in seen.bad if name not in out)
    if ready:
        by_priority = "idle ones first, then those whose pods have the lowest priority"
        order = "; in no order" if medik8s else f"; {by_priority}"
        order = order if len(ready) > case.remediator.max_unavailable else ""
        why = f"{describe_nodes(case, nodes, ready)}: {case.how}{order}"
        yield Found(Impact.REBOOT, ready, f"faulty in the given state: {why}")
    for word in dict.fromkeys(out.values()):
        names = tuple(name for name in out if out[name] == word)
        why = f"{describe_nodes(case, nodes, names)}: {word}; {case.how} when that is over"
        yield Found(Impact.UNKNOWN, names, f"faulty in the given state: {why}")


def _waits(case: Case, node: NodeState) -> str:
    """The reason why a node with a fault is not repaired yet; empty where it is."""
    if case.remediator.kind is RemediatorKind.MEDIK8S:
        return ""
    if QUARANTINED_TAINT in node.taints:
        return "quarantined until a person removes the taint"
    if node.cordoned:
        return "cordoned"
    unready = node.status("Ready") in ("False", "Unknown")
    return "not ready, and left to Cluster API's health check" if unready else ""


# --- a check that finds more ----------------------------------------------------------------------
def stricter_check(site: SiteChange, case: Case, what: Sequence[str]) -> Iterator[Found]:
    """Nodes that had no fault by the old check, and may have one by the new."""
    hosts, why = hosts_of(site, case.pool), _say("stricter", case, what=", ".join(what))
    types = [CONDITIONS[each] for each in case.faults]
    states = {name: _state(site, name) for name in hosts}
    had = tuple(n for n in hosts if any(states[n].status(each) == "True" for each in types))
    rest = tuple(each for each in hosts if each not in had)
    if had:
        names = describe_nodes(case, site.nodes or {}, had)
        yield Found(Impact.NONE, (), _say("had_it", case, names=names))
    if rest or site.nodes is None:
        most = max(1, case.machines - len(had)) if site.nodes is not None else case.machines
        yield Found(Impact.REBOOT, rest, why, min(most, len(rest)))


def _state(site: SiteChange, name: str) -> NodeState:
    """A node as it was seen, without anything where it was not."""
    return (site.nodes or {}).get(name, NodeState())


def longer_fault(site: SiteChange, case: Case, what: Sequence[str]) -> Iterator[Found]:
    """Nodes whose fault counts for longer: no node is repaired after its fault has passed
    (node_repair/decide.py, ``_end_slot``, and the controller alike)."""
    hosts, why = hosts_of(site, case.pool), _say("longer", case, what=", ".join(what))
    if site.nodes is None:
        yield _any_of(case, hosts, why, case.machines)
        return
    seen = look(site, case, hosts)
    given = "in the given state"
    if seen.bad:
        said = f"{why}; {given} {describe_nodes(case, site.nodes, seen.bad)} had one"
        yield Found(Impact.REBOOT, seen.bad, said, len(seen.bad))
    if seen.dark:
        said = f"{why}; the given state does not say of {list_names(seen.dark)}"
        yield Found(Impact.REBOOT, seen.dark, said, min(seen.unsure, case.machines))
    if not seen.bad and not seen.dark:
        yield Found(Impact.NONE, (), f"{why}; {given} no node had one")


# --- nodes in their turn --------------------------------------------------------------------------
def once_more(site: SiteChange, case: Case, because: str) -> list[Found]:
    """Nodes that had their reboot, and would be put aside, or be waited for."""
    hosts, why = hosts_of(site, case.pool), _say("once_more", case, because=because)
    if site.nodes is None:
        return [_any_of(case, hosts, why, case.remediator.max_unavailable)]
    values = {f"{each}" for each in case.faults}
    turning = tuple(name for name in hosts if _state(site, name).labels.get(TURN_LABEL) in values)
    given = f"in the given state {list_names(turning) or 'none'} had a repair slot"
    impact = Impact.REBOOT if turning else Impact.NONE
    return [Found(impact, turning, f"{why}; {given}", len(turning) or None)]


def ended_faults(site: SiteChange, pool: Pool, fault: str, ends: str) -> str:
    """The nodes that lose a fault as a check finds less; ``ends`` is the effect on them."""
    if site.nodes is None:
        return ""
    after = site_of(site.side)
    names: dict[bool | None, list[str]] = {False: [], None: [], True: []}
    for host in after.hosts_of(pool):
        node = _state(site, host.name)
        if node.status(CONDITIONS[fault]) == "True":
            found = reading_of(after, pool, fault, node)
            names[found.faulty].append(f"{host.name}{in_words(found.words)}")
    words = {False: "is_over", None: "may_be_over", True: "goes_on"}
    said = ((words[each], list_names(some)) for each, some in names.items() if some)
    parts = [TOLD.say(word, names=some, ends=ends) for word, some in said]
    return "; ".join(parts) or "no node had the fault in the given state"


# --- nodes that wait ------------------------------------------------------------------------------
def begin_repairs(site: SiteChange, case: Case, more: int, because: str) -> list[Found]:
    """Nodes that have a fault and wait: repairs of ``more`` of them begin at once."""
    hosts, why = hosts_of(site, case.pool), _say("begin", case, because=because)
    if site.nodes is None:
        return [_any_of(case, hosts, why, more)]
    sick = tuple(name for name in hosts if faulty(case, _state(site, name)))
    if not sick:
        return [Found(Impact.NONE, (), f"{why}; no node had a fault in the given state")]
    most = more if more < len(sick) else None
    why += f"; faulty in the given state: {list_names(sick)}"
    return [Found(Impact.REBOOT, sick, why, most)]


def unheld(site: SiteChange, case: Case, earlier: int) -> list[Found]:
    """Nodes that nobody repaired, as more than ``earlier`` of their pool had a fault."""
    hosts = hosts_of(site, case.pool)
    why = _say("unheld", case, bound=case.bound, earlier=earlier)
    if site.nodes is None:
        return [_any_of(case, hosts, why, case.bound)]
    sick = tuple(name for name in hosts if faulty(case, _state(site, name)))
    why += f"; in the given state {len(sick)} had one"
    if len(sick) <= earlier:
        return [Found(Impact.NONE, (), why)]
    if len(sick) <= case.bound:
        return [Found(Impact.REBOOT, sick, f"{why}: {list_names(sick)}")]
    return [Found(Impact.UNKNOWN, sick, f"{why}, which is too many still")]
