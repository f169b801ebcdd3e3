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
from components.making.told import Told
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
TOLD = Told(__file__)


def rules(site: Site, limits: Thresholds) -> list[Json | Alert]:
    """Recording rules and alerts on waiting."""
    found: list[Json | Alert] = []
    if site.models():
        found += [*(_waiting(site, model) for model in site.models()), _long(site, limits)]
    found += _gangs(site, limits)
    if BackendKind.KUEUE in kinds(site):
        found += _kueue(limits)
    if BackendKind.VOLCANO in kinds(site):
        found.append(_volcano(limits))
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
    return TOLD.alert("PodsWait", by=by, pods=pods, minutes=limits.queue_minutes)


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
        values = {"scheduler": backend.name, "minutes": limits.gang_minutes}
        yield TOLD.alert("GangWaits", never=never, old=old, **values)


def _kueue(limits: Thresholds) -> Iterator[Alert]:
    yield TOLD.alert(
        "KueueQueueStuck",
        active=recent('kueue_pending_workloads{status="active"}'),
        admitted=ADMITTED,
        lasts=minutes(limits.queue_minutes),
        minutes=limits.queue_minutes,
    )
    status = recent('kueue_cluster_queue_status{status="active"}')
    yield TOLD.alert("KueueQueueInactive", status=status)


def _volcano(limits: Thresholds) -> Alert:
    waited = limits.queue_minutes
    return TOLD.alert("VolcanoJobWaits", lasts=minutes(waited), minutes=waited)


def _off_peak(off_peak: OffPeak) -> Alert:
    end, last_day = int(windows(off_peak)[-1].end.timestamp()), off_peak.last_day
    return TOLD.alert("OffPeakEnds", end=end, day=DAY, warn_days=WARN_DAYS, last_day=last_day)
