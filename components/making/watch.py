"""The data that a component hands to monitoring, which renders it: scrapes, recording rules, alerts
and dashboards, made in ``components/<name>/watch`` from the same constants as its objects."""

from collections.abc import Mapping, Sequence
from enum import StrEnum
from types import MappingProxyType
from typing import NamedTuple

from components.making.manifest import Json

RUNBOOKS = "docs/runbooks"
"""Where the page of each alert is, in the repository: <RUNBOOKS>/<name of the alert>.md."""
PREFIX = "foresite:"
"""Prefix of the name of each recorded series."""
LAST = 100
"""The place of what names none: after all others, in the order of components/site.py."""


class Scrape(NamedTuple):
    """Pods that Prometheus scrapes. ``port_name`` is that of their container, or of the Service
    where one is named; ``port`` the number in the pod. Always one ``namespace``: in others anybody
    may run pods with these labels, to whom Prometheus would show its token."""

    name: str
    exporter: str | None
    """The program, by the name that rules use; None for what no rule asks."""
    job: str
    namespace: str
    labels: dict[str, str]
    """Of the pods, or of the Service where there is one."""
    port_name: str
    port: int
    path: str = "/metrics"
    pools: tuple[str, ...] = ()
    """Of whose nodes alone."""
    service: bool = False
    """True if a Service selects them."""
    behind: dict[str, str] | None = None
    """Labels of the pods behind the Service, where they are others."""
    secure: bool = False
    """True if they serve TLS and require a token that may read /metrics."""
    keep: tuple[str, ...] = ()
    """Names of the metrics that are kept; all where none is named."""
    every_node: bool = False
    """True if a node without it is not monitored, which is an alert."""
    always: str = ""
    """A metric that is there from the start on, for programs that the site may scrape itself."""
    place: int = LAST

    @property
    def pod_labels(self) -> dict[str, str]:
        """The labels by which pods are told from others."""
        return self.labels if self.behind is None else self.behind


def program(name: str, namespace: str, port: int) -> Scrape:
    """Pods with the label app.kubernetes.io/name and a port called metrics."""
    return Scrape(name, name, name, namespace, {"app.kubernetes.io/name": name}, "metrics", port)


class Severity(StrEnum):
    """The severity of an alert, which decides who gets it."""

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
        page = f"{RUNBOOKS}/{self.name}.md"
        texts = {"summary": self.summary, "description": self.description, "runbook_url": page}
        chosen = {**self.labels, "severity": self.severity.value}
        head = {"alert": self.name, "expr": self.expr, "for": self.lasts}
        return {**head, "labels": chosen, "annotations": texts}


def record(name: str, expr: str, **labels: str) -> Json:
    """A recording rule; ``name`` without the prefix."""
    found: Json = {"record": PREFIX + name, "expr": expr}
    return {**found, "labels": labels} if labels else found


class Group(NamedTuple):
    """A rule group: recording rules and alerts that are evaluated together."""

    name: str
    rules: Sequence[Json | Alert]
    place: int = LAST


class Query(NamedTuple):
    """One query, and what its series are called: ``{{label}}`` stands for a label's value."""

    expression: str
    legend: str


class Panel(NamedTuple):
    """One panel of a dashboard. ``unit`` is Grafana's id of a unit."""

    title: str
    text: str
    queries: tuple[Query, ...]
    unit: str = "short"
    kind: str = "timeseries"
    """One of components/monitoring/dashboards/panels.yaml, as are ``states``."""
    steps: tuple[tuple[str, float], ...] = ()
    """Thresholds: a colour, and the value from which on it holds."""
    states: str = ""
    """Name of what the values mean."""
    alerts: tuple[str, ...] = ()
    """Names of the alerts that ask for what it shows; those that the site lacks are left out."""
    repeat: str = ""
    """The variable for each of whose values there is one."""
    link: str = ""
    """The dashboard that shows more of a series' node; it has the variable ``node``."""
    size: tuple[int, int] | None = None
    """Columns and rows of Grafana's grid; default: its kind's."""


class Choice(NamedTuple):
    """A variable of a dashboard: names to pick from, ``values`` or found by ``query``."""

    name: str
    label: str
    values: tuple[str, ...] = ()
    query: str = ""


class Board(NamedTuple):
    """A dashboard; ``name`` is part of its address. Panels of several that have one name are shown
    on one, which is called as the first of them."""

    name: str
    title: str
    text: str
    panels: tuple[Panel, ...]
    choices: tuple[Choice, ...] = ()
    place: int = LAST
    repeat: str = ""
    """The variable for each of whose values all panels are shown."""


class Watched(NamedTuple):
    """All that one component hands over."""

    scrapes: Sequence[Scrape] = ()
    groups: Sequence[Group] = ()
    boards: Sequence[Board] = ()
    custom_resources: Sequence[Json] = ()
    """Fields of custom resources that kube-state-metrics shows: entries of spec.resources of its
    CustomResourceStateMetrics."""
