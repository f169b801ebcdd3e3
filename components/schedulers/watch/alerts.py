"""The kube-schedulers that Foresite runs, as alerts and a dashboard: whether one leads, places pods
and stays up, and how fast the API server answers them.
"""

from collections.abc import Iterator

from components.making.told import Told
from components.making.watch import Alert, Board
from components.schedulers.names import SCHEDULER, job, kinds, kube_schedulers, run_here
from schemas.facts.site import Site
from schemas.model.scheduling import Backend, KubeScheduler
from schemas.model.vocabulary import BackendKind

TOLD = Told(__file__)


def rules(site: Site) -> list[Alert]:
    """The alerts of each scheduler."""
    return [alert for each in run_here(site) for alert in _scheduler(site, *each)]


def _scheduler(site: Site, backend: Backend, scheduler: KubeScheduler) -> Iterator[Alert]:
    values = {"scheduler": backend.name, "namespace": site.scheduling.namespace}
    yield TOLD.at(site).alert("SchedulerDown", **values)
    if scheduler.gang:
        yield TOLD.at(site).alert("SchedulerPlacesNothing", **values)
    yield TOLD.at(site).alert("SchedulerStuck", **values)
    yield TOLD.at(site).alert("SchedulerRestarts", **values, container=SCHEDULER)


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
