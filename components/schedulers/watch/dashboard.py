"""The dashboard on whether schedulers and the API server work, and how fast."""

from components.making.promql import RATE, Exporter, by
from components.making.watch import Board, Panel, panel
from components.schedulers.names import job, kinds, kube_schedulers
from schemas.facts.site import Site
from schemas.model.vocabulary import BackendKind

API = Exporter.API_SERVER


def board(site: Site) -> Board:
    """The dashboard of the programs that place pods."""
    panels = [
        *(_of(job(each), each.name) for each in kube_schedulers(site)),
        *(_latency(job(each), each.name) for each in kube_schedulers(site)),
    ]
    found = kinds(site)
    panels += [_kueue(site)] if BackendKind.KUEUE in found else []
    panels += [_volcano(site)] if BackendKind.VOLCANO in found else []
    panels += _api(site)
    text = "Attempts, latency and errors of schedulers, and the API server that they write to."
    return Board("schedulers", "Schedulers", text, tuple(panels), place=4)


def _of(job_name: str, name: str) -> Panel:
    attempts = f'scheduler_schedule_attempts_total{{job="{job_name}"}}'
    return panel(
        f"Attempts of {name}",
        "error: the scheduler itself fails; unschedulable: there is no place.",
        (f"sum by (result) (rate({attempts}[{RATE}]))", "{{result}}"),
        unit="ops",
    )


def _latency(job_name: str, name: str) -> Panel:
    lasted = f'scheduler_scheduling_attempt_duration_seconds_bucket{{job="{job_name}"}}'
    return panel(
        f"Time of an attempt of {name}",
        "Of 99 of 100.",
        (
            f"histogram_quantile(0.99, sum by (result, le) (rate({lasted}[{RATE}])))",
            "{{result}}",
        ),
        unit="s",
    )


def _kueue(site: Site) -> Panel:
    asked = by(site, BackendKind.KUEUE)
    return panel(
        "Attempts of Kueue",
        "inadmissible: nothing could be admitted in a round.",
        (f"sum by (result) (rate(kueue_admission_attempts_total{asked}[{RATE}]))", "{{result}}"),
        unit="ops",
    )


def _volcano(site: Site) -> Panel:
    asked = by(site, BackendKind.VOLCANO)
    return panel(
        "Attempts of Volcano",
        "By result.",
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
            (
                f"{failed} / {every}",
                "failures",
            ),
            unit="percentunit",
        ),
        panel(
            "Time of requests to the API server",
            "Of 99 of 100, by verb.",
            (
                f"histogram_quantile(0.99, sum by (verb, le) (rate({lasted}[{RATE}])))",
                "{{verb}}",
            ),
            unit="s",
        ),
    ]
