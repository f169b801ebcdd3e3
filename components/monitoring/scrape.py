"""The scrape targets of Prometheus: every program that a site's components run, and the schedulers.

The same targets as objects of the Prometheus operator and as scrape_configs; either way a series
has the labels job, instance, namespace, pod, node and pool. Programs that are the site's own
(kube-state-metrics, node_exporter, kubelets, API server) it asks already: see monitoring.scraped.
"""

from collections.abc import Sequence

from components.making.dump import dump
from components.making.manifest import Json, Manifest, documents, fill, prune
from components.making.watch import Scrape
from components.monitoring.names import PREFIX, SCRAPE, SCRAPE_FILE, files, operator_object
from schemas.facts.site import Site
from schemas.kubernetes.node_labels import POOL_LABEL
from schemas.model.monitoring import Monitoring

_ENDPOINT, _SECURE, _DROP_LABELS, _CONFIG, _CONFIG_SECURE, _PODS, _TARGETS = documents(__file__)


def scraping(site: Site, monitoring: Monitoring, found: Sequence[Scrape]) -> list[Manifest]:
    """How Prometheus finds the targets: monitors of the operator, or one file."""
    if monitoring.prometheus_operator:
        return [_monitor(site, monitoring, each) for each in found]
    text = dump({"scrape_configs": [scrape_config(each) for each in found]})
    return [files(site, monitoring, SCRAPE, {SCRAPE_FILE: text})] if found else []


def _monitor(site: Site, monitoring: Monitoring, scrape: Scrape) -> Manifest:
    """A PodMonitor; a ServiceMonitor where the port is only known by its Service, or a token is
    shown: a PodMonitor shows none but a Secret's."""
    values = {
        **scrape._asdict(),
        "relabelings": _camel([*_targets(scrape), _DROP_LABELS]),
        "filter": _camel(metric_filter(scrape)) or None,
        "secure": _SECURE if scrape.secure else {},
    }
    kind, word = ("ServiceMonitor", "") if scrape.service else ("PodMonitor", "podMetrics")
    among = {"key": POOL_LABEL, "operator": "In", "values": list(scrape.pools)}
    expressions = [among] if scrape.pools else None
    spec = {
        "namespaceSelector": {"matchNames": [scrape.namespace]},
        "selector": {"matchLabels": scrape.labels, "matchExpressions": expressions},
        f"{word}{'E' if word else 'e'}ndpoints": [prune(fill(_ENDPOINT, values))],
    }
    return operator_object(site, monitoring, ("v1", kind), f"{PREFIX}-{scrape.name}", spec)


def _camel(rules: list[Json]) -> list[Json]:
    """Relabelling as the operator writes it."""
    names = {"source_labels": "sourceLabels", "target_label": "targetLabel"}
    return [{names.get(key, key): value for key, value in rule.items()} for rule in rules]


def scrape_config(scrape: Scrape) -> Json:
    """One entry of scrape_configs."""
    kept = metric_filter(scrape)
    values = {
        **scrape._asdict(),
        "relabelings": [*_pod_filter(scrape), *_targets(scrape)],
        "filter": {"metric_relabel_configs": kept} if kept else {},
        "secure": _CONFIG_SECURE if scrape.secure else {},
    }
    found: Json = fill(_CONFIG, values)
    return found


def _pod_filter(scrape: Scrape) -> list[Json]:
    """The pods that run and have the labels."""
    wanted = {
        **{_label(key): value for key, value in scrape.pod_labels.items()},
        **({_label(POOL_LABEL): "|".join(scrape.pools)} if scrape.pools else {}),
    }
    keep = [_keep(name, value.replace(".", r"\.")) for name, value in wanted.items()]
    return [*keep, *fill(_PODS, {"address": f"${{1}}:{scrape.port}"})]


def _label(key: str) -> str:
    """The name that a label of a pod has in discovery."""
    return "__meta_kubernetes_pod_label_" + "".join(c if c.isalnum() else "_" for c in key)


def _keep(label: str, regex: str) -> Json:
    return {"source_labels": [label], "regex": regex, "action": "keep"}


def _targets(scrape: Scrape) -> list[Json]:
    found: list[Json] = fill(_TARGETS, {"job": scrape.job, "pool": _label(POOL_LABEL)})
    return found


def metric_filter(scrape: Scrape) -> list[Json]:
    """The filter of metrics to keep; all are kept where none is named."""
    return [_keep("__name__", "|".join(scrape.keep))] if scrape.keep else []
