"""The routes of alerts: who gets each, what one message holds, and which alerts a larger one
silences.

The same routes as an AlertmanagerConfig of the Prometheus operator and as a whole alertmanager.yml.
Secrets stand in neither: the one names a Secret and its key, the other a file.

Sources: Alertmanager 0.28.1, config/notifiers.go and CHANGELOG.md (url_file of webhooks is of 0.26,
PagerDuty's routing_key_file of 0.25); prometheus-operator 0.85.0, pkg/alertmanager/amcfg.go
(namespaceEnforcer: of an AlertmanagerConfig only alerts of its own namespace, unless
Alertmanager.spec.alertmanagerConfigMatcherStrategy says otherwise).
"""

from typing import NamedTuple

from components.making.dump import dump
from components.making.manifest import Json, Manifest
from components.monitoring.names import ROUTES, ROUTES_FILE, SECRETS_FOLDER, files, operator_object
from schemas.facts.site import Site
from schemas.model.monitoring import Monitoring, Receiver
from schemas.model.vocabulary import ReceiverKind

GROUPED_BY = ("site", "alertname", "pool")
"""Labels that group alerts into one message: a rack that fails is one, not one for each node."""
GROUP_WAIT, GROUP_INTERVAL = "30s", "5m"
"""Waiting times: of the first message for others of its group, and of the next for new alerts."""
SITE_LABEL = "site"
"""Label of every alert of Foresite's; by it they are told from the site's own."""
TITLE = (
    '{{ if eq .Status "resolved" }}Resolved: {{ end }}{{ .CommonLabels.alertname }}'
    "{{ if gt (len .Alerts) 1 }} ({{ len .Alerts }}){{ end }} at {{ .CommonLabels.site }}"
)
TEXT = (
    "{{ range .Alerts }}{{ .Annotations.summary }}\n{{ end }}"
    "{{ with .CommonAnnotations.description }}{{ . }}\n{{ end }}"
    "{{ with .CommonAnnotations.runbook_url }}{{ . }}\n{{ end }}"
    "{{ with .CommonAnnotations.dashboard }}{{ . }}{{ end }}"
)
"""The text of a message: each object that the alert is about, its runbook and its panel."""


class Inhibition(NamedTuple):
    """While an alert fires, others are not told. Both are regular expressions of names."""

    source: str
    target: str = ""
    """Empty: every warning. What is critical is told all the same."""
    equal: tuple[str, ...] = ()
    """Labels that both have, with one value."""
    of: tuple[str, str] | None = None
    """A label that the source has besides, with its value."""


OF_A_NODE = (
    "AcceleratorsMissing|AcceleratorXid|AcceleratorMemoryWornOut|DetectorSilent|NodeUnwatched|"
    "NodeFaultPersists|NodeFaultUnmended|NodeRepairSlow|FaultyNodeTakesPods|NodeRebootLoop|"
    "CacheObjectsLost|CacheConfigurationRefused"
)
OF_A_REPAIR = "NodeFaultPersists|NodeRepairSlow|FaultyNodeTakesPods"
INHIBITIONS = (
    # Without the API server nothing is repaired, scheduled or seen. But its metrics may be all that
    # is lost, so whatever is critical is told.
    Inhibition("WatchLost", of=("exporter", "apiserver")),
    Inhibition("PoolDown", "PoolTooSmall|NodesMissing|NodeStaysOut", ("pool",)),
    # A node that is gone has no faults of its own, and one that repairs did not help is told once.
    Inhibition("NodeStaysOut", OF_A_NODE, ("node",)),
    Inhibition("NodeQuarantined", f"{OF_A_NODE}|NodeStaysOut", ("node",)),
    # What half a pool has is no fault of its hosts, and repairs are held. Faults that nobody
    # repairs are not counted in it, so they are told.
    Inhibition("FaultStorm", OF_A_REPAIR, ("pool",)),
    Inhibition("AcceleratorsGone", "AcceleratorsMissing", ("model",)),
    Inhibition("SchedulerDown", "SchedulerPlacesNothing|SchedulerStuck", ("scheduler",)),
    Inhibition("NodeDiskPressure", "NodeDiskUsed", ("node",)),
    Inhibition("HealerDown", OF_A_REPAIR, of=("deployment", "turns")),
    Inhibition("ExporterGone", "NodeUnwatched", ("exporter",)),
    Inhibition("CacheDown", "CacheServersDown|CacheErrors|CacheHitsLow|CacheUnbalanced"),
)
"""Something larger first, what follows from it second."""


def routing(site: Site, monitoring: Monitoring) -> Manifest:
    """The routes, as the site's Alertmanager takes them."""
    if monitoring.prometheus_operator:
        spec = configuration(site, monitoring)
        kind = ("v1alpha1", "AlertmanagerConfig")
        return operator_object(site, monitoring, kind, ROUTES, spec)
    return files(site, monitoring, ROUTES, {ROUTES_FILE: dump(whole(site, monitoring))})


# --- with the Prometheus operator ---


def configuration(site: Site, monitoring: Monitoring) -> Json:
    """The spec of an AlertmanagerConfig: it takes the alerts of this site alone."""
    routes = monitoring.routes
    return {
        "route": {
            "receiver": routes.warning,
            "matchers": [_matcher(SITE_LABEL, "=", site.name)],
            "groupBy": list(GROUPED_BY),
            "groupWait": GROUP_WAIT,
            "groupInterval": GROUP_INTERVAL,
            "repeatInterval": f"{routes.repeat_hours}h",
            "routes": [
                {
                    "receiver": routes.critical,
                    "matchers": [_matcher("severity", "=", "critical")],
                }
            ],
        },
        "receivers": [_operator_receiver(each) for each in monitoring.receivers],
        "inhibitRules": [
            {
                "sourceMatch": [_matcher(*each) for each in sources(inhibition)],
                "targetMatch": [_matcher(*each) for each in targets(inhibition, site.name)],
                "equal": [SITE_LABEL, *inhibition.equal],
            }
            for inhibition in INHIBITIONS
        ],
    }


def sources(inhibition: Inhibition) -> list[tuple[str, str, str]]:
    """Matchers of the alerts that silence others: label, operator, value."""
    more = [(inhibition.of[0], "=", inhibition.of[1])] if inhibition.of else []
    return [("alertname", "=~", inhibition.source), *more]


def targets(inhibition: Inhibition, site: str) -> list[tuple[str, str, str]]:
    """Matchers of the alerts that are silenced; those of other sites never are."""
    own = (SITE_LABEL, "=", site)
    if not inhibition.target:
        return [("severity", "=", "warning"), own]
    return [("alertname", "=~", inhibition.target), own]


def _matcher(name: str, how: str, value: str) -> Json:
    return {"name": name, "matchType": how, "value": value}


def _operator_receiver(receiver: Receiver) -> Json:
    secret = {"name": receiver.secret, "key": receiver.key}
    match receiver.kind:
        case ReceiverKind.WEBHOOK:
            found = {"webhookConfigs": [{"urlSecret": secret, "sendResolved": True}]}
        case ReceiverKind.SLACK:
            slack: Json = {"apiURL": secret, "sendResolved": True, "title": TITLE, "text": TEXT}
            if receiver.channel:
                slack["channel"] = receiver.channel
            found = {"slackConfigs": [slack]}
        case ReceiverKind.PAGERDUTY:
            details = [{"key": "alerts", "value": TEXT}]
            pager = {"routingKey": secret, "sendResolved": True, "description": TITLE}
            found = {"pagerdutyConfigs": [{**pager, "severity": SEVERITY, "details": details}]}
    return {"name": receiver.name, **found}


SEVERITY = '{{ if eq .CommonLabels.severity "critical" }}critical{{ else }}warning{{ end }}'
"""As PagerDuty has it."""


# --- without it ---


def whole(site: Site, monitoring: Monitoring) -> Json:
    """A whole configuration: also of alerts that are not Foresite's, by their severity."""
    routes = monitoring.routes
    return {
        "route": {
            "receiver": routes.warning,
            "group_by": list(GROUPED_BY),
            "group_wait": GROUP_WAIT,
            "group_interval": GROUP_INTERVAL,
            "repeat_interval": f"{routes.repeat_hours}h",
            "routes": [{"receiver": routes.critical, "matchers": ['severity="critical"']}],
        },
        "receivers": [_plain_receiver(each) for each in monitoring.receivers],
        "inhibit_rules": [
            {
                "source_matchers": [_format_matcher(*each) for each in sources(inhibition)],
                "target_matchers": [
                    _format_matcher(*each) for each in targets(inhibition, site.name)
                ],
                "equal": [SITE_LABEL, *inhibition.equal],
            }
            for inhibition in INHIBITIONS
        ],
    }


def _format_matcher(name: str, how: str, value: str) -> str:
    return f'{name}{how}"{value}"'


def _plain_receiver(receiver: Receiver) -> Json:
    path = f"{SECRETS_FOLDER}/{receiver.secret}/{receiver.key}"
    match receiver.kind:
        case ReceiverKind.WEBHOOK:
            found: Json = {"webhook_configs": [{"url_file": path, "send_resolved": True}]}
        case ReceiverKind.SLACK:
            slack: Json = {"api_url_file": path, "send_resolved": True}
            slack |= {"title": TITLE, "text": TEXT}
            if receiver.channel:
                slack["channel"] = receiver.channel
            found = {"slack_configs": [slack]}
        case ReceiverKind.PAGERDUTY:
            pager: Json = {"routing_key_file": path, "send_resolved": True, "severity": SEVERITY}
            pager |= {"description": TITLE, "details": {"alerts": TEXT}}
            found = {"pagerduty_configs": [pager]}
    return {"name": receiver.name, **found}
