"""Every object of a site's monitoring, on its own cluster, in a fixed order.

Their namespace is not made: Prometheus, Alertmanager and Grafana run in it, which are the site's.
"""

from collections.abc import Sequence

from components.making.dump import dump
from components.making.manifest import Json, Manifest, annotate
from components.making.watch import RUNBOOKS, Watched
from components.monitoring.alerts import groups, scrapes
from components.monitoring.dashboards import dashboards
from components.monitoring.names import (
    CUSTOM_RESOURCES,
    CUSTOM_RESOURCES_FILE,
    PREFIX,
    RULES,
    files,
    operator_object,
)
from components.monitoring.routes import SITE_LABEL, routing
from components.monitoring.scrape import scraping
from schemas.facts.site import Site
from schemas.model.monitoring import Monitoring


def objects(site: Site, watched: Sequence[Watched]) -> list[Manifest]:
    """The objects of the component, of what all components hand over; none where nothing watches
    the site."""
    monitoring = site.file.monitoring
    if monitoring is None:
        return []
    return annotate(
        [
            *rules(site, monitoring, watched),
            *scraping(site, monitoring, scrapes(watched)),
            routing(site, monitoring),
            *custom_resources(site, monitoring, watched),
            *dashboards(site, monitoring, watched),
        ]
    )


def rules(site: Site, monitoring: Monitoring, watched: Sequence[Watched]) -> list[Manifest]:
    """The rules: an object of the operator for each group, or one file for each."""
    found = [
        link_runbooks(monitoring, label_alerts(site, group)) for group in groups(site, watched)
    ]
    if monitoring.prometheus_operator:
        return [
            operator_object(
                site,
                monitoring,
                ("v1", "PrometheusRule"),
                f"{PREFIX}-{group['name']}",
                {"groups": [group]},
            )
            for group in found
        ]
    data = {f"{group['name']}.yaml": dump({"groups": [group]}) for group in found}
    return [files(site, monitoring, RULES, data)] if data else []


def custom_resources(
    site: Site, monitoring: Monitoring, watched: Sequence[Watched]
) -> list[Manifest]:
    """The configuration of kube-state-metrics, as --custom-resource-state-config-file takes it;
    none where it has nothing to show: of itself it knows no custom resources."""
    found = [resource for each in watched for resource in each.custom_resources]
    body = {"kind": "CustomResourceStateMetrics", "spec": {"resources": found}}
    data = {CUSTOM_RESOURCES_FILE: dump(body)}
    return [files(site, monitoring, CUSTOM_RESOURCES, data)] if found else []


def label_alerts(site: Site, group: Json) -> Json:
    """A group whose alerts carry their site, as one Alertmanager may serve several; recording rules
    stay unchanged."""
    own = {SITE_LABEL: site.name}
    said = [
        {**rule, "labels": {**rule.get("labels", {}), **own}} if "alert" in rule else rule
        for rule in group["rules"]
    ]
    return {**group, "rules": said}


def link_runbooks(monitoring: Monitoring, group: Json) -> Json:
    """A group whose alerts link to their runbooks, where the site gives the address of these."""
    if monitoring.runbooks_url is None:
        return group
    folder = monitoring.runbooks_url.rstrip("/")
    return {**group, "rules": [_link_runbook(folder, rule) for rule in group["rules"]]}


def _link_runbook(folder: str, rule: Json) -> Json:
    told = rule.get("annotations", {})
    if "runbook_url" not in told:
        return rule
    page = told["runbook_url"].removeprefix(f"{RUNBOOKS}/")
    return {**rule, "annotations": {**told, "runbook_url": f"{folder}/{page}"}}
