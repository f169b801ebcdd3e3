"""What the other alerts stand on: that there are metrics at all.

An alert whose series are gone is silent. So for each exporter there is one that asks for it alone.
Prometheus itself cannot tell that it is gone: something outside the site has to ask it.
"""

from collections.abc import Iterator

from components.monitoring.alerts.inventory import NODES, OUT
from components.monitoring.exporters import Exporter, exporters, job, scheduler_job
from components.monitoring.rules import Alert, Severity, recent, series
from schemas.facts.site import Site

VITAL = (Exporter.KUBE_STATE_METRICS, Exporter.API_SERVER)
"""Without the first hardly any alert works; without the second nothing does."""
BY_UP = (
    Exporter.NODE_EXPORTER,
    Exporter.KUBELET,
    Exporter.NODE_PROBLEM_DETECTOR,
    Exporter.NODE_OPERATION_CONTROLLER,
    Exporter.DCGM,
    Exporter.CACHE_SERVER,
    Exporter.ENVOY,
)
"""Each scheduler has a job of its own."""
ALWAYS = {
    Exporter.KUEUE: "kueue_build_info",
    Exporter.VOLCANO: "volcano_unschedule_job_count",
}
"""What those export from their start on whose ``job`` is the site's choice."""


def rules(site: Site) -> list[Alert]:
    """The alerts on exporters that are gone."""
    there = exporters(site)
    return [
        *(_lost(site, each) for each in VITAL),
        *(_gone(job(site, each), each) for each in BY_UP if each in there),
        *(_gone(each, each) for each in _schedulers(site)),
        *(_never(each, metric) for each, metric in ALWAYS.items() if each in there),
        *_on_nodes(site),
    ]


def _up(site: Site, exporter: Exporter) -> str:
    return _answers(job(site, exporter))


def _answers(job_name: str) -> str:
    return f"{series('up', job_name)} == 1"


def _schedulers(site: Site) -> list[str]:
    return sorted(scheduler_job(each) for each in site.scheduling.backends if each.scheduler)


def _lost(site: Site, exporter: Exporter) -> Alert:
    return Alert(
        "WatchLost",
        f"absent({_up(site, exporter)})",
        "10m",
        f"Prometheus gets no metrics of {exporter}",
        "Nearly all other alerts of the site are blind without them.",
        Severity.CRITICAL,
        {"exporter": exporter.value},
    )


def _gone(job_name: str, exporter: str) -> Alert:
    return _missing(f"absent({_answers(job_name)})", exporter)


def _never(exporter: Exporter, metric: str) -> Alert:
    return _missing(f"absent({recent(metric)})", exporter)


def _missing(expr: str, exporter: str) -> Alert:
    return Alert(
        "ExporterGone",
        expr,
        "30m",
        f"Prometheus gets no metrics of {exporter}",
        "Alerts that ask for them are silent, whatever happens.",
        labels={"exporter": str(exporter)},
    )


def _on_nodes(site: Site) -> Iterator[Alert]:
    """Nodes that one alone of the programs is gone from."""
    found = {
        Exporter.NODE_EXPORTER: "foresite:node_uptime:seconds",
        Exporter.NODE_PROBLEM_DETECTOR: None,
    }
    for exporter, metric in found.items():
        if exporter not in exporters(site):
            continue
        known = metric or f"{series('up', job(site, exporter))} == 1"
        yield Alert(
            "NodeUnwatched",
            f"{NODES} unless on (node) ({known}) unless on (node) {OUT}",
            "1h",
            f"{{{{ $labels.node }}}} is not watched by {exporter}",
            "The node takes pods, and its faults or disks are not seen.",
            labels={"exporter": exporter.value},
        )
