"""The scrape targets of Prometheus: every program that a site's components run, and the schedulers.

The same targets as objects of the Prometheus operator and as scrape_configs; either way a series
has the labels job, instance, namespace, pod, node and pool. Programs that are the site's own
(kube-state-metrics, node_exporter, kubelets, API server) it asks already: see monitoring.scraped.

Sources: prometheus-operator 0.85.0, pkg/prometheus/promcfg.go (labels that it adds, and that
relabelings come after); Prometheus 2.42, docs/configuration/configuration.md (kubernetes_sd_config:
a pod has a target for each port that it declares, or one without a port).
"""

from collections.abc import Sequence

from components.making.dump import dump
from components.making.manifest import Json, Manifest
from components.making.watch import Scrape
from components.monitoring.names import PREFIX, SCRAPE, SCRAPE_FILE, files, operator_object
from schemas.facts.site import Site
from schemas.kubernetes.node_labels import POOL_LABEL
from schemas.model.monitoring import Monitoring

INTERVAL = "30s"
TIMEOUT = "20s"
TOKEN = "/var/run/secrets/kubernetes.io/serviceaccount/token"  # noqa: S105 - where it is
"""Prometheus' own token, in its pod."""
META = "__meta_kubernetes_"


def scraping(site: Site, monitoring: Monitoring, found: Sequence[Scrape]) -> list[Manifest]:
    """How Prometheus finds the targets: monitors of the operator, or one file."""
    if monitoring.prometheus_operator:
        return [_monitor(site, monitoring, each) for each in found]
    text = dump({"scrape_configs": [scrape_config(each) for each in found]})
    return [files(site, monitoring, SCRAPE, {SCRAPE_FILE: text})] if found else []


# --- with the Prometheus operator ---


_DROP_LABELS: Json = {"regex": "container|endpoint|service", "action": "labeldrop"}
"""Drops the labels that the operator adds, so that series are the same with and without it, and a
program's own label of a container keeps its name."""


def _monitor(site: Site, monitoring: Monitoring, scrape: Scrape) -> Manifest:
    """A PodMonitor; a ServiceMonitor where the port is only known by its Service, or a token is
    shown: a PodMonitor shows none but a Secret's."""
    endpoint: Json = {
        "port": scrape.port_name,
        "path": scrape.path,
        "interval": INTERVAL,
        "scrapeTimeout": TIMEOUT,
        "relabelings": _camel([*_targets(scrape), _DROP_LABELS]),
        "metricRelabelings": _camel(metric_filter(scrape)) or None,
    }
    if scrape.secure:
        # Programs that sign their own certificate: it says nothing.
        endpoint |= {"scheme": "https", "tlsConfig": {"insecureSkipVerify": True}}
        endpoint["bearerTokenFile"] = TOKEN
    kind, word = ("ServiceMonitor", "") if scrape.service else ("PodMonitor", "podMetrics")
    among = {"key": POOL_LABEL, "operator": "In", "values": list(scrape.pools)}
    expressions = [among] if scrape.pools else None
    spec = {
        "namespaceSelector": {"matchNames": [scrape.namespace]},
        "selector": {"matchLabels": scrape.labels, "matchExpressions": expressions},
        f"{word}{'E' if word else 'e'}ndpoints": [{k: v for k, v in endpoint.items() if v}],
    }
    return operator_object(site, monitoring, ("v1", kind), f"{PREFIX}-{scrape.name}", spec)


def _camel(rules: list[Json]) -> list[Json]:
    """Relabelling as the operator writes it."""
    names = {"source_labels": "sourceLabels", "target_label": "targetLabel"}
    return [{names.get(key, key): value for key, value in rule.items()} for rule in rules]


# --- without it ---


def scrape_config(scrape: Scrape) -> Json:
    """One entry of scrape_configs."""
    discovery: Json = {"role": "pod", "namespaces": {"names": [scrape.namespace]}}
    found: Json = {
        "job_name": scrape.name,
        "scrape_interval": INTERVAL,
        "scrape_timeout": TIMEOUT,
        "metrics_path": scrape.path,
        "kubernetes_sd_configs": [discovery],
        "relabel_configs": [*_pod_filter(scrape), *_targets(scrape)],
    }
    if scrape.secure:
        found["scheme"] = "https"
        found["authorization"] = {"credentials_file": TOKEN}
        found["tls_config"] = {"insecure_skip_verify": True}
    if metric_filter(scrape):
        found["metric_relabel_configs"] = metric_filter(scrape)
    return found


def _pod_filter(scrape: Scrape) -> list[Json]:
    """The pods that run and have the labels. The port is written, not found: of pods that declare
    several ports, or none, one target is left."""
    wanted = {
        **{_label(key): value for key, value in scrape.pod_labels.items()},
        **({_label(POOL_LABEL): "|".join(scrape.pools)} if scrape.pools else {}),
    }
    keep = [_rule([name], value.replace(".", r"\."), "keep") for name, value in wanted.items()]
    return [
        *keep,
        _rule([f"{META}pod_phase"], "Pending|Succeeded|Failed|Unknown", "drop"),
        _rule([f"{META}pod_container_init"], "true", "drop"),
        {
            "source_labels": [f"{META}pod_ip"],
            "regex": "(.+)",
            "target_label": "__address__",
            "replacement": f"${{1}}:{scrape.port}",
        },
        _copy_label("namespace", "namespace"),
        _copy_label("pod_name", "pod"),
    ]


def _label(key: str) -> str:
    """The name that a label of a pod has in discovery."""
    return f"{META}pod_label_" + "".join(c if c.isalnum() else "_" for c in key)


def _rule(source: list[str], regex: str, action: str) -> Json:
    return {"source_labels": source, "regex": regex, "action": action}


def _copy_label(source: str, target: str) -> Json:
    return {"source_labels": [META + source], "target_label": target}


# --- with both ---


def _targets(scrape: Scrape) -> list[Json]:
    """The labels of a target that rules count on."""
    pool = {"source_labels": [_label(POOL_LABEL)], "target_label": "pool"}
    return [
        {"target_label": "job", "replacement": scrape.job},
        _copy_label("pod_node_name", "node"),
        pool,
    ]


def metric_filter(scrape: Scrape) -> list[Json]:
    """The filter of metrics to keep; all are kept where none is named."""
    return [_rule(["__name__"], "|".join(scrape.keep), "keep")] if scrape.keep else []
