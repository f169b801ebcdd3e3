"""The scrapes, alerts and panels of schedulers and their queues, with sources of others' series."""

from pathlib import Path

from components.making.told import Told
from components.making.watch import Group, Scrape, Watched
from components.schedulers import names
from components.schedulers.watch import alerts, queues
from schemas.facts.site import Site
from schemas.model.vocabulary import BackendKind

_TOLD = Told(str(Path(__file__).with_name("scrapes")))
KUEUE, VOLCANO = (Scrape(**_TOLD.table(name)) for name in ("kueue", "volcano"))


def watch(site: Site) -> Watched:
    """The data from which monitoring renders schedulers and queues."""
    monitoring = site.file.monitoring
    if monitoring is None:
        return Watched()
    groups = (
        Group("queues", queues.rules(site, monitoring.thresholds), place=3),
        Group("schedulers", alerts.rules(site), place=4),
    )
    return Watched(scrapes(site), groups, (queues.board(site), alerts.board(site)))


def scrapes(site: Site) -> list[Scrape]:
    """The kube-schedulers that Foresite runs, with what their plugins count; Kueue and Volcano,
    which the site runs itself, in the namespaces of their own manuals."""
    found = []
    for backend, _ in names.run_here(site):
        values = {"name": names.job(backend), "namespace": site.scheduling.namespace}
        own = _TOLD.table("own", **values)
        found.append(Scrape(**own, labels=names.selector_labels(backend)))
    known = {BackendKind.KUEUE: KUEUE, BackendKind.VOLCANO: VOLCANO}
    return [*found, *(scrape for kind, scrape in known.items() if kind in names.kinds(site))]
