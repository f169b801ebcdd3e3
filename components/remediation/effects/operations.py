"""Effects of changes to Node Operation Controller's objects on machines."""

from components.effects import Effects, Field, Impact, Name, ObjectChange, SiteChange
from components.effects.applying import effect, former, rules
from components.effects.fleet import NodeState
from components.effects.table import read_kinds
from components.making.faults import FAULTY_TAINT, TURN_LABEL
from components.making.manifest import Manifest
from components.making.told import Told
from components.remediation.effects.cases import Case, cases_of, drops_cluster, effects, list_names
from components.remediation.effects.repairs import begin_repairs, first_repairs
from components.remediation.names import REMEDIATOR_LABEL, remediated_pools
from components.source import site_of
from schemas.kubernetes.bodies import items, mapping
from schemas.kubernetes.node_labels import POOL_LABEL
from schemas.model.faults import fault_of

_CONTROLLERS = "pfnet-research/node-operation-controller 0ac94deb, controllers"
OPERATIONS = f"{_CONTROLLERS}/nodeoperation_controller.go"
TEMPLATES = f"{_CONTROLLERS}/noderemediationtemplate_controller.go"
SAID = Told(__file__)


def place(manifest: Manifest) -> tuple[str, list[str | None]]:
    """The pool of a NodeRemediationTemplate, and the faults that it is for; None for a condition
    that no check of ours sets."""
    selected = mapping(manifest.body, "spec", "nodeSelector")
    rule = mapping(manifest.body, "spec", "template", "spec", "rule")
    types = [str(each.get("type")) for each in items(rule, "conditions")]
    return str(selected.get(POOL_LABEL, "")), [fault_of(each) for each in types]


def starts(site: SiteChange, change: ObjectChange, field: Field) -> Effects:
    """A template that comes, or asks for something else: who has the fault is repaired by it. Said
    once for all templates of a remediator's pool that come with the same change."""
    pool, faults = place(change.one)
    known = [each for each in faults if each]
    cases = cases_of(site, pool, known)
    if not cases:
        yield from TABLE.judges["some_nodes"](site, change, field)
    for case in cases:
        first, every = _together(site, case)
        if first == change.name:
            together = case._replace(faults=every)
            yield from effects(change, field, together, first_repairs(site, together))
        else:
            yield from TABLE.judges["told_at_the_first"](site, change, field)


def _together(site: SiteChange, case: Case) -> tuple[Name, tuple[str, ...]]:
    """The first of the templates of a remediator's pool that come, or ask for something else, and
    the faults of all of them."""
    names: list[Name] = []
    faults: list[str] = []
    for name, change in site.changes.items():
        template = change.group_kind == "NodeRemediationTemplate.nodeops.k8s.preferred.jp"
        if not template or change.after is None or not _asks(change):
            continue
        pool, mine = place(change.after)
        if pool == case.pool.name:
            for each in cases_of(site, pool, filter(None, mine)):
                if each.remediator.name == case.remediator.name:
                    names.append(name)
                    faults += each.faults
    order = [each for each in case.remediator.faults if each in faults]
    return names[0], tuple(order)


def _asks(change: ObjectChange) -> bool:
    """True if a template is new, or selects other nodes, or by other conditions."""
    if change.before is None or change.before.key != change.one.key:
        return True
    return place(change.before) != place(change.one) or any(
        mapping(change.before.body, *path) != mapping(change.one.body, *path)
        for path in (("spec", "nodeSelector"), ("spec", "template", "spec", "rule"))
    )


def ends(site: SiteChange, change: ObjectChange, field: Field) -> Effects:
    """A template that goes takes the repairs under way along; what becomes of a node's taints."""
    pool, faults = place(former(change))
    words = [SAID.say("ends"), _turning(site, pool, faults)]
    words += [_afterwards(site, pool, fault) for fault in faults if fault]
    why = "; ".join(dict.fromkeys(filter(None, words)))
    yield effect(change, field, Impact.NONE, why, f"{TEMPLATES}; {OPERATIONS} (removeTaints)")


def _turning(site: SiteChange, pool: str, faults: list[str | None]) -> str:
    """The nodes that had their repair slot, where their state was given."""
    if site.nodes is None:
        return ""
    values = {f"{each}" for each in faults if each}
    mine = [
        host.name
        for host in site.sides[0].fleet.hosts
        if host.pool == pool
        and site.nodes.get(host.name, NodeState()).labels.get(TURN_LABEL) in values
    ]
    return f"by the given state, these are {list_names(mine) or 'none'}"


def _afterwards(site: SiteChange, pool: str, fault: str) -> str:
    """The fate of a node that still has the fault."""
    if site.after is None or drops_cluster(site) or not remediated_pools(site_of(site.after)):
        return SAID.say("programs_end", taint=FAULTY_TAINT)
    for case in cases_of(site, pool, [fault]):
        return f"{case.remediator.name} repairs it from now on, and starts over"
    return SAID.say("nobody_repairs", taint=FAULTY_TAINT)


def anew(site: SiteChange, change: ObjectChange, field: Field) -> Effects:
    """A template under another name, or for other nodes or conditions."""
    yield from ends(site, change, field)
    yield from starts(site, change, field)


# --- budgets --------------------------------------------------------------------------------------
def _cases(site: SiteChange, manifest: Manifest) -> list[Case]:
    """The repairs of the remediator that a budget belongs to."""
    names = mapping(manifest.body, "metadata", "labels")
    for remediator, pool in remediated_pools(site_of(site.after)) if site.after else []:
        if (remediator.name, pool.name) == (names.get(REMEDIATOR_LABEL), names.get(POOL_LABEL)):
            found = cases_of(site, pool.name, remediator.faults)
            return [each for each in found if each.remediator.name == remediator.name]
    return []


def limit(site: SiteChange, change: ObjectChange, field: Field) -> Effects:
    """More or fewer nodes at a time."""
    both = former(change), change.one
    old, new = (mapping(each.body, "spec").get("maxUnavailable") for each in both)
    if not isinstance(old, int) or not isinstance(new, int):
        return budget_removal(site, change, field)
    if new <= old:
        return TABLE.judges["lower_limit"](site, change, field)
    return budget_removal(site, change, field, new - old)


def budget_removal(
    site: SiteChange, change: ObjectChange, field: Field, more: int | None = None
) -> Effects:
    """A budget that goes, counts otherwise, or lets out ``more``, may have delayed a repair."""
    cases = _cases(site, change.one)
    for case in cases:
        number = case.remediator.max_unavailable if more is None else more
        because = f"it lets {number} more nodes out at a time" if more else "it holds nodes no more"
        yield from effects(change, field, case, begin_repairs(site, case, number, because))
    if not cases:
        yield from TABLE.judges["held_nothing"](site, change, field)


def own_labels(site: SiteChange, change: ObjectChange, field: Field) -> Effects:
    """Labels of a budget: only those by which operations choose it count."""
    sides = [mapping(each.body, "metadata", "labels") for each in (former(change), change.one)]
    same = all(sides[0].get(key) == sides[1].get(key) for key in (REMEDIATOR_LABEL, POOL_LABEL))
    yield from (TABLE.judges["copied"] if same else budget_removal)(site, change, field)


TABLE = read_kinds(globals())
RULES = rules(*TABLE.kinds)
"""The rules of the controller's kinds."""
