"""Who exports metrics on a site, and how Prometheus tells them apart.

Owns the values of the label ``job`` and the labels that each target has besides: rules and
dashboards choose series by them, and scrape configuration sets them. Pure.
"""

from enum import StrEnum

from schemas.facts.site import Site
from schemas.model.scheduling import Backend
from schemas.model.vocabulary import BackendKind, HealerKind

TARGET_LABELS = ("job", "instance", "namespace", "pod", "node", "pool")
"""What every target of a pod of Foresite's has: ``node`` is the name of its node, ``pool`` the
value of the pod's label of the pool (DaemonSets alone)."""


class Exporter(StrEnum):
    """A program that exports metrics. The value is its ``job``, where the site file has no say."""

    KUBE_STATE_METRICS = "kube-state-metrics"
    """The site's own. Its ``job`` is the site's (monitoring.scraped), as of the next three."""
    NODE_EXPORTER = "node-exporter"
    """node_exporter."""
    KUBELET = "kubelet"
    """Kubelets, with cAdvisor."""
    API_SERVER = "apiserver"
    """kube-apiserver."""
    CUSTOM_RESOURCES = "custom-resources"
    """kube-state-metrics, told by customresources.py to show repairs."""
    NODE_PROBLEM_DETECTOR = "node-problem-detector"
    """The detector of faults."""
    NODE_OPERATION_CONTROLLER = "node-operation-controller"
    """The controller of repairs."""
    SCHEDULER = "scheduler"
    """A kube-scheduler that Foresite runs: see ``scheduler_job``."""
    KUEUE = "kueue"
    """Kueue, the site's own: no rule asks for its ``job``."""
    VOLCANO = "volcano"
    """Volcano's scheduler, the site's own: no rule asks for its ``job``."""
    DCGM = "dcgm-exporter"
    """NVIDIA's exporter."""
    CACHE_SERVER = "cache-server"
    """The servers of the object cache, where they have metrics that are the reference server's."""
    ENVOY = "envoy"
    """The Envoys of the object cache."""
    PROMETHEUS = "prometheus"
    """Prometheus itself: ``up``, ``ALERTS``; of every target."""


def job(site: Site, exporter: Exporter) -> str:
    """The value of ``job`` of an exporter's targets on a site that is monitored."""
    monitoring = site.file.monitoring
    if monitoring is None:
        raise LookupError(f"{site.name} is not monitored")
    scraped = monitoring.scraped
    named = {
        Exporter.KUBE_STATE_METRICS: scraped.kube_state_metrics,
        Exporter.CUSTOM_RESOURCES: scraped.kube_state_metrics,
        Exporter.NODE_EXPORTER: scraped.node_exporter,
        Exporter.KUBELET: scraped.kubelet,
        Exporter.API_SERVER: scraped.api_server,
    }
    return named.get(exporter, exporter.value)


def scheduler_job(backend: Backend) -> str:
    """The value of ``job`` of a backend's kube-schedulers: each backend has its own."""
    return f"scheduler-{backend.name}"


def exporters(site: Site) -> frozenset[Exporter]:
    """The exporters that a site has; nothing else may be asked for."""
    found = {
        Exporter.KUBE_STATE_METRICS,
        Exporter.NODE_EXPORTER,
        Exporter.KUBELET,
        Exporter.API_SERVER,
        Exporter.PROMETHEUS,
    }
    found |= _of_remediation(site) | _of_backends(site) | _of_cache(site)
    if any(
        site.accelerators[each].vendor == "nvidia" and _exported(site, each)
        for each in site.models()
    ):
        found.add(Exporter.DCGM)
    return frozenset(found)


def _exported(site: Site, model: str) -> bool:
    return site.accelerators[model].exporter is not None


def _of_remediation(site: Site) -> set[Exporter]:
    if site.file.remediation is None:
        return set()
    kinds = {healer.kind for healer in site.file.remediation.healers}
    found = {Exporter.NODE_PROBLEM_DETECTOR}
    if HealerKind.NODE_OPERATION_CONTROLLER in kinds:
        found |= {Exporter.NODE_OPERATION_CONTROLLER, Exporter.CUSTOM_RESOURCES}
    return found


def _of_backends(site: Site) -> set[Exporter]:
    known = {
        BackendKind.KUBE_SCHEDULER: Exporter.SCHEDULER,
        BackendKind.KUEUE: Exporter.KUEUE,
        BackendKind.VOLCANO: Exporter.VOLCANO,
    }
    return {known[backend.kind] for backend in site.scheduling.backends}


def _of_cache(site: Site) -> set[Exporter]:
    cache = site.file.cache
    if cache is None:
        return set()
    return {Exporter.ENVOY} | ({Exporter.CACHE_SERVER} if cache.server.metrics_path else set())
