"""The object cache: servers down, hits, errors, balance, reviews of tokens.

Envoys are the release's, so their counters are known. Servers are the site's: what the reference
server counts (cache-server/cache_server/metrics.py) is asked for where a server has metrics at
all; another one's are simply not there.
Source: Envoy 1.39, docs/root/configuration/http/http_conn_man/stats.rst,
http/http_filters/local_rate_limit_filter.rst, http/http_filters/jwt_authn_filter.rst and
upstream/cluster_manager/cluster_stats.rst.
"""

from components.making.manifest import Json
from components.making.told import Told
from components.making.watch import Alert
from schemas.facts.site import Site
from schemas.model.monitoring import Thresholds
from schemas.model.object_cache import Cache

TOLD = Told(__file__)
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
