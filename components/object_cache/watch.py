"""The scrapes, alerts and panels of the object cache."""

from components.making.manifest import Json
from components.making.told import Told
from components.making.watch import Alert, Board, Group, Scrape, Watched, program
from components.object_cache import bootstrap
from components.object_cache.names import ENVOY, SERVER
from components.object_cache.server import PORT_NAME
from schemas.facts.site import Site
from schemas.model.monitoring import Thresholds
from schemas.model.object_cache import Cache

TOLD = Told(__file__)
KEPT = TOLD.table("kept")
"""The few series that are kept, of the 1,500 that each host's Envoy has (docs/object-cache.md)."""


def watch(site: Site) -> Watched:
    """The data from which monitoring renders the cache; nothing where the site has none."""
    cache, monitoring = site.file.cache, site.file.monitoring
    if cache is None or monitoring is None:
        return Watched()
    group = Group("cache", rules(site, cache, monitoring.thresholds), place=8)
    return Watched(scrapes(cache), [group], [board(site, cache)])


def scrapes(cache: Cache) -> list[Scrape]:
    """Servers of the cache, where they have metrics, and Envoys."""
    envoys = program(ENVOY, cache.namespace, bootstrap.METRICS_PORT)._replace(
        path=bootstrap.METRICS,
        keep=(*KEPT["always"], *(KEPT["limited"] if cache.envoy.requests_per_second else ())),
        place=5,
    )
    path = cache.server.metrics_path
    if path is None:
        return [envoys]
    servers = program(SERVER, cache.namespace, cache.server.port)
    return [servers._replace(port_name=PORT_NAME, path=path, place=4), envoys]


_LIMITS = ("CacheRequestsLimited", "CacheTokenKeysMissing")
_OF_SERVERS = ("CacheHitsLow", "CacheUnbalanced", "CacheTokenReviewsFail")
_STATE = ("CacheObjectsLost", "CacheConfigurationRefused")


def rules(site: Site, cache: Cache, limits: Thresholds) -> list[Json | Alert]:
    """Recording rules and alerts of a site's cache."""
    told, values = TOLD.at(site), {"namespace": cache.namespace, **limits.model_dump()}
    names = ["CacheDown", "CacheServersDown", "CacheErrors"]
    names += _LIMITS if cache.envoy.requests_per_second is not None else ()
    found: list[Json | Alert] = [told.alert(each, **values) for each in names]
    if cache.server.metrics_path is not None:
        found += told.records("hits")
        found += [told.alert(each, **values) for each in (*_OF_SERVERS, *_STATE)]
    return found


def board(site: Site, cache: Cache) -> Board:
    """The dashboard of a site's cache."""
    told = TOLD.at(site)
    panels = told.panels("answers")
    if cache.server.metrics_path is not None:
        panels += told.panels("servers")
    return told.board(panels)
