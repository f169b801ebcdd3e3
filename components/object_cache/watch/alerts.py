"""The object cache: servers down, hits, errors, balance, reviews of tokens.

Envoys are the release's, so their counters are known. Servers are the site's: what the reference
server counts (cache-server/cache_server/metrics.py) is asked for where a server has metrics at
all; another one's are simply not there.
Source: Envoy 1.39, docs/root/configuration/http/http_conn_man/stats.rst,
http/http_filters/local_rate_limit_filter.rst, http/http_filters/jwt_authn_filter.rst and
upstream/cluster_manager/cluster_stats.rst.
"""

from collections.abc import Iterator

from components.making.manifest import Json
from components.making.promql import of, recent, state
from components.making.told import Told
from components.making.watch import Alert, record
from components.object_cache.names import CLUSTER, ENVOY, SERVER
from schemas.facts.site import Site
from schemas.model.monitoring import Thresholds
from schemas.model.object_cache import Cache

READS = 1
"""A second: below, a ratio says nothing."""
SERVERS, ENVOYS = f"{SERVER}-.*", f"{ENVOY}-.*"
"""The names of their DaemonSets, one for each pool."""
LIMITED = "envoy_http_local_rate_limit_rate_limited"
FETCHED, NOT_FETCHED = (f"envoy_http_jwt_authn_jwks_fetch_{each}" for each in ("success", "failed"))
TOLD = Told(__file__)


def rules(site: Site, cache: Cache, limits: Thresholds) -> list[Json | Alert]:
    """Recording rules and alerts of a site's cache."""
    found: list[Json | Alert] = [*_servers(site, cache), _errors(site, limits)]
    if cache.envoy.requests_per_second is not None:
        found += _limits(site)
    if cache.server.metrics_path is not None:
        found += [*_hits(site, limits), _balance(site, limits), _reviews(site)]
        found += _state(site)
    return found


def _servers(site: Site, cache: Cache) -> Iterator[Alert]:
    ready, wanted = _pods(site, cache, SERVERS)
    yield TOLD.alert(
        "CacheDown",
        healthy=recent(of(site, ENVOY, "envoy_cluster_membership_healthy", _CLUSTER)),
        no_server=_none(site, cache, SERVERS),
        no_envoy=_none(site, cache, ENVOYS),
    )
    yield TOLD.alert("CacheServersDown", ready=ready, wanted=wanted)


def _pods(site: Site, cache: Cache, names: str) -> tuple[str, str]:
    """How many pods of DaemonSets of the cache are ready, and how many there should be."""
    where = (f'namespace="{cache.namespace}"', f'daemonset=~"{names}"')
    ready = state(site, "kube_daemonset_status_number_ready", *where)
    return ready, state(site, "kube_daemonset_status_desired_number_scheduled", *where)


def _none(site: Site, cache: Cache, names: str) -> str:
    """As kube-state-metrics has it: pods that are not scraped may well work."""
    ready, wanted = _pods(site, cache, names)
    return f"(sum({ready}) == 0 and sum({wanted}) > 0)"


_CLUSTER = f'envoy_cluster_name="{CLUSTER}"'


_OBJECTS = 'envoy_http_conn_manager_prefix="objects"'
_ANSWERS = "envoy_http_downstream_rq_xx"


def _errors(site: Site, limits: Thresholds) -> Alert:
    failed = of(site, ENVOY, _ANSWERS, _OBJECTS, 'envoy_response_code_class="5"')
    every = of(site, ENVOY, _ANSWERS, _OBJECTS)
    percent = limits.cache_error_percent
    return TOLD.alert("CacheErrors", failed=failed, every=every, percent=percent)


def _limits(site: Site) -> Iterator[Alert]:
    every, limited = of(site, ENVOY, _ANSWERS, _OBJECTS), of(site, ENVOY, LIMITED)
    yield TOLD.alert("CacheRequestsLimited", limited=limited, every=every)
    fetched, failed = of(site, ENVOY, FETCHED), of(site, ENVOY, NOT_FETCHED)
    yield TOLD.alert("CacheTokenKeysMissing", fetched=fetched, failed=failed)


def _hits(site: Site, limits: Thresholds) -> Iterator[Json | Alert]:
    hits = f"sum by (bucket) (rate({of(site, SERVER, 'cache_hits_total')}[30m]))"
    misses = f"sum by (bucket) (rate({of(site, SERVER, 'cache_misses_total')}[30m]))"
    reads = f"(({hits} or {misses} * 0) + ({misses} or {hits} * 0))"
    yield record("cache_hits:ratio", f"({hits} or {misses} * 0) / ({reads} > {READS})")
    yield TOLD.alert("CacheHitsLow", percent=limits.cache_hit_percent)


def _balance(site: Site, limits: Thresholds) -> Alert:
    requests = of(site, SERVER, "cache_requests_total")
    of_node = f"sum by (node) (rate({requests}[30m]))"
    return TOLD.alert("CacheUnbalanced", of_node=of_node, percent=limits.cache_imbalance)


def _reviews(site: Site) -> Alert:
    metric = "cache_token_reviews_total"
    failed = of(site, SERVER, metric, 'result="error"')
    every = of(site, SERVER, metric)
    return TOLD.alert("CacheTokenReviewsFail", failed=failed, every=every)


def _state(site: Site) -> Iterator[Alert]:
    yield TOLD.alert("CacheObjectsLost", lost=of(site, SERVER, "cache_lost_objects_total"))
    good = recent(of(site, SERVER, "cache_config_last_reload_successful"))
    yield TOLD.alert("CacheConfigurationRefused", good=good)
