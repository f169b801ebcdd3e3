"""Cases of the alerts on the object cache."""

from tests.kit.monitoring_promtool import Case, Ramp, World
from tests.kit.monitoring_worlds import NODE, NODES, TOKYO, k, s


def cache(metric: str, node: str = NODE, **labels: object) -> str:
    """A series of a cache server."""
    return s(metric, job="cache-server", node=node, instance=f"{node}:8081", **labels)


def envoy(metric: str, **labels: object) -> str:
    """A series of an Envoy of the cache."""
    return s(metric, job="envoy", node=NODE, pod="envoy-x", **labels)


CACHED: World = {
    **TOKYO,
    **{
        k(metric, namespace="cache-service", daemonset="cache-server-v100"): 100
        for metric in (
            "kube_daemonset_status_number_ready",
            "kube_daemonset_status_desired_number_scheduled",
        )
    },
    envoy("envoy_cluster_membership_healthy", envoy_cluster_name="cache"): 100,
}
READY = k(
    "kube_daemonset_status_number_ready", namespace="cache-service", daemonset="cache-server-v100"
)


def answered(code: int) -> str:
    """Answers of an Envoy by the first digit of their code."""
    own = {"envoy_http_conn_manager_prefix": "objects", "envoy_response_code_class": code}
    return envoy("envoy_http_downstream_rq_xx", **own)


ANSWERS: World = {answered(2): Ramp(6000), answered(5): Ramp(6)}
REFUSED = envoy(
    "envoy_http_local_rate_limit_rate_limited", envoy_local_http_ratelimit_prefix="objects"
)
FETCHED, NOT_FETCHED = (
    envoy(f"envoy_http_jwt_authn_jwks_fetch_{each}", envoy_http_conn_manager_prefix="objects")
    for each in ("success", "failed")
)
READS: World = {
    cache("cache_hits_total", bucket="vision"): Ramp(5400),
    cache("cache_misses_total", bucket="vision"): Ramp(600),
}
SERVED: World = {
    cache("cache_requests_total", node, method="GET", bucket="vision", code="200"): Ramp(1200)
    for node in NODES
}
BUSY = cache("cache_requests_total", method="GET", bucket="vision", code="200")
REVIEWS: World = {
    cache("cache_token_reviews_total", result="accepted"): Ramp(60),
    cache("cache_token_reviews_total", result="error"): Ramp(0),
}
CASES = (
    Case(
        "CacheDown",
        "tokyo-1",
        CACHED,
        {envoy("envoy_cluster_membership_healthy", envoy_cluster_name="cache"): 0},
        {},
        "No server of the cache can be reached",
        severity="critical",
        late=6,
    ),
    # Good: Envoys are not scraped, and well.
    Case(
        "CacheDown",
        "tokyo-1",
        {name: value for name, value in CACHED.items() if "envoy_cluster" not in name},
        {READY: 0},
        {},
        "No server of the cache can be reached",
        severity="critical",
        late=6,
    ),
    Case(
        "CacheServersDown",
        "tokyo-1",
        {**CACHED, READY: 89},
        {READY: 75},
        {"daemonset": "cache-server-v100"},
        "25 % of the servers of cache-server-v100 are down",
    ),
    Case(
        "CacheErrors",
        "tokyo-1",
        ANSWERS,
        {answered(5): Ramp(600)},
        {},
        "9.1 % of the cache's answers are errors",
        warm=30,
        late=12,
        back=20,
    ),
    Case(
        "CacheRequestsLimited",
        "tokyo-1",
        {**ANSWERS, REFUSED: Ramp(0)},
        {REFUSED: Ramp(600)},
        {},
        "10 % of the requests to the cache are beyond the limit of a namespace",
        warm=30,
        late=17,
        back=20,
    ),
    Case(
        "CacheTokenKeysMissing",
        "tokyo-1",
        {FETCHED: Ramp(1), NOT_FETCHED: Ramp(0)},
        {FETCHED: Ramp(0), NOT_FETCHED: Ramp(6)},
        {},
        "1 Envoys of the cache cannot fetch the keys of tokens",
        warm=30,
        late=30,
        back=20,
    ),
    Case(
        "CacheHitsLow",
        "tokyo-1",
        READS,
        {
            cache("cache_hits_total", bucket="vision"): Ramp(600),
            cache("cache_misses_total", bucket="vision"): Ramp(5400),
        },
        {"bucket": "vision"},
        "The cache answers 10 % of the reads of bucket vision",
        warm=40,
        late=32,
        back=40,
    ),
    Case(
        "CacheUnbalanced",
        "tokyo-1",
        SERVED,
        {BUSY: Ramp(7200)},
        {"node": NODE},
        f"The cache server of {NODE} has 300 % of the mean load",
        warm=40,
        late=32,
        back=40,
    ),
    Case(
        "CacheTokenReviewsFail",
        "tokyo-1",
        REVIEWS,
        {cache("cache_token_reviews_total", result="error"): Ramp(60)},
        {},
        "50 % of the cache's questions about tokens fail",
        warm=30,
        late=12,
        back=20,
    ),
    Case(
        "CacheObjectsLost",
        "tokyo-1",
        {cache("cache_lost_objects_total"): Ramp(0)},
        {cache("cache_lost_objects_total"): Ramp(1)},
        {"node": NODE},
        f"The cache server of {NODE} lost objects",
        warm=70,
        back=70,
    ),
    Case(
        "CacheConfigurationRefused",
        "tokyo-1",
        {cache("cache_config_last_reload_successful"): 1},
        {cache("cache_config_last_reload_successful"): 0},
        {"node": NODE},
        f"The cache server of {NODE} refuses its buckets",
        late=6,
    ),
)
