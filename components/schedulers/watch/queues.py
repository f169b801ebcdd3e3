"""Jobs that wait, as alerts and a dashboard: pods within their team's limits, gangs that nobody
wakes, queues of Kueue and Volcano, and the end of the off-peak days."""

from components.making.manifest import Json
from components.making.promql import asks, minutes, pending
from components.making.told import Told
from components.making.watch import Alert, Board, Panel
from components.schedulers.names import job, kinds, kube_schedulers
from schemas.facts.off_peak import windows
from schemas.facts.site import Site
from schemas.model.monitoring import Thresholds
from schemas.model.scheduling import Backend
from schemas.model.vocabulary import BackendKind

WARN_DAYS = 14
DAY = 86400
TOLD = Told(__file__)


def rules(site: Site, limits: Thresholds) -> list[Json | Alert]:
    """Recording rules and alerts on waiting."""
    told, found = TOLD.at(site), list[Json | Alert]()
    waited = limits.queue_minutes
    values = {"minutes": waited, "seconds": waited * 60, "lasts": minutes(waited)}
    for model in site.models():
        found += told.records("waiting", asked=asks(site, model, 'node=""'), model=model)
    if site.models():
        # What would go beyond the team's limit waits rightly; a gang is all its pods.
        teams = any(team.accelerators for team in site.scheduling.teams)
        pods = told.table("of_teams" if teams else "of_anybody", **values)
        found.append(told.alert("PodsWait", **values, **pods))
    gang_waits = {"minutes": limits.gang_minutes, "seconds": limits.gang_minutes * 60}
    for backend in site.scheduling.backends:
        if backend.scheduler is not None and backend.scheduler.gang is not None:
            found.append(told.alert("GangWaits", scheduler=backend.name, **gang_waits))
    if BackendKind.KUEUE in kinds(site):
        found += [told.alert(each, **values) for each in ("KueueQueueStuck", "KueueQueueInactive")]
    if BackendKind.VOLCANO in kinds(site):
        found.append(told.alert("VolcanoJobWaits", **values))
    if off_peak := site.scheduling.off_peak:
        end = int(windows(off_peak)[-1].end.timestamp())
        last = {"end": end, "last_day": off_peak.last_day}
        found.append(told.alert("OffPeakEnds", **last, day=DAY, warn_days=WARN_DAYS))
    return found


def board(site: Site) -> Board:
    """The dashboard of who waits, and why."""
    told, panels = TOLD.at(site), list[Panel]()
    if site.scheduling.teams:
        panels += told.panels("pods", pending=pending(site))
    for backend in kube_schedulers(site):
        panels += _of_scheduler(backend)
    for kind in (BackendKind.KUEUE, BackendKind.VOLCANO):
        if kind in kinds(site):
            panels += told.panels(kind.value)
    return TOLD.board(panels)


def _of_scheduler(backend: Backend) -> list[Panel]:
    scheduler = backend.scheduler
    gangs, throttler = (scheduler.gang, scheduler.throttler) if scheduler else (None, None)
    there = {"scheduler": backend, "gangs": gangs, "throttles": throttler}
    names = [name for name, each in there.items() if each is not None]
    values = {"name": backend.name, "job": job(backend)}
    return [panel for name in names for panel in TOLD.panels(name, **values)]
