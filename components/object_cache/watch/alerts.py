"""The object cache: servers down, hits, errors, balance, reviews of tokens.

Envoys are the release's, so their counters are known. Servers are the site's: what the reference
server counts (cache-server/cache_server/metrics.py) is asked for where a server has metrics at
all; another one's are simply not there.
Source: Envoy 1.39, docs/root/configuration/http/http_conn_man/stats.rst and
upstream/cluster_manager/cluster_stats.rst.
"""

from collections.abc import Iterator

from components.making.manifest import Json
from components.making.promql import of, recent, state
from components.making.watch import Alert, Severity, record
from components.object_cache.names import CLUSTER, ENVOY, SERVER
from schemas.facts.site import Site
from schemas.model.monitoring import Thresholds
from schemas.model.object_cache import Cache

DOWN_PERCENT = 20
"""An update replaces a tenth at a time, and some nodes are always under repair."""
READS, SERVED = 1, 10
"""A second: below, a ratio says nothing."""
REFUSED_PERCENT = 10
SERVERS, ENVOYS = f"{SERVER}-.*", f"{ENVOY}-.*"
"""The names of their DaemonSets, one for each pool."""


def rules(site: Site, cache: Cache, limits: Thresholds) -> list[Json | Alert]:
    """Recording rules and alerts of a site's cache."""
    found: list[Json | Alert] = [*_servers(site, cache), _errors(site, limits)]
    if cache.server.metrics_path is not None:
        found += [*_hits(site, limits), _balance(site, limits), _reviews(site)]
        found += _state(site)
    return found


def _servers(site: Site, cache: Cache) -> Iterator[Alert]:
    ready, wanted = _pods(site, cache, SERVERS)
    healthy = of(site, ENVOY, "envoy_cluster_membership_healthy", _CLUSTER)
    yield Alert(
        "CacheDown",
        f"max({recent(healthy)}) == 0 or {_none(site, cache, SERVERS)} "
        f"or {_none(site, cache, ENVOYS)}",
        "15m",
        "No server of the cache can be reached",
        "Every read goes to the origin, which may not bear it: all servers or all Envoys are "
        "down, or the list of servers is wrong.",
        Severity.CRITICAL,
    )
    yield Alert(
        "CacheServersDown",
        f"100 * (1 - sum by (daemonset) ({ready}) / (sum by (daemonset) ({wanted}) > 0)) "
        f"> {DOWN_PERCENT}",
        "30m",
        "{{ $value | printf `%.0f` }} % of the servers of {{ $labels.daemonset }} are down",
        "Their objects are misses until they are back.",
    )


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


def _errors(site: Site, limits: Thresholds) -> Alert:
    metric, own = "envoy_http_downstream_rq_xx", 'envoy_http_conn_manager_prefix="objects"'
    failed = of(site, ENVOY, metric, own, 'envoy_response_code_class="5"')
    every = of(site, ENVOY, metric, own)
    return Alert(
        "CacheErrors",
        f"100 * sum(rate({failed}[10m])) / (sum(rate({every}[10m])) > {READS}) "
        f"> {limits.cache_error_percent}",
        "15m",
        "{{ $value | printf `%.1f` }} % of the cache's answers are errors",
        "Clients take each for a miss and read from the origin.",
    )


def _hits(site: Site, limits: Thresholds) -> Iterator[Json | Alert]:
    hits = f"sum by (bucket) (rate({of(site, SERVER, 'cache_hits_total')}[30m]))"
    misses = f"sum by (bucket) (rate({of(site, SERVER, 'cache_misses_total')}[30m]))"
    reads = f"(({hits} or {misses} * 0) + ({misses} or {hits} * 0))"
    yield record("cache_hits:ratio", f"({hits} or {misses} * 0) / ({reads} > {READS})")
    yield Alert(
        "CacheHitsLow",
        f"100 * foresite:cache_hits:ratio < {limits.cache_hit_percent}",
        "2h",
        "The cache answers {{ $value | printf `%.0f` }} % of the reads of bucket "
        "{{ $labels.bucket }}",
        "A bucket that fills for the first time looks the same; else objects are evicted before "
        "they are read again, or keys move.",
    )


def _balance(site: Site, limits: Thresholds) -> Alert:
    requests = of(site, SERVER, "cache_requests_total")
    of_node = f"sum by (node) (rate({requests}[30m]))"
    return Alert(
        "CacheUnbalanced",
        f"100 * {of_node} / scalar(avg({of_node}) > {SERVED}) > {limits.cache_imbalance}",
        "1h",
        "The cache server of {{ $labels.node }} has {{ $value | printf `%.0f` }} % of the mean "
        "load",
        "One object that all read, or a few large ones, or an Envoy whose list of servers is old.",
    )


def _reviews(site: Site) -> Alert:
    metric = "cache_token_reviews_total"
    failed = of(site, SERVER, metric, 'result="error"')
    every = of(site, SERVER, metric)
    return Alert(
        "CacheTokenReviewsFail",
        f"100 * sum(rate({failed}[10m])) / (sum(rate({every}[10m])) > 0) > {REFUSED_PERCENT}",
        "10m",
        "{{ $value | printf `%.0f` }} % of the cache's questions about tokens fail",
        "The API server does not answer TokenReviews, or refuses them: pods that are new to a "
        "server get 503 and read from the origin.",
    )


def _state(site: Site) -> Iterator[Alert]:
    lost = of(site, SERVER, "cache_lost_objects_total")
    good = of(site, SERVER, "cache_config_last_reload_successful")
    yield Alert(
        "CacheObjectsLost",
        f"sum by (node) (increase({lost}[1h])) > 0",
        "5m",
        "The cache server of {{ $labels.node }} lost objects",
        "Their files are not as they were written: a disk that fails, or somebody who changes "
        "them.",
    )
    yield Alert(
        "CacheConfigurationRefused",
        f"min by (node) ({recent(good)}) == 0",
        "15m",
        "The cache server of {{ $labels.node }} refuses its buckets",
        "It goes on with those that it had.",
    )
