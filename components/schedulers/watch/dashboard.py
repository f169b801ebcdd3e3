"""The dashboard on whether schedulers and the API server work, and how fast."""

from components.making.told import Told
from components.making.watch import Board
from components.schedulers.names import job, kinds, kube_schedulers
from schemas.facts.site import Site
from schemas.model.vocabulary import BackendKind

TOLD = Told(__file__)


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
