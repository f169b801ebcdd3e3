"""Pieces of PromQL that rules and dashboards of several components use.

A program that restarts takes its series away for a while, and Prometheus forgets how long an alert
has held when its query has no answer for one evaluation. So what is asked of states is asked over
the last minutes (``recent``). Gauges of pods are not: a pod that is gone would count on.

Which node is of which pool and model, and which namespace is whose, is recorded by rules
(components/monitoring/alerts/inventory.py), as no metric of the cluster says it.
"""

import re
from collections.abc import Iterable
from enum import StrEnum

from schemas.facts.site import Site

RECENT = "5m"
"""How long a series that is gone still counts: longer than a restart, shorter than any ``for``."""
RATE = "5m"
"""Over which dashboards see counters: ten scrapes."""

NODES = "foresite:node_pool:info"
"""1 for each node, by ``pool``, and by ``model`` where it has accelerators."""
FAULTS = "foresite:node_fault:info"
"""1 for each fault of a node, by ``pool``."""
REPAIRED = "foresite:fault_mended:info"
"""1 for each ``fault`` of a ``pool`` that a ``remediator`` repairs."""
UPTIME = "foresite:node_uptime:seconds"
"""Seconds since the start of each node's kernel."""
READY = "foresite:pool_ready:count"
"""Ready nodes of a pool; nothing while kube-state-metrics is away."""
GUARANTEED = "foresite:accelerators_promised:team"
"""Accelerators that a team is guaranteed, by ``model``."""


class Exporter(StrEnum):
    """Exporters that are the site's own. Their ``job`` is the site's (monitoring.scraped)."""

    KUBE_STATE_METRICS = "kube-state-metrics"
    """The exporter that shows objects of the API server as metrics."""
    NODE_EXPORTER = "node-exporter"
    """node_exporter."""
    KUBELET = "kubelet"
    """Kubelets, with cAdvisor."""
    API_SERVER = "apiserver"
    """kube-apiserver."""
    CUSTOM_RESOURCES = "custom-resources"
    """kube-state-metrics, configured to show what components name (Watched.custom_resources)."""
    PROMETHEUS = "prometheus"
    """Prometheus itself: ``up``, ``ALERTS``; of every target."""


def job(site: Site, exporter: str) -> str:
    """The value of ``job`` of an exporter's targets on a site that is monitored."""
    monitoring = site.file.monitoring
    if monitoring is None:
        raise LookupError(f"{site.name} is not monitored")
    scraped = monitoring.scraped
    named: dict[str, str] = {
        Exporter.KUBE_STATE_METRICS: scraped.kube_state_metrics,
        Exporter.CUSTOM_RESOURCES: scraped.kube_state_metrics,
        Exporter.NODE_EXPORTER: scraped.node_exporter,
        Exporter.KUBELET: scraped.kubelet,
        Exporter.API_SERVER: scraped.api_server,
    }
    return named.get(exporter, str(exporter))


def of(site: Site, exporter: str, metric: str, *matchers: str) -> str:
    """A selector of an exporter's series."""
    return metric + by(site, exporter, *matchers)


def by(site: Site, exporter: str, *matchers: str) -> str:
    """The labels of an exporter's series, with further matchers."""
    return series("", job(site, exporter), *matchers)


def series(metric: str, job_name: str, *matchers: str) -> str:
    """A selector of the series of a scrape job."""
    chosen = ", ".join((f'job="{job_name}"', *matchers))
    return f"{metric}{{{chosen}}}"


def state(site: Site, metric: str, *matchers: str) -> str:
    """The reports of kube-state-metrics on the cluster, also for some minutes after it went."""
    return recent(of(site, Exporter.KUBE_STATE_METRICS, metric, *matchers))


def recent(selector: str) -> str:
    """The last value of series, also for some minutes after they went."""
    return f"last_over_time({selector}[{RECENT}])"


def ready(site: Site) -> str:
    """1 for each node that is ready, 0 for each that is not or that nothing is known of."""
    conditions = ('condition="Ready"', 'status="true"')
    return f"min by (node) ({state(site, 'kube_node_status_condition', *conditions)})"


def pending(site: Site) -> str:
    """The matcher, written after pods' series, that keeps those whose pod waits or starts."""
    where = by(site, Exporter.KUBE_STATE_METRICS, 'phase="Pending"')
    return f"and on (namespace, pod) (kube_pod_status_phase{where} == 1)"


def asks(site: Site, model: str, *matchers: str) -> str:
    """Accelerators of a model that each pod requests: by what the model is called
    (Site.resource), also where admission adds the plugin's own resource beside it."""
    resource = f'resource="{resource_label(site.resource(model))}"'
    metric = "kube_pod_container_resource_requests"
    found = of(site, Exporter.KUBE_STATE_METRICS, metric, resource, *matchers)
    return f"sum by (namespace, pod) (max by (namespace, pod, container) ({found}))"


def resource_label(name: str) -> str:
    """The value of the label ``resource`` for a resource, as kube-state-metrics writes it (2.20,
    internal/store/utils.go, SanitizeLabelName)."""
    return re.sub(r"[^a-zA-Z0-9_]", "_", name)


def one_of(names: Iterable[str]) -> str:
    """A regular expression of names, literally: letters, digits, dots, hyphens and slashes."""
    return "|".join(name.replace(".", "[.]") for name in names)


def minutes(count: float) -> str:
    """A duration."""
    return f"{round(count)}m"
