"""Whether schedulers and the API server work, and how fast."""

from components.monitoring.dashboards.panels import Board, Panel, panel
from components.monitoring.dashboards.queries import RATE, by
from components.monitoring.exporters import Exporter, exporters, scheduler_job
from schemas.facts.site import Site
from schemas.model.scheduling import Backend
from schemas.model.vocabulary import BackendKind

SCHEDULER, API = Exporter.SCHEDULER, Exporter.API_SERVER


def schedulers(site: Site) -> Board:
    """The dashboard of the programs that place pods."""
    panels = [
        *(_of(scheduler_job(each), each.name) for each in _own(site)),
        *(_latency(scheduler_job(each), each.name) for each in _own(site)),
    ]
    found = exporters(site)
    panels += [_kueue(site)] if Exporter.KUEUE in found else []
    panels += [_volcano(site)] if Exporter.VOLCANO in found else []
    panels += _api(site)
    text = "Attempts, latency and errors of schedulers, and the API server that they write to."
    return Board("schedulers", "Schedulers", text, tuple(panels))


def _own(site: Site) -> list[Backend]:
    backends = site.scheduling.backends
    found = [each for each in backends if each.kind is BackendKind.KUBE_SCHEDULER]
    return sorted(found, key=lambda each: each.name)


def _of(job: str, name: str) -> Panel:
    attempts = f'scheduler_schedule_attempts_total{{job="{job}"}}'
    return panel(
        f"Attempts of {name}",
        "error: the scheduler itself fails; unschedulable: there is no place.",
        SCHEDULER,
        (f"sum by (result) (rate({attempts}[{RATE}]))", "{{result}}"),
        unit="ops",
    )


def _latency(job: str, name: str) -> Panel:
    lasted = f'scheduler_scheduling_attempt_duration_seconds_bucket{{job="{job}"}}'
    return panel(
        f"Time of an attempt of {name}",
        "Of 99 of 100.",
        SCHEDULER,
        (
            f"histogram_quantile(0.99, sum by (result, le) (rate({lasted}[{RATE}])))",
            "{{result}}",
        ),
        unit="s",
    )


def _kueue(site: Site) -> Panel:
    asked = by(site, Exporter.KUEUE)
    return panel(
        "Attempts of Kueue",
        "inadmissible: nothing could be admitted in a round.",
        Exporter.KUEUE,
        (f"sum by (result) (rate(kueue_admission_attempts_total{asked}[{RATE}]))", "{{result}}"),
        unit="ops",
    )


def _volcano(site: Site) -> Panel:
    asked = by(site, Exporter.VOLCANO)
    return panel(
        "Attempts of Volcano",
        "By result.",
        Exporter.VOLCANO,
        (f"sum by (result) (rate(volcano_schedule_attempts_total{asked}[{RATE}]))", "{{result}}"),
        unit="ops",
    )


def _api(site: Site) -> list[Panel]:
    every, failed = (
        f"sum(rate(apiserver_request_total{by(site, API, *more)}[{RATE}]))"
        for more in ((), ('code=~"5.."',))
    )
    short = by(site, API, 'verb!~"WATCH|CONNECT"')
    lasted = f"apiserver_request_duration_seconds_bucket{short}"
    return [
        panel(
            "Errors of the API server",
            "Share of requests that fail.",
            API,
            (
                f"{failed} / {every}",
                "failures",
            ),
            unit="percentunit",
        ),
        panel(
            "Time of requests to the API server",
            "Of 99 of 100, by verb.",
            API,
            (
                f"histogram_quantile(0.99, sum by (verb, le) (rate({lasted}[{RATE}])))",
                "{{verb}}",
            ),
            unit="s",
        ),
    ]
