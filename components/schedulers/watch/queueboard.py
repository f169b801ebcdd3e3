"""The dashboard of waiting pods: in queues, of gangs at their gate, of teams at their limits."""

from components.making.promql import pending
from components.making.told import Told
from components.making.watch import Board, Panel
from components.schedulers.names import job, kinds, kube_schedulers
from schemas.facts.site import Site
from schemas.model.scheduling import Backend
from schemas.model.vocabulary import BackendKind

TOLD = Told(__file__)


def board(site: Site) -> Board:
    """The dashboard of who waits, and why."""
    told, panels = TOLD.at(site), list[Panel]()
    if site.scheduling.teams:
        panels += told.panels("pods", pending=pending(site))
    for backend in kube_schedulers(site):
        panels += _scheduler(backend)
    for kind in (BackendKind.KUEUE, BackendKind.VOLCANO):
        if kind in kinds(site):
            panels += told.panels(kind.value)
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
