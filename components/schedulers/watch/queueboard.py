"""The dashboard of waiting pods: in queues, of gangs at their gate, of teams at their limits."""

from components.making.promql import Exporter, by, pending
from components.making.told import Told
from components.making.watch import Board, Panel
from components.schedulers.names import job, kinds, kube_schedulers
from schemas.facts.site import Site
from schemas.model.scheduling import Backend
from schemas.model.vocabulary import BackendKind

TOLD = Told(__file__)


def board(site: Site) -> Board:
    """The dashboard of who waits, and why."""
    panels: list[Panel] = []
    if site.scheduling.teams:
        created = f"kube_pod_created{by(site, Exporter.KUBE_STATE_METRICS)}"
        evicted = by(site, Exporter.KUBE_STATE_METRICS, 'reason="Evicted"')
        panels += TOLD.panels("pods", created=created, pending=pending(site), evicted=evicted)
    for backend in kube_schedulers(site):
        panels += _scheduler(backend)
    for kind in (BackendKind.KUEUE, BackendKind.VOLCANO):
        if kind in kinds(site):
            panels += TOLD.panels(kind.value, asked=by(site, kind))
    return TOLD.board(panels)


def _scheduler(backend: Backend) -> list[Panel]:
    values = {"name": backend.name, "job": job(backend)}
    found = TOLD.panels("scheduler", **values)
    scheduler = backend.scheduler
    if scheduler is not None and scheduler.gang is not None:
        found += TOLD.panels("gangs", **values)
    if scheduler is not None and scheduler.throttler is not None:
        found += TOLD.panels("throttles", **values)
    return found
