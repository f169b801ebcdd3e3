"""Effects of changes to Deployments, StatefulSets, Jobs, CronJobs and Pods: their pods run on some
of the hosts that they fit, and Git does not say which.

Source: Kubernetes 1.34, pkg/controller (deployment, statefulset, job, cronjob) and
pkg/apis (apps, batch, core; each v1/defaults.go and validation/validation.go).
"""

from collections.abc import Callable
from typing import Any

from components.effects import kinds
from components.effects.applying import Fixed, Kind, effect
from components.effects.bodies import mapping
from components.effects.placement import Fit
from components.effects.pods import Fits, on_both, places, restart
from components.effects.rules import Judge, harmless
from components.effects.vocabulary import Effects, Field, Impact, ObjectChange, SiteChange
from components.making.manifest import Manifest

CONTROLLERS = "Kubernetes 1.34, pkg/controller"
DEPLOYMENT = f"{CONTROLLERS}/deployment/deployment_controller.go"
STATEFUL_SET = f"{CONTROLLERS}/statefulset/stateful_set_control.go"
JOB = f"{CONTROLLERS}/job/job_controller.go"
CRON_JOB = f"{CONTROLLERS}/cronjob/cronjob_controllerv2.go"
COLLECTED = f"{CONTROLLERS}/garbagecollector/garbagecollector.go"
APPS = "Kubernetes 1.34, pkg/apis/apps/validation/validation.go"
BATCH = "Kubernetes 1.34, pkg/apis/batch/validation/validation.go"
CORE = "Kubernetes 1.34, pkg/apis/core/validation/validation.go, ValidatePodUpdate"

Count = Callable[[Manifest], int]
"""How many pods an object keeps."""


def one(_manifest: Manifest) -> int:
    """A Pod is one."""
    return 1


def number(value: Any, default: int) -> int:
    """A count that may be left out."""
    return value if isinstance(value, int) else default


def replicas(manifest: Manifest) -> int:
    """Pods of a Deployment or a StatefulSet: one, unless it says otherwise."""
    return number(mapping(manifest.body, "spec").get("replicas"), 1)


def parallelism(manifest: Manifest) -> int:
    """Pods of a Job that run at a time: one, unless it says otherwise; none if suspended."""
    spec = mapping(manifest.body, "spec")
    return 0 if spec.get("suspend") is True else number(spec.get("parallelism"), 1)


def _hosts(site: SiteChange, change: ObjectChange) -> Fits:
    """The hosts on which pods of either side may run."""
    old = on_both(site, places(site.before, change.before))
    new = on_both(site, places(site.after, change.after))
    return {name: max(old.get(name, Fit.NO), new.get(name, Fit.NO)) for name in {**old, **new}}


def _counts(change: ObjectChange, count: Count) -> tuple[int, int]:
    before, after = change.before, change.after
    return (count(before) if before else 0, count(after) if after else 0)


def some(text: str, source: str, count: Count | None) -> Judge:
    """A judge for pods that stop and start: old ones on as many hosts as there are of them, new
    ones on as many; nobody knows how many without ``count``. ``text`` has the object for ``{}``."""

    def judge(site: SiteChange, change: ObjectChange, field: Field) -> Effects:
        words = (text.format(change.one.title), source)
        limit = sum(_counts(change, count)) if count else None
        yield from restart(site, change, field, words, _hosts(site, change), limit)

    return judge


def scale(source: str, count: Count) -> Judge:
    """A judge for more or fewer pods: only the difference starts or stops."""

    def judge(site: SiteChange, change: ObjectChange, field: Field) -> Effects:
        old, new = _counts(change, count)
        how = "more pods of {} start" if new > old else "pods of {} stop"
        words = (f"{abs(new - old)} {how.format(change.one.title)}", source)
        yield from restart(site, change, field, words, _hosts(site, change), abs(new - old))

    return judge


def deployment_template(site: SiteChange, change: ObjectChange, field: Field) -> Effects:
    """A Deployment's changed template makes new pods, by its strategy, unless it is paused."""
    spec = mapping(change.one.body, "spec")
    if spec.get("paused") is True:
        why = "the Deployment is paused: its pods change when it goes on"
        yield effect(change, field, Impact.NONE, why, DEPLOYMENT)
        return
    recreate = mapping(spec, "strategy").get("type") == "Recreate"
    how = "all stop at once, then new ones start" if recreate else "are replaced a few at a time"
    yield from some(f"pods of {{}} {how}", DEPLOYMENT, replicas)(site, change, field)


def strategy(_site: SiteChange, change: ObjectChange, field: Field) -> Effects:
    """How a Deployment's pods are replaced, from the next time on."""
    why = "running pods stay as they are"
    if mapping(change.one.body, "spec", "strategy").get("type") == "Recreate":
        why += (
            "; server-side apply leaves a default rollingUpdate behind, so the API server refuses "
            "Recreate unless the strategy before named its rollingUpdate"
        )
    yield effect(change, field, Impact.NONE, why, APPS)


def resumption(site: SiteChange, change: ObjectChange, field: Field) -> Effects:
    """A resumed Deployment rolls out the changes made while it was paused."""
    if mapping(change.one.body, "spec").get("paused") is True:
        why = "the Deployment is paused: pods stay as they are"
        yield effect(change, field, Impact.NONE, why, DEPLOYMENT)
        return
    text = "pods of {} are replaced if its template changed while it was paused"
    yield from some(text, DEPLOYMENT, replicas)(site, change, field)


def stateful_set_template(site: SiteChange, change: ObjectChange, field: Field) -> Effects:
    """A StatefulSet's changed template or strategy replaces its pods from the last one down to
    the partition, unless only deleting renews them."""
    strategy = mapping(change.one.body, "spec", "updateStrategy")
    if strategy.get("type") == "OnDelete":
        why = "its pods stay as they are until someone deletes them (updateStrategy OnDelete)"
        yield effect(change, field, Impact.NONE, why, STATEFUL_SET)
        return
    kept = number(mapping(strategy, "rollingUpdate").get("partition"), 0)

    def beyond(manifest: Manifest) -> int:
        return max(0, replicas(manifest) - kept)

    text = "pods of {} that have another template are replaced, the last one first"
    yield from some(text, STATEFUL_SET, beyond)(site, change, field)


def with_claims(judge: Judge, when: str) -> Judge:
    """``judge``, with a word where a StatefulSet lets its pods' claims, and so their data, go."""

    def judge_with_claims(site: SiteChange, change: ObjectChange, field: Field) -> Effects:
        policy = mapping(change.one.body, "spec", "persistentVolumeClaimRetentionPolicy")
        lost = policy.get(when) == "Delete"
        for each in judge(site, change, field):
            why = f"{each.why}; the claims of pods that go are deleted, with their data"
            yield each._replace(why=why) if lost else each

    return judge_with_claims


NOT_NOW = harmless("running pods stay as they are", CONTROLLERS)

_STARTS = "pods of {} start"
_STOPS = "all pods of {} stop, and do not come back"
_LOST = "pods of {} stop and the work in them is lost"
_ANEW = "all its pods stop at once, and new ones start"


def _replicated_kind(kind: str, fields: tuple[tuple[str, Judge], ...], *fixed: Fixed) -> Kind:
    return Kind(
        kind,
        some(_STARTS, CONTROLLERS, replicas),
        with_claims(some(_STOPS, COLLECTED, replicas), "whenDeleted"),
        fields,
        fixed,
        with_claims(some(_ANEW, COLLECTED, replicas), "whenDeleted"),
    )


DEPLOYMENTS = _replicated_kind(
    kinds.DEPLOYMENT,
    (
        ("spec.template", deployment_template),
        ("spec.replicas", scale(DEPLOYMENT, replicas)),
        ("spec.paused", resumption),
        ("spec.strategy", strategy),
        ("spec.minReadySeconds", NOT_NOW),
        ("spec.revisionHistoryLimit", NOT_NOW),
        ("spec.progressDeadlineSeconds", NOT_NOW),
    ),
    Fixed("spec.selector", True, True, APPS),
)
STATEFUL_SETS = _replicated_kind(
    "StatefulSet.apps",
    (
        ("spec.template", stateful_set_template),
        ("spec.updateStrategy", stateful_set_template),
        ("spec.replicas", with_claims(scale(STATEFUL_SET, replicas), "whenScaled")),
        ("spec.ordinals", some("pods of {} get other ordinals", STATEFUL_SET, replicas)),
        ("spec.minReadySeconds", NOT_NOW),
        ("spec.revisionHistoryLimit", NOT_NOW),
        ("spec.persistentVolumeClaimRetentionPolicy", NOT_NOW),
    ),
    Fixed("spec.selector", True, True, APPS),
    Fixed("spec.serviceName", True, True, APPS),
    Fixed("spec.podManagementPolicy", True, True, APPS),
    Fixed("spec.volumeClaimTemplates", True, True, APPS),
    Fixed("spec.revisionHistoryLimit", True, False, APPS),
)
JOBS = Kind(
    "Job.batch",
    some(_STARTS, JOB, parallelism),
    some(_LOST, COLLECTED, parallelism),
    (
        ("spec.parallelism", scale(JOB, parallelism)),
        ("spec.suspend", some("pods of {} stop, or start again", JOB, parallelism)),
        ("spec.ttlSecondsAfterFinished", NOT_NOW),
    ),
    (
        Fixed("spec.completions", True, False, BATCH),
        Fixed("spec.parallelism", True, False, BATCH),
        Fixed("spec.selector", True, True, BATCH),
        Fixed("spec.template", True, True, BATCH),
        Fixed("spec.completionMode", False, True, BATCH),
        Fixed("spec.podFailurePolicy", False, True, BATCH),
        Fixed("spec.backoffLimitPerIndex", False, True, BATCH),
        Fixed("spec.managedBy", False, True, BATCH),
        Fixed("spec.successPolicy", False, True, BATCH),
    ),
    some("pods of {} stop, their work is lost, and new ones start over", COLLECTED, parallelism),
)


CRON_JOBS = Kind(
    "CronJob.batch",
    harmless("its Jobs start when their time comes", CRON_JOB),
    some(f"its Jobs that run are deleted with it: {_LOST}", COLLECTED, None),
    (("spec", harmless("only Jobs that start later are made so", CRON_JOB)),),
)
PODS = Kind(
    "Pod",
    some("{} starts", CONTROLLERS, one),
    some("{} stops, and does not come back", CONTROLLERS, one),
    (
        (
            "spec",
            some("{} stops and is created again, as few fields of a pod can change", CORE, one),
        ),
    ),
)
WORKLOADS = (DEPLOYMENTS, STATEFUL_SETS, JOBS, CRON_JOBS, PODS)
