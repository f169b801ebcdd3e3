"""Parts of queries that several dashboards have.

Which node is of which pool and model, and which namespace is whose, is recorded by the rules
(components/monitoring/alerts/inventory.py), as no metric of the cluster says it.
"""

from components.monitoring.exporters import Exporter, job
from schemas.facts.site import Site

RATE = "5m"
"""Over which counters are seen: ten scrapes."""
RECORDED = Exporter.PROMETHEUS
"""Whom a panel asks that shows what rules record."""


def by(site: Site, exporter: Exporter, *more: str) -> str:
    """The labels of an exporter's series, with further matchers."""
    return "{" + ", ".join([f'job="{job(site, exporter)}"', *more]) + "}"


def resources(site: Site) -> str:
    """The resources by which researchers ask for accelerators, as kube-state-metrics writes them
    (2.20, internal/store/utils.go, SanitizeLabelName); a regular expression."""
    names = [site.resource(model) for model in site.models()]
    return "|".join("".join(c if c.isalnum() else "_" for c in name) for name in names)


def pending(site: Site) -> str:
    """What leaves of pods' series those whose pod waits or starts, to be written after them."""
    where = by(site, Exporter.KUBE_STATE_METRICS, 'phase="Pending"')
    return f"and on (namespace, pod) (kube_pod_status_phase{where} == 1)"
