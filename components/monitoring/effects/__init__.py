"""Effects of changes to a site's monitoring on machines: nothing.

All that the component makes is read by programs of the site's own: the Prometheus operator and its
Prometheus and Alertmanager, Grafana's sidecar, kube-state-metrics. They read it again, or restart
where they run; no node is told of it. What a change costs is an alert that is not told.
Sources: prometheus-operator 0.85.0, pkg/prometheus and pkg/alertmanager (another rule or target is
a new configuration, which is reloaded).
"""

from components.effects.applying import Applier, Kind, effect, former, rules
from components.effects.rules import Judge, Rule, harmless
from components.effects.vocabulary import Effects, Field, Impact, ObjectChange, SiteChange

OPERATOR = "prometheus-operator 0.85.0, pkg/prometheus/operator.go, pkg/alertmanager/operator.go"
FILES = "foresite, components/monitoring"
_NO_MACHINE = "no machine is affected, and no pod on one restarts"

_MEANS = {
    "PrometheusRule.monitoring.coreos.com": "which alerts there are, and when each fires",
    "PodMonitor.monitoring.coreos.com": "what Prometheus asks for metrics",
    "ServiceMonitor.monitoring.coreos.com": "what Prometheus asks for metrics",
    "ScrapeConfig.monitoring.coreos.com": "what Prometheus asks for metrics",
    "AlertmanagerConfig.monitoring.coreos.com": "who is notified of alerts",
    "ConfigMap": "a file for Prometheus, Alertmanager, Grafana or kube-state-metrics",
}
"""The meaning of each kind for a person who monitors the site."""
_FIELDS = {"ConfigMap": ("data", "binaryData", "immutable")}


def _label_judge(meaning: str, source: str) -> Judge:
    """A judge for labels of an object: programs of the site's own choose objects by these."""

    def judge(_site: SiteChange, change: ObjectChange, field: Field) -> Effects:
        why = f"{meaning}: by its labels it is found, or found no more; {_NO_MACHINE}"
        yield effect(change, field, Impact.NONE, why, source)

    return judge


def _removal_judge(meaning: str, source: str) -> Judge:
    """A judge for a removed object, or one that makes way for another name."""

    def judge(_site: SiteChange, change: ObjectChange, field: Field) -> Effects:
        moves = change.after is not None and former(change).key != change.one.key
        ends = (
            "it is found under its new name"
            if moves
            else "the metrics, messages or dashboards that it configured end"
        )
        why = f"{meaning}: {ends}; {_NO_MACHINE}"
        yield effect(change, field, Impact.NONE, why, source)

    return judge


def _kind(name: str, meaning: str) -> Kind:
    source = FILES if name == "ConfigMap" else OPERATOR
    changed = harmless(f"{meaning}; {_NO_MACHINE}", source)
    fields = tuple((each, changed) for each in _FIELDS.get(name, ("spec",)))
    gone = _removal_judge(meaning, source)
    return Kind(name, changed, gone, fields, replaced=gone, labels=_label_judge(meaning, source))


RULES: list[Rule] = [
    rule for name, said in _MEANS.items() for rule in rules(_kind(name, said), Applier.PULUMI)
]
"""Of this component's objects; Kubernetes' own rules follow."""
