"""The dashboard on whether schedulers and the API server work, and how fast."""

from components.making.promql import Exporter, by
from components.making.told import Told
from components.making.watch import Board
from components.schedulers.names import job, kinds, kube_schedulers
from schemas.facts.site import Site
from schemas.model.vocabulary import BackendKind

TOLD = Told(__file__)


def board(site: Site) -> Board:
    """The dashboard of the programs that place pods."""
    schedulers, api = kube_schedulers(site), Exporter.API_SERVER
    panels = [
        each
        for name in ("attempts", "latency")
        for backend in schedulers
        for each in TOLD.panels(name, name=backend.name, job=job(backend))
    ]
    for kind in (BackendKind.KUEUE, BackendKind.VOLCANO):
        if kind in kinds(site):
            panels += TOLD.panels(kind.value, asked=by(site, kind))
    panels += TOLD.panels(
        "api",
        every=by(site, api),
        failed=by(site, api, 'code=~"5.."'),
        short=by(site, api, 'verb!~"WATCH|CONNECT"'),
    )
    return TOLD.board(panels)
