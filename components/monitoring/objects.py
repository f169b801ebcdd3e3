"""Every object of a site's monitoring, on its own cluster, in a fixed order; in the namespace of
the site's own Prometheus, Alertmanager and Grafana, which is not made."""

from collections.abc import Sequence

from components.making.dump import dump
from components.making.manifest import Json, Manifest, annotate
from components.making.watch import RUNBOOKS, Watched
from components.monitoring import names
from components.monitoring.alerts import groups, scrapes
from components.monitoring.dashboards import Panels, boards, dashboards, panels_of_alerts
from components.monitoring.routes import SITE_LABEL, routing
from components.monitoring.scrape import scraping
from schemas.facts.site import Site
from schemas.model.monitoring import Monitoring


def objects(site: Site, watched: Sequence[Watched]) -> list[Manifest]:
    """The objects of the component, of what all components hand over; none without monitoring."""
    monitoring = site.file.monitoring
    if monitoring is None:
        return []
    made = groups(site, watched)
    alerts = {rule["alert"] for group in made for rule in group["rules"] if "alert" in rule}
    shown = boards(site, watched, alerts)
    panels = panels_of_alerts(site, shown)
    return annotate(
        [
            *rules(site, monitoring, [_link_alerts(site, monitoring, panels, g) for g in made]),
            *scraping(site, monitoring, scrapes(watched)),
            routing(site, monitoring),
            *state_metrics(site, monitoring, watched),
            *dashboards(site, monitoring, shown),
        ]
    )


def rules(site: Site, monitoring: Monitoring, found: Sequence[Json]) -> list[Manifest]:
    """The rules: an object of the operator for each group, or one file for each."""
    groups = {group["name"]: {"groups": [group]} for group in found}
    if monitoring.prometheus_operator:
        kind = ("v1", "PrometheusRule")
        return [
            names.operator_object(site, monitoring, kind, f"{names.PREFIX}-{name}", spec)
            for name, spec in groups.items()
        ]
    data = {f"{name}.yaml": dump(spec) for name, spec in groups.items()}
    return [names.files(site, monitoring, names.RULES, data)] if data else []


def state_metrics(site: Site, monitoring: Monitoring, watched: Sequence[Watched]) -> list[Manifest]:
    """The configuration of kube-state-metrics, as --custom-resource-state-config-file takes it;
    none where it has nothing to show: of itself it knows no custom resources."""
    found = [resource for each in watched for resource in each.custom_resources]
    body = {"kind": "CustomResourceStateMetrics", "spec": {"resources": found}}
    data = {names.CUSTOM_RESOURCES_FILE: dump(body)}
    return [names.files(site, monitoring, names.CUSTOM_RESOURCES, data)] if found else []


def _link_alerts(site: Site, monitoring: Monitoring, panels: Panels, group: Json) -> Json:
    """A group whose alerts carry their site, as one Alertmanager may serve several, and lead to
    their runbook and panel; recording rules stay unchanged."""
    folder = (monitoring.runbooks_url or RUNBOOKS).rstrip("/")
    grafana = (monitoring.grafana_url or "").rstrip("/")
    linked = []
    for rule in group["rules"]:
        if "alert" in rule:
            links = {"runbook_url": f"{folder}/{rule['alert']}.md"}
            if monitoring.dashboards_label:
                uid, panel = panels.get(rule["alert"], panels[""])
                # Grafana links rules that have the first two to the panel.
                links |= {"__dashboardUid__": uid, "__panelId__": str(panel)}
                links["dashboard"] = f"{grafana}/d/{uid}?viewPanel={panel}"
            labels = {**rule.get("labels", {}), SITE_LABEL: site.name}
            rule = {**rule, "labels": labels, "annotations": {**rule["annotations"], **links}}
        linked.append(rule)
    return {**group, "rules": linked}
