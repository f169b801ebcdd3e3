"""Effects of changes to teams, PriorityClasses and limits on machines: none stops, and no running
pod does.

A limit that is lowered evicts nobody, whoever holds it; what it changes is what starts later, and
with Kueue and a PodGroup's queue also who makes way when something of a higher PriorityClass waits.

Sources: pfnet/kube-throttler 1.7.4, pkg/controllers, pkg/scheduler_plugin; Kueue 0.19.2,
pkg/controller/core, pkg/scheduler/preemption; Volcano 1.15.1, installer/helm (actions),
pkg/webhooks/admission/queues; Kubernetes 1.34, plugin/pkg/admission/priority/admission.go.
"""

from collections.abc import Iterable

from components.effects import kinds
from components.effects.access import ADMISSION, RBAC
from components.effects.applying import Applier, Fixed, Kind, effect, former, not_known, rules
from components.effects.placement import running
from components.effects.resources import (
    CLASSES,
    NAMESPACES,
    PRIORITY,
    SCHEDULING,
    namespace_labels,
    namespace_removal,
    priority_class_removal,
)
from components.effects.rules import Judge, Rule, harmless
from components.effects.vocabulary import (
    ABSENT,
    Effect,
    FieldChange,
    Impact,
    ObjectChange,
    Side,
    SiteChange,
)
from components.source import site_of
from components.teams.namespaces import RDMA_LABEL
from components.teams.policies import ISOLATION, PODS
from schemas.facts.quotas import Holder, models_held_by
from schemas.kubernetes.node_labels import TEAM_LABEL

THROTTLER = "pfnet/kube-throttler 1.7.4, pkg/controllers/clusterthrottle_controller.go"
KUEUE = "Kueue 0.19.2, pkg/controller/core"
PREEMPTION = "Kueue 0.19.2, pkg/scheduler/preemption/classical"
PRIORITIES = "Kueue 0.19.2, pkg/controller/core/workloadpriorityclass_controller.go"
FLAVORS = "Kueue 0.19.2, pkg/util/equality/podset.go"
VOLCANO = "Volcano 1.15.1, installer/helm/chart/volcano/config, pkg/webhooks/admission/queues"
LOCAL_QUEUES = "Kueue 0.19.2, apis/kueue/v1beta2/localqueue_types.go (CEL rule)"
_BELONGS = {TEAM_LABEL, RDMA_LABEL}

_WAITS = "; `pulumi up` waits for its end, and fails after ten minutes"


def belonging(
    site: SiteChange, change: ObjectChange, field: FieldChange | None
) -> Iterable[Effect]:
    """Labels by which limits and policies select a team's namespaces."""
    if field is None or len(field.path) != 3 or field.path[2] not in _BELONGS:
        yield from namespace_labels(site, change, field)
        return
    why = (
        "limits and policies select namespaces by it: running pods continue, and are counted for "
        "the team that the namespace belongs to now; later pods are judged so"
    )
    yield effect(change, field, Impact.NONE, why, f"{THROTTLER}, {ADMISSION}")


def default_priority(
    site: SiteChange, change: ObjectChange, field: FieldChange | None
) -> Iterable[Effect]:
    """The PriorityClass of pods that name none; the API server knows one at a time."""
    others = [
        each.one.title
        for each in site.changes.values()
        if each.group_kind == change.group_kind
        and each.one.name != change.one.name
        and former(each).body.get("globalDefault") is True
    ]
    why = "later pods get it so; those that run keep what they have"
    if others:
        why += (
            f"; while {', '.join(others)} is still the default the API server refuses a second "
            "one: if `pulumi up` stops there, run it again"
        )
    yield effect(change, field, Impact.NONE, why, PRIORITY)


def ordering(site: SiteChange, change: ObjectChange, field: FieldChange | None) -> Iterable[Effect]:
    """Kueue gives jobs that run the new number too: where PriorityClasses change places, one that
    waits may at once take the place of one that runs."""
    old, new = (_order(side, change) for side in (site.before, site.after))
    kept = [name for name in new if name in old]
    if kept == [name for name in old if name in new]:
        yield from SAME_ORDER(site, change, field)
        return
    its = site_of(site.side)
    pools = [pool for model in models_held_by(its, Holder.KUEUE) for pool in its.pools_with(model)]
    hosts = tuple(host.name for pool in pools for host in its.hosts_of(pool))
    why = (
        "PriorityClasses change order: running jobs get the new value, and pending jobs may now "
        "preempt them; how many is not in Git"
    )
    found = effect(change, field, Impact.DRAIN, why, f"{PRIORITIES}, {PREEMPTION}")
    yield found._replace(hosts=hosts, at_most=running(site.side, hosts))


def _order(side: Side | None, change: ObjectChange) -> list[str]:
    """The PriorityClasses of one side, the lowest first."""
    every = side.objects.values() if side else ()
    priorities = [each.body for each in every if each.group_kind == change.group_kind]
    return [each["metadata"]["name"] for each in sorted(priorities, key=lambda each: each["value"])]


def judging(site: SiteChange, change: ObjectChange, field: FieldChange | None) -> Iterable[Effect]:
    """Policies of ours: they judge new pods, jobs and queues in the namespaces of teams alone. One
    that judges pods, and comes or changes, may refuse those of templates that are there."""
    of_pods = change.one.name.partition("/")[2] in (PODS, ISOLATION)
    listed = field is not None and field.path[:2] == ("spec", "variables")
    if change.after and of_pods and not listed and _had_teams(site.before):
        yield from STRICTER(site, change, field)
        return
    why = (
        "it judges what is made later in the namespaces of teams, pods that are created again too; "
        "what runs there stays, and nodes write nothing that it judges"
    )
    yield effect(change, field, Impact.NONE, why, ADMISSION)


def _had_teams(side: Side | None) -> bool:
    """True if a side has namespaces of teams on a cluster that answers."""
    answers = side is not None and site_of(side).file.cluster.context is not None
    every = side.objects.values() if side and answers else ()
    return any(
        TEAM_LABEL in each.body["metadata"].get("labels", {})
        for each in every
        if each.kind == "Namespace"
    )


STRICTER = not_known(
    "running pods continue; those that are created again from templates which are there, as after "
    "a drain, are refused where they break a rule that is new, and whether any does is not in Git",
    ADMISSION,
)


COUNTED = harmless(
    "nothing is evicted: running pods continue, above the limit too, and are counted; whether "
    "others start is judged by it at once",
    THROTTLER,
)
RENAMED = harmless(
    "running pods continue, and those that asked by this name are counted no more: until they end, "
    "more of the model may be in use than its limit",
    THROTTLER,
)
UNCOUNTED = harmless("running pods continue; those that it held start, without a limit", THROTTLER)
QUEUED = harmless(
    "nothing is evicted by it: running jobs continue, above the limit too, and none starts until "
    "there is room; a job of a higher priority may preempt all that is above the limit, however "
    "small it is itself",
    PREEMPTION,
)
NEW_QUEUE = harmless("no job is in it yet", KUEUE)
CLOSED = harmless(
    f"running jobs continue, and none starts from it; it goes when the last one has ended{_WAITS}",
    KUEUE,
)
POOLED = harmless(
    "running jobs continue; without the cohort's quota no queue can borrow, so none starts", KUEUE
)
MOVED = harmless(
    "running jobs continue; those that wait for it start no more; later ones that name no queue "
    "start without a limit where Kueue's manageJobsWithoutQueueName is off (docs/prerequisites.md)",
    KUEUE,
)
PLACED = harmless("running jobs stay where they are; those that start later go so", FLAVORS)
KEPT = harmless(f"running jobs continue; it goes when no queue names it{_WAITS}", KUEUE)
SAME_ORDER = harmless(
    "PriorityClasses keep their order, so the same jobs are scheduled first as before", PRIORITIES
)
UNORDERED = harmless("jobs keep the number that they have", PRIORITIES)
QUEUE = harmless(
    "running jobs continue, above the limit too; none starts until there is room", VOLCANO
)
PEOPLE = harmless(
    "people have other rights from their next request on; programs have accounts of their own, and "
    "pods and jobs continue",
    RBAC,
)
NO_QUEUE = harmless("running jobs continue; those that wait in it start no more", VOLCANO)


def throttle_change(
    site: SiteChange, change: ObjectChange, field: FieldChange | None
) -> Iterable[Effect]:
    """A limit that changes; where a resource gets another name, its pods are no longer counted."""
    gone = field is not None and field.after is ABSENT and "resourceRequests" in field.path
    yield from (RENAMED if gone else COUNTED)(site, change, field)


def _limit(name: str, added: Judge, gone: Judge, changed: Judge, *fixed: Fixed) -> Kind:
    return Kind(name, added, gone, (("spec", changed),), fixed)


KINDS = (
    Kind(
        "Namespace",
        harmless("it is empty at first", NAMESPACES),
        namespace_removal,
        (),
        labels=belonging,
    ),
    Kind(
        "PriorityClass.scheduling.k8s.io",
        CLASSES,
        priority_class_removal,
        (("globalDefault", default_priority), ("description", CLASSES)),
        (
            Fixed("value", replaces=False, refuses=True, source=SCHEDULING),
            Fixed("preemptionPolicy", replaces=False, refuses=True, source=SCHEDULING),
        ),
    ),
    _limit(kinds.POLICY, judging, judging, judging),
    _limit(kinds.POLICY_BINDING, judging, judging, judging),
    _limit(
        "ClusterThrottle.schedule.k8s.everpeace.github.com", COUNTED, UNCOUNTED, throttle_change
    ),
    _limit("ClusterQueue.kueue.x-k8s.io", NEW_QUEUE, CLOSED, QUEUED),
    _limit("Cohort.kueue.x-k8s.io", NEW_QUEUE, POOLED, QUEUED),
    _limit(
        "LocalQueue.kueue.x-k8s.io",
        NEW_QUEUE,
        MOVED,
        MOVED,
        Fixed("spec.clusterQueue", replaces=False, refuses=True, source=LOCAL_QUEUES),
    ),
    _limit("ResourceFlavor.kueue.x-k8s.io", NEW_QUEUE, KEPT, PLACED),
    Kind(
        "WorkloadPriorityClass.kueue.x-k8s.io",
        harmless("no job names it yet", PRIORITIES),
        UNORDERED,
        (("value", ordering), ("description", harmless("it is read by people", PRIORITIES))),
    ),
    _limit("Queue.scheduling.volcano.sh", QUEUE, NO_QUEUE, QUEUE),
    Kind(kinds.CLUSTER_ROLE, PEOPLE, PEOPLE, (("rules", PEOPLE),)),
    Kind(kinds.ROLE_BINDING, PEOPLE, PEOPLE, (("subjects", PEOPLE),)),
    Kind(kinds.CLUSTER_ROLE_BINDING, PEOPLE, PEOPLE, (("subjects", PEOPLE),)),
)
RULES: list[Rule] = [rule for kind in KINDS for rule in rules(kind, Applier.PULUMI)]
"""For the kinds of this component; Kubernetes' rules come behind them."""
