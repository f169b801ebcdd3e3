"""Monitoring: rules, scrape targets, routes and dashboards, of which no host takes notice.

Prometheus, Alertmanager, Grafana and kube-state-metrics are the site's own, and read anew what
changes; nothing here is part of a pod of Foresite's.
"""

from collections.abc import Mapping

from components.effects.vocabulary import Action
from tests.kit.preview_repository import Repository
from tests.verdicts.cachesites import appended, tokyo
from tests.verdicts.edits import Edit, applied, site, together
from tests.verdicts.row import SAME, Expected, Row

_RULES = (
    "prometheus-operator 0.85.0, pkg/prometheus/server/rules.go: rules are files of Prometheus, "
    "which its config-reloader makes it read again"
)
_SCRAPED = "prometheus-operator 0.85.0, pkg/prometheus/promcfg.go: scrape configuration, read again"
_ROUTED = (
    "prometheus-operator 0.85.0, pkg/alertmanager/operator.go: a Secret that Alertmanager reads "
    "again; it asks for the named key of the receiver's Secret"
)
_BOARDS = "Grafana's sidecar finds ConfigMaps by their label; no pod of a host mounts them"
_FILES = (
    "Kubernetes 1.34.3, pkg/volume/util/atomic_writer.go: the kubelet exchanges files of a "
    "ConfigMap in running pods"
)
_NOT_MADE = "components/monitoring/objects.py: the namespace and its programs are the site's own"
_GROUP = "PrometheusRule/foresite-{}"
_ROUTES = {"AlertmanagerConfig/foresite-alertmanager": Action.CHANGED}
_BOARD = "ConfigMap/foresite-*-dashboard"
_OPERATED = ("PrometheusRule", "PodMonitor", "ServiceMonitor", "AlertmanagerConfig")
_PLAIN = tuple(f"ConfigMap/foresite-{each}" for each in ("rules", "scrape", "alertmanager"))
Actions = Mapping[str, Action]


def _row(name: str, edit: Edit, actions: Actions, source: str, *base: Edit) -> Row:
    """A change of tokyo-1 that touches no host."""
    first = (applied("tokyo-1"), *base)
    expected = Expected(actions=actions)
    return Row(f"monitoring: {name}", (edit,), {"tokyo-1": expected}, source, first)


def _setting(text: str) -> Edit:
    return tokyo("\nmonitoring:\n", f"\nmonitoring:\n  {text}\n")


def _without(name: str) -> Edit:
    """A site file without its monitoring, which stands last."""

    def edit(repository: Repository) -> None:
        file = f"sites/{name}.yaml"
        kept, found, _ = repository.text(file).partition("\nmonitoring:\n")
        assert found
        repository.write(file, f"{kept}\n")

    return edit


_MONITORING = """
monitoring:
  labels: {prometheus: site}
  receivers: [{name: desk, kind: webhook, secret: alert-receivers, key: url}]
  routes: {critical: desk, warning: desk}
"""
_THRESHOLDS = tuple(
    _row(f"thresholds: {text.partition(':')[0]}", _setting(f"thresholds: {{{text}}}"),
         {_GROUP.format(group): Action.CHANGED}, _RULES)
    for text, group in (
        ("queue_minutes: 300", "queues"),
        ("gang_minutes: 45", "queues"),
        ("repair_minutes: 120", "repairs"),
        ("disk_used_percent: 80", "disks"),
        ("cache_hit_percent: 60", "cache"),
        ("cache_error_percent: 2", "cache"),
        ("cache_imbalance: 150", "cache"),
    )
)  # fmt: skip
_SCRAPED_ROWS = tuple(
    _row(f"scraped: {name}", _setting(f"scraped: {{{name}: other}}"),
         {"PrometheusRule/*": Action.CHANGED}, _RULES)
    for name in ("kube_state_metrics", "node_exporter", "kubelet", "api_server")
)  # fmt: skip
_DESK = "{name: desk, kind: slack, secret: alert-receivers, key: slack-url"
_DAY = "    - {name: day, kind: webhook, secret: alert-receivers, key: url}\n"
_ON_CALL = "    - {name: on-call, kind: pagerduty, secret: alert-receivers, key: routing-key}\n"
_RECEIVERS = tuple(
    _row(f"{name}", edit, _ROUTES, _ROUTED)
    for name, edit in (
        ("receivers: another name",
         together(tokyo("name: desk", "name: day"), tokyo("warning: desk", "warning: day"))),
        ("receivers: another kind",
         tokyo(f'{_DESK}, channel: "#gpu-tokyo"', _DESK.replace("slack,", "webhook,"))),
        ("receivers: another Secret",
         tokyo("secret: alert-receivers, key: slack-url", "secret: chat, key: slack-url")),
        ("receivers: another key", tokyo("key: slack-url", "key: chat-url")),
        ("receivers: another channel", tokyo("#gpu-tokyo", "#gpu")),
        ("receivers: one more, and routes: who gets warnings",
         together(tokyo("  routes:", f"{_DAY}  routes:"), tokyo("warning: desk", "warning: day"),
                  tokyo("critical: on-call", "critical: desk"), tokyo(_ON_CALL, ""))),
        ("routes: who is called", tokyo("critical: on-call, warning: desk",
                                        "critical: desk, warning: on-call")),
        ("routes: repeat_hours", tokyo("warning: desk}", "warning: desk, repeat_hours: 24}")),
    )
)  # fmt: skip
_FIELDS = (
    _row("labels", tokyo("{prometheus: site}", "{prometheus: other}"),
         {f"{kind}/*": Action.CHANGED for kind in _OPERATED},
         f"{_RULES}; a Prometheus that chooses others no longer reads them"),
    _row("namespace: another one", _setting("namespace: watch"),
         {"*/foresite-*": Action.REPLACED}, _NOT_MADE),
    _row("runbooks_url", _setting("runbooks_url: https://git.example/foresite/docs/runbooks"),
         {"PrometheusRule/*": Action.CHANGED, _BOARD: Action.CHANGED}, f"{_RULES}; {_BOARDS}"),
    _row("grafana_url", _setting("grafana_url: https://grafana.example"),
         {"PrometheusRule/*": Action.CHANGED}, _RULES),
    _row("dashboards_label: another one", _setting("dashboards_label: board"),
         {_BOARD: Action.CHANGED}, _BOARDS),
    _row("dashboards_label: no dashboards", _setting("dashboards_label: null"),
         {_BOARD: Action.DELETED, "PrometheusRule/*": Action.CHANGED}, f"{_BOARDS}; {_RULES}"),
    _row("prometheus_operator: no more",
         tokyo("  labels: {prometheus: site}\n", "  prometheus_operator: false\n"),
         {**{f"{kind}/*": Action.DELETED for kind in _OPERATED},
          **dict.fromkeys(_PLAIN, Action.ADDED)}, f"{_RULES}; {_NOT_MADE}"),
    Row("monitoring: prometheus_operator: from now on",
        (site("lab-1", "  prometheus_operator: false\n", ""),),
        {"lab-1": Expected(actions={"PrometheusRule/*": Action.ADDED,
                                    **dict.fromkeys(_PLAIN, Action.DELETED)})},
        _RULES, (applied("lab-1"),)),
    Row("monitoring: a threshold, in plain files",
        (site("lab-1", "  prometheus_operator: false\n",
              "  prometheus_operator: false\n  thresholds: {disk_used_percent: 80}\n"),),
        {"lab-1": Expected(actions={"ConfigMap/foresite-rules": Action.CHANGED})},
        f"{_FILES}; Prometheus is the site's own", (applied("lab-1"),)),
)  # fmt: skip
_WHOLE = (
    _row("no longer", _without("tokyo-1"), {"*/foresite-*": Action.DELETED}, _NOT_MADE),
    _row("for the first time", appended("tokyo-1", _MONITORING), {"*/foresite-*": Action.ADDED},
         _NOT_MADE, _without("tokyo-1")),
    Row("monitoring: for the first time, on a site whose cluster does not answer yet",
        (appended("tokyo-1", _MONITORING),), {"tokyo-1": Expected()},
        "components/shell.py: without a context nothing is registered in the site's own cluster",
        (_without("tokyo-1"),)),
    Row("monitoring: defaults that are written down",
        (_setting("namespace: monitoring\n  prometheus_operator: true\n"
                  "  dashboards_label: grafana_dashboard\n  runbooks_url: null\n"
                  "  grafana_url: null\n"
                  "  scraped: {kube_state_metrics: kube-state-metrics, kubelet: kubelet,\n"
                  "    node_exporter: node-exporter, api_server: apiserver}\n"
                  "  thresholds: {queue_minutes: 240, gang_minutes: 30, repair_minutes: 90,\n"
                  "    disk_used_percent: 85, cache_hit_percent: 50, cache_error_percent: 1,\n"
                  "    cache_imbalance: 200}"),
         tokyo("warning: desk}", "warning: desk, repeat_hours: 12}")), {}, SAME,
        (applied("tokyo-1"),)),
)  # fmt: skip
ROWS = (*_THRESHOLDS, *_SCRAPED_ROWS, *_RECEIVERS, *_FIELDS, *_WHOLE)
