"""Effects of changes to Deployments, StatefulSets, Jobs, CronJobs and Pods: their pods run on some
of the hosts that they fit, and Git does not say which.

Source: Kubernetes 1.34, pkg/controller (deployment, statefulset, job, cronjob) and
pkg/apis (apps, batch, core; each v1/defaults.go and validation/validation.go).
"""

from collections.abc import Callable
from typing import Any

from components.effects.applying import effect
from components.effects.bodies import mapping
from components.effects.placement import Fit
from components.effects.pods import Fits, on_both, places, restart
from components.effects.rules import Judge
from components.effects.table import read_table
from components.effects.vocabulary import Effects, Field, Impact, ObjectChange, SiteChange
from components.making.manifest import Manifest

CONTROLLERS = "Kubernetes 1.34, pkg/controller"
DEPLOYMENT = f"{CONTROLLERS}/deployment/deployment_controller.go"
STATEFUL_SET = f"{CONTROLLERS}/statefulset/stateful_set_control.go"
JOB = f"{CONTROLLERS}/job/job_controller.go"
COLLECTED = f"{CONTROLLERS}/garbagecollector/garbagecollector.go"
APPS = "Kubernetes 1.34, pkg/apis/apps/validation/validation.go"
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


_STARTS = "pods of {} start"
_LOST = "pods of {} stop and the work in them is lost"
_STOPPED = some("all pods of {} stop, and do not come back", COLLECTED, replicas)
_ANEW = some("all its pods stop at once, and new ones start", COLLECTED, replicas)
_AGAIN = "pods of {} stop, their work is lost, and new ones start over"

_TABLE = read_table(
    __file__,
    {
        "replicas_start": some(_STARTS, CONTROLLERS, replicas),
        "replicas_stop": with_claims(_STOPPED, "whenDeleted"),
        "replicas_anew": with_claims(_ANEW, "whenDeleted"),
        "deployment_template": deployment_template,
        "deployment_scale": scale(DEPLOYMENT, replicas),
        "resumption": resumption,
        "strategy": strategy,
        "stateful_set_template": stateful_set_template,
        "stateful_set_scale": with_claims(scale(STATEFUL_SET, replicas), "whenScaled"),
        "ordinals": some("pods of {} get other ordinals", STATEFUL_SET, replicas),
        "job_start": some(_STARTS, JOB, parallelism),
        "job_stop": some(_LOST, COLLECTED, parallelism),
        "job_anew": some(_AGAIN, COLLECTED, parallelism),
        "job_scale": scale(JOB, parallelism),
        "job_suspend": some("pods of {} stop, or start again", JOB, parallelism),
        "jobs_stop": some(f"its Jobs that run are deleted with it: {_LOST}", COLLECTED, None),
        "pod_start": some("{} starts", CONTROLLERS, one),
        "pod_stop": some("{} stops, and does not come back", CONTROLLERS, one),
        "pod_anew": some(
            "{} stops and is created again, as few fields of a pod can change", CORE, one
        ),
    },
    controllers=CONTROLLERS,
    apps=APPS,
)
WORKLOADS, CRON_JOBS = _TABLE.kinds, _TABLE.kind("CronJob.batch")
