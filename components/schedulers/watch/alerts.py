"""The kube-schedulers that Foresite runs: whether one leads, places pods, and stays up.

The gang plugin ends its process on purpose when it finds itself stuck, and a scheduler that hangs
may still hold its lease: so what is asked in the end is whether pods are placed. The canary sees to
it that there is always one (docs/schedulers.md).

Sources: Kubernetes 1.34.3, pkg/scheduler/metrics/metrics.go, component-base
metrics/prometheus/clientgo/leaderelection/metrics.go; pfnet/scheduler-plugins f63b46e.
"""

from collections.abc import Iterator

from components.making.promql import READY, Exporter, of, recent, series, state
from components.making.told import Told
from components.making.watch import Alert
from components.schedulers.names import SCHEDULER, job, run_here
from schemas.facts.site import Site
from schemas.model.scheduling import Backend, KubeScheduler

TOLD = Told(__file__)


def rules(site: Site) -> list[Alert]:
    """The alerts of each scheduler."""
    return [alert for each in run_here(site) for alert in _scheduler(site, *each)]


def _scheduler(site: Site, backend: Backend, scheduler: KubeScheduler) -> Iterator[Alert]:
    name, attempts = backend.name, "scheduler_schedule_attempts_total"
    leads = recent(series("leader_election_master_status", job(backend)))
    placed = series(attempts, job(backend), 'result="scheduled"')
    active = series("scheduler_pending_pods", job(backend), 'queue="active"')
    none = _none_available(site, backend)
    yield TOLD.alert("SchedulerDown", scheduler=name, leads=leads, none_available=none)
    if scheduler.gang:
        yield TOLD.alert("SchedulerPlacesNothing", scheduler=name, leads=leads, placed=placed)
    tried = series(attempts, job(backend))
    yield TOLD.alert("SchedulerStuck", scheduler=name, active=active, attempts=tried)
    yield TOLD.alert("SchedulerRestarts", scheduler=name, restarts=_restarts(site, backend))


def _none_available(site: Site, backend: Backend) -> str:
    """By the Deployment, as a scheduler that is not scraped may well work. Without a node that is
    ready there is nothing to place, and that has an alert of its own."""
    where = (f'namespace="{site.scheduling.namespace}"', f'deployment="{backend.name}"')
    runs = state(site, "kube_deployment_status_replicas_available", *where)
    return f"(sum({runs}) or vector(0)) == 0 and on () sum({recent(READY)}) > 0"


def _restarts(site: Site, backend: Backend) -> str:
    return of(
        site,
        Exporter.KUBE_STATE_METRICS,
        "kube_pod_container_status_restarts_total",
        f'namespace="{site.scheduling.namespace}"',
        f'pod=~"{backend.name}-[a-z0-9]+-[a-z0-9]+"',
        f'container="{SCHEDULER}"',
    )
