"""Jobs that wait: pods within their team's limits, gangs that nobody wakes, queues of Kueue and
Volcano, and the end of the off-peak days.

Sources: pfnet/scheduler-plugins f63b46e, plugins/gang/gangs.go (a gang that is not ready or not
woken is held before its first attempt, and then a pod has no condition PodScheduled at all);
Kubernetes 1.34.3, pkg/scheduler; Kueue 0.19.2, pkg/metrics/metrics.go; Volcano 1.15.1,
pkg/scheduler/plugins/gang/gang.go (unschedule_task_count).
"""

from collections.abc import Iterator

from components.making.manifest import Json
from components.making.promql import (
    GUARANTEED,
    TEAMS,
    USED,
    Exporter,
    asks,
    minutes,
    of,
    recent,
    state,
)
from components.making.watch import Alert, record
from components.schedulers.names import kinds
from schemas.facts.off_peak import windows
from schemas.facts.site import Site
from schemas.model.monitoring import Thresholds
from schemas.model.scheduling import OffPeak
from schemas.model.vocabulary import BackendKind

WAITING = "foresite:accelerators_waiting:pod"
"""Requests of each pod that a scheduler could not place, by ``model``."""
ADMITTED = "30m"
"""Time for which an admitted job shows that its queue moves."""
WARN_DAYS = 14
DAY = 86400


def rules(site: Site, limits: Thresholds) -> list[Json | Alert]:
    """Recording rules and alerts on waiting."""
    found: list[Json | Alert] = []
    if site.models():
        found += [*(_waiting(site, model) for model in site.models()), _long(site, limits)]
    found += _gangs(site, limits)
    if BackendKind.KUEUE in kinds(site):
        found += _kueue(limits)
    if BackendKind.VOLCANO in kinds(site):
        found += _volcano(limits)
    if site.scheduling.off_peak:
        found.append(_off_peak(site.scheduling.off_peak))
    return found


def _waiting(site: Site, model: str) -> Json:
    metric = "kube_pod_status_unschedulable"
    held = of(site, Exporter.KUBE_STATE_METRICS, metric)
    asked = asks(site, model, 'node=""')
    return record(
        "accelerators_waiting:pod",
        f"{asked} and on (namespace, pod) {held} == 1",
        model=model,
    )


def _older(site: Site, count: int) -> str:
    created = state(site, "kube_pod_created")
    return f"time() - max by (namespace, pod) ({created}) > {count * 60}"


def _long(site: Site, limits: Thresholds) -> Alert:
    old = f"on (namespace, pod) ({_older(site, limits.queue_minutes)})"
    waiting = recent(WAITING)
    teams = any(team.accelerators for team in site.scheduling.teams)
    if teams:
        # What would go beyond the team's limit waits rightly; a gang is all its pods.
        pods = f"{waiting} * on (namespace) group_left (team) {TEAMS} and {old}"
        left = f"{GUARANTEED} - {recent(USED)}"
        within = f"sum by (team, model) ({pods}) <= on (team, model) ({left})"
        pods = f"({pods}) and on (team, model) ({within})"
        by = "team, namespace, model"
    else:
        pods, by = f"{waiting} and {old}", "namespace, model"
    return Alert(
        "PodsWait",
        f"count by ({by}) ({pods})",
        "10m",
        "{{ $value }} pods of namespace {{ $labels.namespace }} wait for {{ $labels.model }}",
        f"They have waited for more than {limits.queue_minutes} minutes, and no limit holds them "
        "back, even counted together: the accelerators that their team is guaranteed are not "
        "available.",
    )


def _gangs(site: Site, limits: Thresholds) -> Iterator[Alert]:
    """One for each scheduler with the gang plugin."""
    for backend in site.scheduling.backends:
        if backend.scheduler is None or backend.scheduler.gang is None:
            continue
        own = state(site, "kube_pod_scheduler", f'name="{backend.name}"')
        waits = state(site, "kube_pod_status_phase", 'phase="Pending"')
        tried = state(site, "kube_pod_status_scheduled")
        never = (
            f"max by (namespace, pod) ({own}) and on (namespace, pod) {waits} == 1 "
            f"unless on (namespace, pod) {tried}"
        )
        old = _older(site, limits.gang_minutes)
        yield Alert(
            "GangWaits",
            f"count by (namespace) (({never}) and on (namespace, pod) ({old}))",
            "5m",
            "{{ $value }} pods of gangs in namespace {{ $labels.namespace }} were never tried",
            f"Pods of {backend.name} wait at the gate of the gang plugin for more than "
            f"{limits.gang_minutes} minutes: a gang lacks a pod, its pods disagree about its "
            "size, or nothing wakes it.",
            labels={"scheduler": backend.name},
        )


def _kueue(limits: Thresholds) -> Iterator[Alert]:
    active = recent('kueue_pending_workloads{status="active"}')
    pending = f"max by (cluster_queue) ({active})"
    admitted = f"increase(kueue_admitted_workloads_total[{ADMITTED}])"
    yield Alert(
        "KueueQueueStuck",
        f"{pending} > 0 unless on (cluster_queue) (sum by (cluster_queue) ({admitted}) > 0)",
        minutes(limits.queue_minutes),
        "Kueue admits none of {{ $value }} jobs of queue {{ $labels.cluster_queue }}",
        f"Jobs were in the queue for {limits.queue_minutes} minutes, and none was admitted.",
    )
    status = recent('kueue_cluster_queue_status{status="active"}')
    yield Alert(
        "KueueQueueInactive",
        f"max by (cluster_queue) ({status}) == 0",
        "15m",
        "Kueue's queue {{ $labels.cluster_queue }} is not active",
        "No job of the team starts: a flavour or an admission check that the queue names is "
        "missing, or somebody stopped it.",
    )


def _volcano(limits: Thresholds) -> Iterator[Alert]:
    """The metric names a job without its namespace, and does not say why it waits."""
    waits = "max by (job_id) (last_over_time(volcano_unschedule_task_count[5m]))"
    yield Alert(
        "VolcanoJobWaits",
        f"{waits} > 0",
        minutes(limits.queue_minutes),
        "Job {{ $labels.job_id }} waits for {{ $value }} more places",
        f"Volcano has not placed the whole job for {limits.queue_minutes} minutes: its queue is at "
        "its limit, and the job waits rightly, or places are lacking. Jobs of one name in several "
        "namespaces look like one.",
    )


def _off_peak(off_peak: OffPeak) -> Alert:
    end = int(windows(off_peak)[-1].end.timestamp())
    return Alert(
        "OffPeakEnds",
        f"(vector({end}) - time()) / {DAY} < {WARN_DAYS}",
        "0m",
        "The off-peak days of the site end in {{ $value | printf `%.0f` }} days",
        f"After {off_peak.last_day} the usual limits hold at all hours, until "
        "scheduling.off_peak.last_day is a later day.",
    )
