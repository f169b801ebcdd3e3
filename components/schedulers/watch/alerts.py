"""The kube-schedulers that Foresite runs, as alerts and a dashboard: whether one leads, places pods
and stays up, and how fast the API server answers."""

from components.making.told import Told
from components.making.watch import Alert, Board
from components.schedulers.names import SCHEDULER, job, kinds, kube_schedulers, run_here
from schemas.facts.site import Site
from schemas.model.vocabulary import BackendKind

TOLD = Told(__file__)
DOWN, STUCK, RESTARTS = "SchedulerDown", "SchedulerStuck", "SchedulerRestarts"
PLACES_NOTHING = "SchedulerPlacesNothing"
"""Of schedulers with gangs."""


def rules(site: Site) -> list[Alert]:
    """The alerts of each scheduler."""
    values = {"namespace": site.scheduling.namespace, "container": SCHEDULER}
    return [
        TOLD.at(site).alert(name, scheduler=backend.name, **values)
        for backend, scheduler in run_here(site)
        for name in (DOWN, *([PLACES_NOTHING] if scheduler.gang else ()), STUCK, RESTARTS)
    ]


def board(site: Site) -> Board:
    """The dashboard of the programs that place pods."""
    told = TOLD.at(site)
    panels = [
        each
        for name in ("attempts", "latency")
        for backend in kube_schedulers(site)
        for each in told.panels(name, name=backend.name, job=job(backend))
    ]
    for kind in (BackendKind.KUEUE, BackendKind.VOLCANO):
        if kind in kinds(site):
            panels += told.panels(kind.value)
    return told.board(panels + told.panels("api"))
