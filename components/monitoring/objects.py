"""Every object of a site's monitoring, on its own cluster, in a fixed order.

Their namespace is not made: Prometheus, Alertmanager and Grafana run in it, which are the site's.
"""

from components.making.dump import dump
from components.making.manifest import Json, Manifest, annotated
from components.monitoring.alerts import groups
from components.monitoring.customresources import custom_resources
from components.monitoring.dashboards import dashboards
from components.monitoring.names import PREFIX, RULES, files, operated
from components.monitoring.routes import SITE_LABEL, routing
from components.monitoring.rules import RUNBOOKS
from components.monitoring.scrape import scraping
from schemas.facts.site import Site
from schemas.model.monitoring import Monitoring


def objects(site: Site) -> list[Manifest]:
    """The objects of the component; none where nothing watches the site."""
    monitoring = site.file.monitoring
    if monitoring is None:
        return []
    return annotated(
        [
            *rules(site, monitoring),
            *scraping(site, monitoring),
            routing(site, monitoring),
            *custom_resources(site, monitoring),
            *dashboards(site, monitoring),
        ]
    )


def rules(site: Site, monitoring: Monitoring) -> list[Manifest]:
    """The rules: an object of the operator for each group, or one file for each."""
    found = [linked(monitoring, labelled(site, group)) for group in groups(site)]
    if monitoring.prometheus_operator:
        return [
            operated(
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


def labelled(site: Site, group: Json) -> Json:
    """A group whose alerts say of which site they are, as one Alertmanager may serve several; what
    is recorded stays as it is."""
    own = {SITE_LABEL: site.name}
    said = [
        {**rule, "labels": {**rule.get("labels", {}), **own}} if "alert" in rule else rule
        for rule in group["rules"]
    ]
    return {**group, "rules": said}


def linked(monitoring: Monitoring, group: Json) -> Json:
    """A group whose alerts link to their runbooks, where the site says where these can be read."""
    if monitoring.runbooks_url is None:
        return group
    folder = monitoring.runbooks_url.rstrip("/")
    return {**group, "rules": [_linked(folder, rule) for rule in group["rules"]]}


def _linked(folder: str, rule: Json) -> Json:
    told = rule.get("annotations", {})
    if "runbook_url" not in told:
        return rule
    page = told["runbook_url"].removeprefix(f"{RUNBOOKS}/")
    return {**rule, "annotations": {**told, "runbook_url": f"{folder}/{page}"}}
