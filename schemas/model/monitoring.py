"""Monitoring: what Prometheus, Alertmanager and Grafana are told about a site. What a single value
may be; what must hold between values is in schemas/rules/monitoring.py."""

from typing import Annotated

from pydantic import Field

from schemas.model.addresses import HttpUrl
from schemas.model.primitives import DnsLabel, LabelKey, LabelValue, Model, Percent, text_form
from schemas.model.vocabulary import ReceiverKind

SecretKey = Annotated[str, text_form("[-._a-zA-Z0-9]{1,253}", "url", "routing-key")]
"""A key of a Secret's data."""
ScrapeJob = Annotated[str, text_form("[a-zA-Z0-9]([-_./a-zA-Z0-9]{0,126}[a-zA-Z0-9])?")]
"""The value of the label ``job`` in Prometheus."""


class Receiver(Model):
    """A receiver of alerts; the address or key is in a Secret that Foresite never sees."""

    name: DnsLabel
    """Name of the receiver."""
    kind: ReceiverKind = Field(strict=False)
    """Kind of the receiver."""
    secret: DnsLabel
    """Secret in the namespace: the URL of a webhook or of Slack, or PagerDuty's routing key."""
    key: SecretKey
    """Key of the Secret."""
    channel: Annotated[str, text_form("[#@][-_a-z0-9]{1,80}", "#gpu")] | None = None
    """Channel (Slack)."""


class Routes(Model):
    """The receiver of the alerts of each severity."""

    critical: DnsLabel
    """Receiver of critical alerts: somebody must act now, also at night."""
    warning: DnsLabel
    """Receiver of warnings: somebody must look at them in working hours."""
    repeat_hours: Annotated[int, Field(ge=1, le=168)] = 12
    """Hours after which the notification of a firing alert is repeated."""


class Scraped(Model):
    """Names of the scrape jobs of what the site runs itself: alerts see by them what is gone."""

    kube_state_metrics: ScrapeJob = "kube-state-metrics"
    """Scrape job of kube-state-metrics."""
    node_exporter: ScrapeJob = "node-exporter"
    """Scrape job of node_exporter."""
    kubelet: ScrapeJob = "kubelet"
    """Scrape job of kubelets, with cAdvisor."""
    api_server: ScrapeJob = "apiserver"
    """Scrape job of kube-apiserver."""


class Thresholds(Model):
    """Thresholds of alerts."""

    queue_minutes: Annotated[int, Field(ge=5, le=10080)] = 240
    """Minutes that a pod may be pending while no limit of its team holds it back."""
    gang_minutes: Annotated[int, Field(ge=5, le=10080)] = 30
    """Minutes that a complete gang may wait before the scheduler tries it."""
    repair_minutes: Annotated[int, Field(ge=10, le=1440)] = 90
    """Minutes that a repair may take, including the drain."""
    disk_used_percent: Annotated[int, Field(ge=50, le=99)] = 85
    """Used share of a node's disk."""
    cache_hit_percent: Percent = 50
    """Share of reads that the cache should answer."""
    cache_error_percent: Percent = 1
    """Share of the cache's answers that may be errors."""
    cache_imbalance: Annotated[int, Field(ge=110, le=1000)] = 200
    """Requests of the busiest cache server, in percent of the mean."""


class Monitoring(Model):
    """The monitoring of a site."""

    namespace: DnsLabel = "monitoring"
    """Namespace of Prometheus, Alertmanager and Grafana, which are the site's own."""
    prometheus_operator: bool = True
    """True if rules and targets are the Prometheus operator's objects; else files in ConfigMaps."""
    labels: dict[LabelKey, LabelValue] = {}
    """Labels by which the operator's Prometheus and Alertmanager choose these objects."""
    receivers: Annotated[list[Receiver], Field(min_length=1, max_length=20)]
    """Where alerts go."""
    routes: Routes
    """Receiver of each severity."""
    scraped: Scraped = Scraped()
    """Scrape jobs of the site's own programs."""
    thresholds: Thresholds = Thresholds()
    """Thresholds of alerts."""
    runbooks_url: HttpUrl | None = None
    """Where people read docs/runbooks, as https://git.example/foresite/docs/runbooks: alerts link
    to their pages there. Null: they name the file."""
    grafana_url: HttpUrl | None = None
    """Where people open Grafana, as https://grafana.example: alerts link to their panels there.
    Null: they give the path alone."""
    prometheus_url: HttpUrl | None = None
    """Where ``foresite apply`` asks the site's Prometheus, as https://prometheus.example: a ring is
    passed only while no critical alert of the site fires. Null: alerts are not asked."""
    dashboards_label: LabelKey | None = "grafana_dashboard"
    """Label of the ConfigMaps by which Grafana's sidecar finds dashboards; null: no dashboards."""
