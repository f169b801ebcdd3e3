"""The scrapes, alerts and panels of the object cache."""

from components.making.watch import Group, Scrape, Watched, program
from components.object_cache import bootstrap
from components.object_cache.names import ENVOY, SERVER
from components.object_cache.server import PORT_NAME
from components.object_cache.watch import alerts, dashboard
from schemas.facts.site import Site
from schemas.model.object_cache import Cache

KEPT = (
    "envoy_cluster_membership_healthy",
    "envoy_cluster_membership_total",
    "envoy_cluster_upstream_rq",
    "envoy_http_downstream_rq_xx",
)
"""An Envoy has some 1,500 series, of which rules and dashboards need a few, and there is one on
every host (docs/object-cache.md)."""
KEPT_OF_LIMITS = (
    "envoy_http_local_rate_limit_rate_limited",
    "envoy_http_jwt_authn_jwks_fetch_success",
    "envoy_http_jwt_authn_jwks_fetch_failed",
)
"""Those of the limit of requests by namespace besides."""


def watch(site: Site) -> Watched:
    """The data from which monitoring renders the cache; nothing where the site has none."""
    cache, monitoring = site.file.cache, site.file.monitoring
    if cache is None or monitoring is None:
        return Watched()
    group = Group("cache", alerts.rules(site, cache, monitoring.thresholds), place=8)
    return Watched(scrapes(cache), [group], [dashboard.board(site, cache)])


def scrapes(cache: Cache) -> list[Scrape]:
    """Servers of the cache, where they have metrics, and Envoys."""
    envoys = program(ENVOY, cache.namespace, bootstrap.METRICS_PORT)._replace(
        path=bootstrap.METRICS,
        keep=KEPT + (KEPT_OF_LIMITS if cache.envoy.requests_per_second else ()),
        place=5,
    )
    path = cache.server.metrics_path
    if path is None:
        return [envoys]
    servers = program(SERVER, cache.namespace, cache.server.port)
    return [servers._replace(port_name=PORT_NAME, path=path, place=4), envoys]
