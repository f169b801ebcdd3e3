"""The dashboard of waiting pods: in queues, of gangs at their gate, of teams at their limits."""

from components.making.promql import RATE, Exporter, by, pending
from components.making.watch import Board, Panel, panel
from components.schedulers.names import job, kinds, kube_schedulers
from schemas.facts.site import Site
from schemas.model.scheduling import Backend
from schemas.model.vocabulary import BackendKind

STATE = Exporter.KUBE_STATE_METRICS


def board(site: Site) -> Board:
    """The dashboard of who waits, and why."""
    panels = [_pods(site)] if site.scheduling.teams else []
    for backend in kube_schedulers(site):
        panels += _scheduler(backend)
    panels += _kueue(site) if BackendKind.KUEUE in kinds(site) else []
    panels += _volcano(site) if BackendKind.VOLCANO in kinds(site) else []
    text = "Pods that wait for a place, gangs that wait for their pods, teams at their limits."
    return Board("queues", "Queues and gangs", text, tuple(panels), place=1)


def _pods(site: Site) -> Panel:
    created = f"kube_pod_created{by(site, STATE)}"
    team = 'on (namespace) group_left (team) foresite:namespace_team:info{team=~"$team"}'
    waits = f"(time() - ({created} {pending(site)})) * {team}"
    return panel(
        "Longest wait",
        "Age of the oldest pod of a team that has not started.",
        (f"max by (team) ({waits})", "{{team}}"),
        unit="s",
    )


def _scheduler(backend: Backend) -> list[Panel]:
    asked = f'job="{job(backend)}"'
    started = f"scheduler_pod_scheduling_sli_duration_seconds_bucket{{{asked}}}"
    found = [
        panel(
            f"Pods in the queues of {backend.name}",
            "active: to be tried next; backoff: tried again later; unschedulable: no place; gated: "
            "held back.",
            (f"max by (queue) (scheduler_pending_pods{{{asked}}})", "{{queue}}"),
        ),
        panel(
            f"Time until pods of {backend.name} have a place",
            "From the first try on; the waits of pods that still wait are not in it.",
            *(
                (f"histogram_quantile({share}, sum by (le) (rate({started}[1h])))", name)
                for share, name in ((0.5, "half of them"), (0.95, "19 of 20"))
            ),
            unit="s",
        ),
    ]
    scheduler = backend.scheduler
    if scheduler is not None and scheduler.gang is not None:
        found.append(_gangs(backend, asked))
    if scheduler is not None and scheduler.throttler is not None:
        found.append(_throttles(backend, asked))
    return found


def _gangs(backend: Backend, asked: str) -> Panel:
    return panel(
        f"What gangs of {backend.name} do",
        "GangNotReady: pods are missing; GangSchedulingTimedOut: no place for all of them at once.",
        (f"sum by (type) (rate(gang_event_total{{{asked}}}[{RATE}]))", "{{type}}"),
        unit="ops",
    )


def _throttles(backend: Backend, asked: str) -> Panel:
    limit = f"clusterthrottle_status_calculated_threshold_resourceRequests{{{asked}}}"
    used = f"clusterthrottle_status_used_resourceRequests{{{asked}}}"
    return panel(
        f"Share of their limits that teams use in {backend.name}",
        "1: nothing more of the model starts for the team. The limit is the one that holds now.",
        (
            f"max by (name, resource) ({used}) / (max by (name, resource) ({limit}) > 0)",
            "{{name}} {{resource}}",
        ),
        unit="percentunit",
    )


def _kueue(site: Site) -> list[Panel]:
    asked = by(site, BackendKind.KUEUE)
    waits = f"kueue_admission_wait_time_seconds_bucket{asked}"
    return [
        panel(
            "Jobs in Kueue",
            "By the queue, which is a team's; inadmissible ones wait for a change of the cluster.",
            (
                f"max by (cluster_queue, status) (kueue_pending_workloads{asked})",
                "{{cluster_queue}} {{status}}",
            ),
            (
                f"max by (cluster_queue) (kueue_admitted_active_workloads{asked})",
                "{{cluster_queue}} admitted",
            ),
        ),
        panel(
            "Time until jobs are admitted",
            "Of 19 of 20 that were admitted in an hour.",
            (
                f"histogram_quantile(0.95, sum by (cluster_queue, le) (rate({waits}[1h])))",
                "{{cluster_queue}}",
            ),
            unit="s",
        ),
    ]


def _volcano(site: Site) -> list[Panel]:
    asked = by(site, BackendKind.VOLCANO)
    had = f"volcano_queue_allocated_scalar_resources{asked}"
    return [
        panel(
            "Tasks that Volcano finds no place for",
            "By job.",
            (f"topk(20, max by (job_id) (volcano_unschedule_task_count{asked}))", "{{job_id}}"),
        ),
        panel(
            "Volcano's queues",
            "Devices that a queue, which is a team's, has; Volcano counts them by thousandths.",
            (
                f"max by (queue_name, resource) ({had}) / 1000",
                "{{queue_name}} {{resource}}",
            ),
        ),
    ]
