"""The servers as a cluster of Envoy: who keeps an object, and who is left out because it is down.

Sources: Envoy 1.39, envoy.config.cluster.v3, envoy.extensions.clusters.dns.v3, and
source/extensions/load_balancing_policies/maglev/maglev_lb.cc.
"""

from components.making.manifest import Json
from components.object_cache.endpoints import FILE
from components.object_cache.names import CLUSTER, headless
from schemas.model.object_cache import Cache
from schemas.model.vocabulary import CacheDiscovery

ENDPOINTS_FOLDER = "/etc/envoy/endpoints"
"""Where Envoy finds the file with its servers: a folder of nothing else, as a mount."""
CONNECT_TIMEOUT = "0.5s"
"""A host of the same site answers within a millisecond. With three more tries a request for an
object of a dead host is answered within 2 s; PFIO gives up after 3 s."""
BUFFER_BYTES = 2**18
"""Bytes that a connection may hold until its other end takes them. Envoy's default of 1 MiB is no
faster, and a thousand slow readers would take the pod's memory."""
IDLE_UPSTREAM = "30s"
"""Time that a connection to a server may be idle: servers close theirs later (nginx and aiohttp
after 75 s, or never), so a request seldom meets a connection that is just being closed."""
EJECTED_PERCENT = 10
"""Share of the servers that failed connections alone may take out."""
PANIC_PERCENT = 50
"""With fewer servers healthy, Envoy uses all: then its own view is likelier to be wrong."""
UNLIMITED = 100_000
"""Envoy's own 1,024 holds for all servers of an Envoy together; memory is the limit here."""
TRIES = 10_000
"""Requests that are tried again at a time; by itself Envoy allows three."""
DNS_SECONDS = 15
"""Seconds between two DNS queries of each Envoy."""


def servers(cache: Cache) -> Json:
    """The cluster of the servers."""
    by_file = cache.discovery is CacheDiscovery.HOSTS
    return {
        "name": CLUSTER,
        **(_from_file() if by_file else _from_dns(cache)),
        "lb_policy": "MAGLEV",
        "maglev_lb_config": {"table_size": cache.table_size},
        "common_lb_config": {"healthy_panic_threshold": {"value": PANIC_PERCENT}},
        # Else a server that left Git, or changed its address, stays in the table until it is down.
        "ignore_health_on_host_removal": True,
        "connect_timeout": CONNECT_TIMEOUT,
        "per_connection_buffer_limit_bytes": BUFFER_BYTES,
        "health_checks": [_health_check(cache.server.health_path)],
        "outlier_detection": _outliers(),
        "circuit_breakers": {"thresholds": [_limits()]},
        "typed_extension_protocol_options": _protocol(),
    }


def _from_file() -> Json:
    """``watched_directory``, as Envoy else misses the exchange of a ConfigMap's folder."""
    source = {
        "path": f"{ENDPOINTS_FOLDER}/{FILE}",
        "watched_directory": {"path": ENDPOINTS_FOLDER},
    }
    config = {"resource_api_version": "V3", "path_config_source": source}
    return {"type": "EDS", "eds_cluster_config": {"eds_config": config}}


def _from_dns(cache: Cache) -> Json:
    """Each address that DNS has is a server, which is its own key; a rule sees to it that all fit
    one answer (schemas/rules/object_cache_endpoints.py)."""
    name = f"{headless(cache)}.{cache.namespace}.svc.cluster.local."
    address = {"socket_address": {"address": name, "port_value": cache.server.port}}
    dns = {
        "@type": "type.googleapis.com/envoy.extensions.clusters.dns.v3.DnsCluster",
        "dns_refresh_rate": f"{DNS_SECONDS}s",
        "dns_jitter": "3s",
        "dns_lookup_family": "V4_ONLY",
    }
    return {
        "cluster_type": {"name": "envoy.clusters.dns", "typed_config": dns},
        "load_assignment": {
            "cluster_name": CLUSTER,
            "endpoints": [{"lb_endpoints": [{"endpoint": {"address": address}}]}],
        },
    }


def _health_check(path: str) -> Json:
    """Every Envoy asks every server: seldom, as this is the square of their number. A failure is
    asked about again soon: a host that is silent is out within 47 s, one that refuses in 41 s."""
    return {
        "timeout": "3s",
        "interval": "30s",
        "interval_jitter": "3s",
        "initial_jitter": "2s",
        "no_traffic_interval": "30s",
        "unhealthy_interval": "15s",
        "unhealthy_edge_interval": "5s",
        "healthy_edge_interval": "5s",
        "unhealthy_threshold": 2,
        "healthy_threshold": 2,
        "http_health_check": {"path": path},
    }


def _outliers() -> Json:
    """Only connections that fail count: a server that answers 500 for one bucket works for others,
    and a server that left the table takes its objects with it."""
    return {
        "split_external_local_origin_errors": True,
        "consecutive_local_origin_failure": 5,
        "enforcing_consecutive_local_origin_failure": 100,
        "enforcing_local_origin_success_rate": 0,
        "enforcing_consecutive_5xx": 0,
        "enforcing_consecutive_gateway_failure": 0,
        "enforcing_success_rate": 0,
        "interval": "10s",
        "base_ejection_time": "30s",
        "max_ejection_percent": EJECTED_PERCENT,
    }


def _limits() -> Json:
    return {
        "max_connections": UNLIMITED,
        "max_pending_requests": UNLIMITED,
        "max_requests": UNLIMITED,
        "max_retries": TRIES,
    }


def _protocol() -> Json:
    kind = "envoy.extensions.upstreams.http.v3.HttpProtocolOptions"
    options = {
        "@type": f"type.googleapis.com/{kind}",
        "explicit_http_config": {"http_protocol_options": {}},
        "common_http_protocol_options": {"idle_timeout": IDLE_UPSTREAM},
    }
    return {kind: options}
