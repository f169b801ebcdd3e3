"""The kube-schedulers that Foresite runs: whether one leads, places pods, and stays up.

The gang plugin ends its process on purpose when it finds itself stuck, and a scheduler that hangs
may still hold its lease: so what is asked in the end is whether pods are placed. The canary sees to
it that there is always one (docs/schedulers.md).

Sources: Kubernetes 1.34.3, pkg/scheduler/metrics/metrics.go, component-base
metrics/prometheus/clientgo/leaderelection/metrics.go; pfnet/scheduler-plugins f63b46e.
"""

from collections.abc import Iterator

from components.making.told import Told
from components.making.watch import Alert
from components.schedulers.names import SCHEDULER, run_here
from schemas.facts.site import Site
from schemas.model.scheduling import Backend, KubeScheduler

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
