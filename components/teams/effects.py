"""Effects of changes to teams, PriorityClasses and limits: no machine stops, and no running pod."""

from components.effects import (
    ABSENT,
    Effects,
    Field,
    Impact,
    ObjectChange,
    Side,
    SiteChange,
    access,
    resources,
)
from components.effects.applying import effect, former, rules
from components.effects.placement import running
from components.effects.table import read_kinds
from components.making.told import Told
from components.source import site_of
from components.teams.namespaces import RDMA_LABEL
from components.teams.policies import ISOLATION, PODS
from schemas.facts.quotas import Holder, models_held_by
from schemas.kubernetes.node_labels import TEAM_LABEL

PREEMPTION = "Kueue 0.19.2, pkg/scheduler/preemption/classical"
PRIORITIES = "Kueue 0.19.2, pkg/controller/core/workloadpriorityclass_controller.go"
TOLD = Told(__file__)
_BELONGS = {TEAM_LABEL, RDMA_LABEL}


def belonging(site: SiteChange, change: ObjectChange, field: Field) -> Effects:
    """Labels by which limits and policies select a team's namespaces."""
    mine = field is not None and len(field.path) == 3 and field.path[2] in _BELONGS
    judge = TABLE.judges["belongs"] if mine else resources.namespace_labels
    yield from judge(site, change, field)


def default_priority(site: SiteChange, change: ObjectChange, field: Field) -> Effects:
    """The PriorityClass of pods that name none; the API server knows one at a time."""
    same_kind = (each for each in site.changes.values() if each.group_kind == change.group_kind)
    others = [
        each.one.title
        for each in same_kind
        if each.one.name != change.one.name and former(each).body.get("globalDefault") is True
    ]
    why = TOLD.say("default") + (TOLD.say("two", others=", ".join(others)) if others else "")
    yield effect(change, field, Impact.NONE, why, resources.PRIORITY)


def ordering(site: SiteChange, change: ObjectChange, field: Field) -> Effects:
    """Kueue gives jobs that run the new number too: where PriorityClasses change places, one that
    waits may at once take the place of one that runs."""
    old, new = (_order(side, change) for side in (site.before, site.after))
    kept = [name for name in new if name in old]
    if kept == [name for name in old if name in new]:
        yield from TABLE.judges["same_order"](site, change, field)
        return
    its = site_of(site.side)
    pools = [pool for model in models_held_by(its, Holder.KUEUE) for pool in its.pools_with(model)]
    hosts = tuple(host.name for pool in pools for host in its.hosts_of(pool))
    source = f"{PRIORITIES}, {PREEMPTION}"
    why, most = TOLD.say("other_order"), running(site.side, hosts)
    yield effect(change, field, Impact.DRAIN, why, source, hosts=hosts, at_most=most)


def _order(side: Side | None, change: ObjectChange) -> list[str]:
    """The PriorityClasses of one side, the lowest first."""
    every = side.objects.values() if side else ()
    priorities = [each.body for each in every if each.group_kind == change.group_kind]
    return [each["metadata"]["name"] for each in sorted(priorities, key=lambda each: each["value"])]


def judging(site: SiteChange, change: ObjectChange, field: Field) -> Effects:
    """Policies of ours: they judge new pods, jobs and queues in the namespaces of teams alone. One
    that judges pods, and comes or changes, may refuse those of templates that are there."""
    of_pods = change.one.name.partition("/")[2] in (PODS, ISOLATION)
    listed = field is not None and field.path[:2] == ("spec", "variables")
    stricter = change.after and of_pods and not listed and _had_teams(site.before)
    yield from TABLE.judges["stricter" if stricter else "judged"](site, change, field)


def _had_teams(side: Side | None) -> bool:
    """True if a side has namespaces of teams on a cluster that answers."""
    answers = side is not None and site_of(side).file.cluster.context is not None
    every = side.objects.values() if side and answers else ()
    spaces = (each.body["metadata"] for each in every if each.kind == "Namespace")
    return any(TEAM_LABEL in each.get("labels", {}) for each in spaces)


def throttle_change(site: SiteChange, change: ObjectChange, field: Field) -> Effects:
    """A limit that changes; where a resource gets another name, its pods are no longer counted."""
    gone = field is not None and field.after is ABSENT and "resourceRequests" in field.path
    yield from TABLE.judges["renamed" if gone else "counted"](site, change, field)


TABLE = read_kinds(vars(access) | vars(resources) | globals())
RULES = rules(*TABLE.kinds)
"""For the kinds of this component; Kubernetes' rules come behind them."""
