"""The repository's sites, each watched with the Prometheus operator and without it, and what their
components hand to monitoring."""

from dataclasses import replace

import yaml

from components.making.manifest import Json, Manifest
from components.making.promql import Exporter
from components.making.watch import Board, Scrape
from components.monitoring import alerts, dashboards
from components.site import COMPONENTS
from components.site import watch_list as handed
from schemas.facts.site import Site
from schemas.model.monitoring import Monitoring
from schemas.model.vocabulary import BackendKind, RemediatorKind
from tests.golden import every_site

RECEIVERS: list[Json] = [
    {"name": "pager", "kind": "pagerduty", "secret": "receivers", "key": "routing-key"},
    {"name": "chat", "kind": "slack", "secret": "receivers", "key": "slack", "channel": "#gpu"},
    {"name": "hook", "kind": "webhook", "secret": "hooks", "key": "url"},
]
WATCH: Json = {
    "namespace": "watch",
    "labels": {"prometheus": "site"},
    "receivers": RECEIVERS,
    "routes": {"critical": "pager", "warning": "chat", "repeat_hours": 4},
}


def watched(name: str, **changes: object) -> Site:
    """A site of the repository, watched as WATCH says, but for ``changes``; a cache has a limit of
    requests."""
    site = every_site()[name]
    update: Json = {"monitoring": Monitoring.model_validate({**WATCH, **changes})}
    if cache := site.file.cache:
        envoy = cache.envoy.model_copy(update={"requests_per_second": 500})
        update["cache"] = cache.model_copy(update={"envoy": envoy})
    return replace(site, file=site.file.model_copy(update=update))


def monitoring_of(site: Site) -> Monitoring:
    """The site file's settings of monitoring."""
    assert site.file.monitoring is not None
    return site.file.monitoring


NAMES = ("tokyo-1", "tsukuba-1", "lab-1", "edge-1")
OPERATED: dict[str, Site] = {name: watched(name) for name in NAMES}
"""With the operator."""
PLAIN: dict[str, Site] = {name: watched(name, prometheus_operator=False) for name in NAMES}
"""With files alone."""
SITES: dict[str, Site] = {
    **{f"{name}-operator": site for name, site in OPERATED.items()},
    **{f"{name}-files": site for name, site in PLAIN.items()},
}


def groups(site: Site) -> list[Json]:
    """The rule groups of a site."""
    return alerts.groups(site, handed(site))


def scrapes(site: Site) -> list[Scrape]:
    """Whom Prometheus asks on a site."""
    return alerts.scrapes(handed(site))


def boards(site: Site) -> list[Board]:
    """The dashboards of a site."""
    return dashboards.boards(site, handed(site))


def objects(site: Site) -> list[Manifest]:
    """The objects of a site's monitoring."""
    return COMPONENTS["monitoring"].objects(site)


def written(site: Site) -> list[Json]:
    """The rule groups in a site's objects: of :func:`groups`, with their links."""
    made = [each for each in objects(site) if each.name.endswith("foresite-rules")]
    texts = [text for each in made for text in each.body["data"].values()]
    rules = [each.body["spec"] for each in objects(site) if each.kind == "PrometheusRule"]
    return [group for each in (*map(yaml.safe_load, texts), *rules) for group in each["groups"]]


def exporters(site: Site) -> set[str]:
    """The exporters that a site has; nothing else may be asked for."""
    return expected_exporters(site) | {each.exporter for each in scrapes(site) if each.exporter}


def expected_exporters(site: Site) -> set[str]:
    """The exporters that a site must have, by what its file asks for."""
    found: set[str] = {each for each in Exporter if each is not Exporter.CUSTOM_RESOURCES}
    found |= {
        {BackendKind.KUBE_SCHEDULER: "scheduler"}.get(each.kind, str(each.kind))
        for each in site.scheduling.backends
    }
    remediation, cache = site.file.remediation, site.file.cache
    if remediation:
        found.add("node-problem-detector")
        if any(
            each.kind is RemediatorKind.NODE_OPERATION_CONTROLLER for each in remediation.healers
        ):
            found |= {"node-operation-controller", Exporter.CUSTOM_RESOURCES}
    if cache:
        found |= {"envoy"} | ({"cache-server"} if cache.server.metrics_path else set())
    records = [site.accelerators[each] for each in site.models()]
    if any(each.vendor == "nvidia" and each.exporter for each in records):
        found.add("dcgm-exporter")
    return found
