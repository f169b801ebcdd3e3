"""Prometheus rules as data, and the pieces that their queries are made of.

A program that restarts takes its series away for a while, and Prometheus forgets how long an alert
has held when its query has no answer for one evaluation. So what is asked of states is asked over
the last minutes (``recent``). Gauges of pods are not: a pod that is gone would count on.
"""

from collections.abc import Iterable, Mapping, Sequence
from enum import StrEnum
from types import MappingProxyType
from typing import NamedTuple

from components.making.manifest import Json
from components.monitoring.exporters import Exporter, job
from schemas.facts.site import Site

RUNBOOKS = "docs/runbooks"
"""Where the page of each alert is, in the repository: <RUNBOOKS>/<name of the alert>.md."""
PREFIX = "foresite:"
"""What the name of each recorded series starts with."""
INTERVAL = "1m"
"""How often rules are evaluated."""
RECENT = "5m"
"""How long a series that is gone still counts: longer than a restart takes, shorter than any
``for``."""


class Severity(StrEnum):
    """Who is told."""

    CRITICAL = "critical"
    """Somebody has to look now, at night too."""
    WARNING = "warning"
    """Somebody has to look in working hours."""


class Alert(NamedTuple):
    """One alert. ``lasts`` is its ``for``; ``summary`` names the thing by its labels."""

    name: str
    expr: str
    lasts: str
    summary: str
    description: str
    severity: Severity = Severity.WARNING
    labels: Mapping[str, str] = MappingProxyType({})

    def rule(self) -> Json:
        """The alert as Prometheus reads it."""
        return {
            "alert": self.name,
            "expr": self.expr,
            "for": self.lasts,
            "labels": {**self.labels, "severity": self.severity.value},
            "annotations": {
                "summary": self.summary,
                "description": self.description,
                "runbook_url": f"{RUNBOOKS}/{self.name}.md",
            },
        }


def record(name: str, expr: str, **labels: str) -> Json:
    """A recorded series, ``name`` without the prefix."""
    found: Json = {"record": PREFIX + name, "expr": expr}
    return {**found, "labels": labels} if labels else found


def group(name: str, rules: Sequence[Json | Alert]) -> Json:
    """A rule group."""
    made = [each.rule() if isinstance(each, Alert) else each for each in rules]
    return {"name": name, "interval": INTERVAL, "rules": made}


def of(site: Site, exporter: Exporter, metric: str, *matchers: str) -> str:
    """A selector of an exporter's series."""
    return series(metric, job(site, exporter), *matchers)


def series(metric: str, job_name: str, *matchers: str) -> str:
    """A selector of the series of a scrape job."""
    chosen = ", ".join((f'job="{job_name}"', *matchers))
    return f"{metric}{{{chosen}}}"


def state(site: Site, metric: str, *matchers: str) -> str:
    """What kube-state-metrics says of the cluster, also for some minutes after it went."""
    return recent(of(site, Exporter.KUBE_STATE_METRICS, metric, *matchers))


def recent(selector: str) -> str:
    """The last value of series, also for some minutes after they went."""
    return f"last_over_time({selector}[{RECENT}])"


def one_of(names: Iterable[str]) -> str:
    """A regular expression of names, literally: letters, digits, dots, hyphens and slashes."""
    return "|".join(name.replace(".", "[.]") for name in names)


def minutes(count: float) -> str:
    """A duration."""
    return f"{round(count)}m"


def seen(site: Site, exporter: Exporter) -> str:
    """1 while an exporter answers, and for some minutes after. Without kube-state-metrics, that
    something is missing says nothing: that it is gone has an alert of its own."""
    return f"max(max_over_time({of(site, exporter, 'up')}[{RECENT}]))"


def ready(site: Site) -> str:
    """1 for each node that is ready, 0 for each that is not or that nothing is known of."""
    return (
        "min by (node) ("
        + state(site, "kube_node_status_condition", 'condition="Ready"', 'status="true"')
        + ")"
    )
