"""The kube-schedulers that Foresite runs: whether one leads, places pods, and stays up.

The gang plugin ends its process on purpose when it finds itself stuck, and a scheduler that hangs
may still hold its lease: so what is asked in the end is whether pods are placed. The canary sees to
it that there is always one (docs/schedulers.md).

Sources: Kubernetes 1.34.3, pkg/scheduler/metrics/metrics.go, component-base
metrics/prometheus/clientgo/leaderelection/metrics.go; pfnet/scheduler-plugins f63b46e.
"""

from collections.abc import Iterator

from components.making.promql import READY, Exporter, of, recent, series, state
from components.making.watch import Alert, Severity
from components.schedulers.names import SCHEDULER, job, run_here
from schemas.facts.site import Site
from schemas.model.scheduling import Backend, KubeScheduler

RESTARTS = 3
"""In an hour. One can be the plugin's own, for good reason."""


def rules(site: Site) -> list[Alert]:
    """The alerts of each scheduler."""
    return [alert for each in run_here(site) for alert in _scheduler(site, *each)]


def _scheduler(site: Site, backend: Backend, scheduler: KubeScheduler) -> Iterator[Alert]:
    name = {"scheduler": backend.name}
    master = series("leader_election_master_status", job(backend))
    attempts = series("scheduler_schedule_attempts_total", job(backend))
    placed = series("scheduler_schedule_attempts_total", job(backend), 'result="scheduled"')
    active = series("scheduler_pending_pods", job(backend), 'queue="active"')
    yield Alert(
        "SchedulerDown",
        f"sum({recent(master)}) == 0 or ({_none_available(site, backend)})",
        "10m",
        f"No scheduler {backend.name} leads",
        "No pod of its pools is placed: all its replicas are gone, or none gets the lease.",
        Severity.CRITICAL,
        name,
    )
    if scheduler.gang:
        yield Alert(
            "SchedulerPlacesNothing",
            f"(sum(increase({placed}[15m])) or vector(0)) == 0 and on () sum({recent(master)}) > 0",
            "15m",
            f"The scheduler {backend.name} places no pod, and no canary",
            "A canary passes through it every minute, so something holds all pods back, and no "
            "gang is woken: the scheduler hangs, its canary does not run, or none of its nodes "
            "takes a pod.",
            Severity.CRITICAL,
            name,
        )
    yield Alert(
        "SchedulerStuck",
        f"sum(min_over_time({active}[10m])) > 0 "
        f"and on () (sum(increase({attempts}[10m])) or vector(0)) == 0",
        "10m",
        f"The scheduler {backend.name} tries none of {{{{ $value }}}} pods",
        "Pods are in its active queue, and it makes no attempt to place one.",
        labels=name,
    )
    yield _restarts(site, backend)


def _none_available(site: Site, backend: Backend) -> str:
    """By the Deployment, as a scheduler that is not scraped may well work. Without a node that is
    ready there is nothing to place, and that has an alert of its own."""
    where = (f'namespace="{site.scheduling.namespace}"', f'deployment="{backend.name}"')
    runs = state(site, "kube_deployment_status_replicas_available", *where)
    return f"(sum({runs}) or vector(0)) == 0 and on () sum({recent(READY)}) > 0"


def _restarts(site: Site, backend: Backend) -> Alert:
    """The gang plugin may end its scheduler."""
    restarts = of(
        site,
        Exporter.KUBE_STATE_METRICS,
        "kube_pod_container_status_restarts_total",
        f'namespace="{site.scheduling.namespace}"',
        f'pod=~"{backend.name}-[a-z0-9]+-[a-z0-9]+"',
        f'container="{SCHEDULER}"',
    )
    return Alert(
        "SchedulerRestarts",
        f"sum(increase({restarts}[1h])) >= {RESTARTS}",
        "5m",
        f"The scheduler {backend.name} restarted {{{{ $value | printf `%.0f` }}}} times in an hour",
        "Each time the gangs that it held start to wait again.",
        labels={"scheduler": backend.name},
    )
