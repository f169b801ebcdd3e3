"""Effects of changes to Deployments, StatefulSets, Jobs, CronJobs and Pods: their pods run on some
of the hosts that they fit, and Git does not say which.

Source: Kubernetes 1.34, pkg/controller (deployment, statefulset, job, cronjob) and
pkg/apis (apps, batch, core; each v1/defaults.go and validation/validation.go).
"""

from collections.abc import Callable
from functools import partial
from typing import Any

from components.effects import Effects, Field, Impact, ObjectChange, SiteChange
from components.effects.applying import effect
from components.effects.pods import on_either, restart
from components.effects.rules import Judge, say_more
from components.effects.table import read_kinds
from components.making.manifest import Manifest
from schemas.kubernetes.bodies import mapping

CONTROLLERS = "Kubernetes 1.34, pkg/controller"
DEPLOYMENT = f"{CONTROLLERS}/deployment/deployment_controller.go"
STATEFUL_SET = f"{CONTROLLERS}/statefulset/stateful_set_control.go"
JOB = f"{CONTROLLERS}/job/job_controller.go"
COLLECTED = f"{CONTROLLERS}/garbagecollector/garbagecollector.go"

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


def _counts(change: ObjectChange, count: Count) -> tuple[int, int]:
    before, after = change.before, change.after
    return (count(before) if before else 0, count(after) if after else 0)


def some(
    count: Count | None,
    text: str,
    source: str,
    site: SiteChange,
    change: ObjectChange,
    field: Field,
) -> Effects:
    """Pods stop and start: old ones on as many hosts as there are of them, new ones on as many;
    nobody knows how many without ``count``. ``text`` has the object for ``{}``."""
    words = (text.format(change.one.title), source)
    limit = sum(_counts(change, count)) if count else None
    yield from restart(site, change, field, words, on_either(site, change), limit)


def scale(
    count: Count, source: str, site: SiteChange, change: ObjectChange, field: Field
) -> Effects:
    """More or fewer pods: only the difference starts or stops."""
    old, new = _counts(change, count)
    how = "more pods of {} start" if new > old else "pods of {} stop"
    words = (f"{abs(new - old)} {how.format(change.one.title)}", source)
    yield from restart(site, change, field, words, on_either(site, change), abs(new - old))


def paused(_site: SiteChange, change: ObjectChange, _field: Field) -> bool:
    """True for a Deployment whose pods stay as they are until it goes on."""
    return mapping(change.one.body, "spec").get("paused") is True


def recreates(_site: SiteChange, change: ObjectChange, _field: Field) -> bool:
    """True for a Deployment that stops all pods before it starts new ones."""
    return mapping(change.one.body, "spec", "strategy").get("type") == "Recreate"


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
    yield from some(beyond, text, STATEFUL_SET, site, change, field)


def with_claims(
    when: str, judge: Judge, site: SiteChange, change: ObjectChange, field: Field
) -> Effects:
    """``judge``, with a word where a StatefulSet lets its pods' claims, and so their data, go."""
    policy = mapping(change.one.body, "spec", "persistentVolumeClaimRetentionPolicy")
    words = "the claims of pods that go are deleted, with their data"
    return say_more(judge(site, change, field), words if policy.get(when) == "Delete" else "")


def with_deleted_claims(
    text: str, source: str, site: SiteChange, change: ObjectChange, field: Field
) -> Effects:
    """Pods of a StatefulSet that goes, or of a Deployment, which has no claims."""
    judge = partial(of_replicas, text, source)
    return with_claims("whenDeleted", judge, site, change, field)


of_replicas = partial(some, replicas)
of_a_job = partial(some, parallelism)
of_jobs = partial(some, None)
of_a_pod = partial(some, one)
deployment_scale = partial(scale, replicas, DEPLOYMENT)
stateful_set_scale = partial(with_claims, "whenScaled", partial(scale, replicas, STATEFUL_SET))
job_scale = partial(scale, parallelism, JOB)

_TABLE = read_kinds(globals())
WORKLOADS, CRON_JOBS = _TABLE.kinds, _TABLE.kind("CronJob.batch")
