"""The bootstrap configuration of Envoy: listeners, the cluster of servers, limits, administration.

Sources: Envoy 1.39, envoy.config.bootstrap.v3, envoy.config.listener.v3,
envoy.extensions.filters.network.http_connection_manager.v3,
envoy.extensions.filters.network.connection_limit.v3,
envoy.extensions.filters.http.health_check.v3, envoy.config.overload.v3 and source/server/admin.
"""

from collections.abc import Sequence

from components.making.dump import dump_json
from components.making.manifest import Json, Manifest, Target
from components.object_cache.cluster import BUFFER_BYTES, servers
from components.object_cache.limits import limits
from components.object_cache.names import BOOTSTRAP, CLUSTER, ENVOY, of_program
from components.object_cache.routes import metrics_routes, object_routes, probe_routes
from schemas.facts.site import Site
from schemas.kubernetes.quantities import in_bytes
from schemas.model.object_cache import Cache

FILE = "envoy.json"
ADMIN_PORT, PROBES_PORT, METRICS_PORT = 9901, 9902, 9903
LOOPBACK, EVERYWHERE = "127.0.0.1", "0.0.0.0"  # noqa: S104 - a pod's own address is not known
ADMIN = "admin"
READY, METRICS = "/ready", "/stats/prometheus"
DRAIN = "/drain_listeners?graceful&skip_exit"
"""Asks clients to close their connections, and goes on to take new ones: the Service still sends
some for a while."""
CONNECTIONS = 10_000
"""Connections of clients to one Envoy, at most; the next ones are closed at once. 400 hosts with a
hundred loading processes each are 100 to an Envoy."""
IDLE_SECONDS = 300
"""Seconds that a client's connection may be idle, from its first moment on. PFIO keeps its own,
and notices a closed one by a request that fails: a miss, after which it opens another (pfio 2.10,
pfio/cache/http_cache.py, HTTPConnector.get)."""
ASKED_SECONDS = 10
"""The same for who asks for probes and metrics: the kubelet and Prometheus ask at once."""
SCRAPERS = 16
"""Connections for metrics, at most. Anybody may open them, so they are no way to the probes."""
ADMIN_REQUESTS = 4
"""Metrics that are made at a time: it is work of the thread that checks the servers' health."""
LOGGED_PERCENT = 10
"""Share of the failed requests that are logged; how many there were is in the metrics."""
LOGGED_KEY = "access_log.logged"
_TYPES = "type.googleapis.com/envoy.extensions"


def bootstrap_config(site: Site, cache: Cache) -> Manifest:
    """The ConfigMap with the bootstrap."""
    body = {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": of_program(site, cache, BOOTSTRAP, ENVOY),
        "data": {FILE: bootstrap_text(cache), **dict(limits(cache).files)},
    }
    return Manifest(f"ConfigMap/{BOOTSTRAP}", body, target=Target.SITE)


def bootstrap_text(cache: Cache) -> str:
    """The bootstrap as the file that Envoy reads: it takes JSON by the file's ending."""
    return dump_json(bootstrap(cache), indent=2)


def bootstrap(cache: Cache) -> Json:
    """Everything that Envoy is told, but for its servers."""
    return {
        # Without a name Envoy watches no file; each is started with its node's as the id.
        "node": {"id": ENVOY, "cluster": CLUSTER},
        "admin": _admin(),
        "static_resources": {
            "listeners": [
                _objects_listener(cache.envoy.port, limits(cache).filters),
                _probes_listener(),
                _metrics_listener(),
            ],
            "clusters": [servers(cache), _admin_cluster(), *limits(cache).clusters],
        },
        "overload_manager": _overload(in_bytes(cache.envoy.memory)),
    }


def _admin() -> Json:
    """The administration, on the loopback: whether it is ready, metrics, and the drain."""
    return {
        "address": _address(LOOPBACK, ADMIN_PORT),
        "allow_paths": [{"exact": path} for path in (READY, METRICS, DRAIN)],
        "ignore_global_conn_limit": True,
    }


def _objects_listener(port: int, filters: Sequence[Json]) -> Json:
    manager = {
        "stat_prefix": "objects",
        "codec_type": "HTTP1",
        # An object's name is what the client wrote, byte for byte: PFIO writes s3://host/key.
        "normalize_path": False,
        "merge_slashes": False,
        "path_with_escaped_slashes_action": "KEEP_UNCHANGED",
        "max_request_headers_kb": 60,
        # Every client is a stranger: what it says to Envoy in x-envoy headers is dropped. Without
        # a range of its own, Envoy trusts all private addresses; nobody has this one.
        "use_remote_address": True,
        "internal_address_config": {
            "cidr_ranges": [{"address_prefix": "255.255.255.255", "prefix_len": 32}]
        },
        "generate_request_id": False,
        "stream_idle_timeout": "60s",
        "request_headers_timeout": "10s",
        "common_http_protocol_options": {"idle_timeout": f"{IDLE_SECONDS}s"},
        "access_log": [_failures_log()],
        "route_config": object_routes(),
    }
    return {
        **_listener("objects", port, manager, http=filters),
        "per_connection_buffer_limit_bytes": BUFFER_BYTES,
    }


def _probes_listener() -> Json:
    """The listener for the kubelet's probes, as the kubelet cannot reach the loopback of a pod. A
    worker answers, without the administration, when all connections are taken, and when memory is
    short."""
    asked = {":path": READY, ":method": "GET"}
    health = {
        "name": "envoy.filters.http.health_check",
        "typed_config": {
            "@type": f"{_TYPES}.filters.http.health_check.v3.HealthCheck",
            "pass_through_mode": False,
            "headers": [
                {"name": name, "string_match": {"exact": value}} for name, value in asked.items()
            ],
        },
    }
    manager = _admin_manager("probes", probe_routes())
    return {**_listener("probes", PROBES_PORT, manager, http=[health]), **_BEYOND_LIMITS}


def _metrics_listener() -> Json:
    """The listener for Prometheus: as many connections as it takes, and a few answers at a time."""
    limit = {
        "name": "envoy.filters.network.connection_limit",
        "typed_config": {
            "@type": f"{_TYPES}.filters.network.connection_limit.v3.ConnectionLimit",
            "stat_prefix": "metrics",
            "max_connections": SCRAPERS,
        },
    }
    manager = _admin_manager("metrics", metrics_routes(METRICS, ADMIN))
    made = _listener("metrics", METRICS_PORT, manager, network=[limit])
    return {**made, **_BEYOND_LIMITS}


_BEYOND_LIMITS: Json = {"ignore_global_conn_limit": True, "bypass_overload_manager": True}


def _admin_manager(name: str, routes: Json) -> Json:
    return {
        "stat_prefix": name,
        "codec_type": "HTTP1",
        "request_headers_timeout": f"{ASKED_SECONDS}s",
        "common_http_protocol_options": {"idle_timeout": f"{ASKED_SECONDS}s"},
        "route_config": routes,
    }


def _listener(
    name: str, port: int, manager: Json, *, network: Sequence[Json] = (), http: Sequence[Json] = ()
) -> Json:
    """``network`` and ``http`` are the filters before those that all listeners have."""
    kind = f"{_TYPES}.filters.network.http_connection_manager.v3.HttpConnectionManager"
    router = {
        "name": "envoy.filters.http.router",
        "typed_config": {"@type": f"{_TYPES}.filters.http.router.v3.Router"},
    }
    config = {"@type": kind, **manager, "http_filters": [*http, router]}
    last = {"name": "envoy.filters.network.http_connection_manager", "typed_config": config}
    return {
        "name": name,
        "address": _address(EVERYWHERE, port),
        "filter_chains": [{"filters": [*network, last]}],
    }


def _failures_log() -> Json:
    """Some of the requests that failed, and what they were for; no header, as one is the client's
    token. Some, as all requests fail while memory is short, and a line for each would cost more."""
    at_least = {"default_value": 500, "runtime_key": "access_log.least_status"}
    failed = {"status_code_filter": {"comparison": {"op": "GE", "value": at_least}}}
    some = {
        "runtime_filter": {
            "runtime_key": LOGGED_KEY,
            "percent_sampled": {"numerator": LOGGED_PERCENT, "denominator": "HUNDRED"},
            # By itself it draws by a request's id, which none has here.
            "use_independent_randomness": True,
        }
    }
    return {
        "name": "envoy.access_loggers.stdout",
        "filter": {"and_filter": {"filters": [failed, some]}},
        "typed_config": {
            "@type": f"{_TYPES}.access_loggers.stream.v3.StdoutAccessLog",
            "log_format": {
                "json_format": {
                    "time": "%START_TIME%",
                    "method": "%REQ(:METHOD)%",
                    "path": "%PATH(NQ)%",
                    "status": "%RESPONSE_CODE%",
                    "flags": "%RESPONSE_FLAGS%",
                    "server": "%UPSTREAM_HOST%",
                    "client": "%DOWNSTREAM_DIRECT_REMOTE_ADDRESS_WITHOUT_PORT%",
                    "milliseconds": "%DURATION%",
                }
            },
        },
    }


def _admin_cluster() -> Json:
    endpoint = {"endpoint": {"address": _address(LOOPBACK, ADMIN_PORT)}}
    return {
        "name": ADMIN,
        "type": "STATIC",
        "connect_timeout": "1s",
        "circuit_breakers": {
            "thresholds": [
                {
                    "max_connections": ADMIN_REQUESTS,
                    "max_pending_requests": SCRAPERS,
                    "max_requests": ADMIN_REQUESTS,
                }
            ]
        },
        "load_assignment": {
            "cluster_name": ADMIN,
            "endpoints": [{"lb_endpoints": [endpoint]}],
        },
    }


def _overload(memory: int) -> Json:
    """Refuses before the kernel kills: new requests get 503 while memory is short."""
    heap, connections = (
        "envoy.resource_monitors.fixed_heap",
        "envoy.resource_monitors.global_downstream_max_connections",
    )
    kinds = f"{_TYPES}.resource_monitors"
    actions = {"shrink_heap": 0.9, "stop_accepting_requests": 0.95}
    return {
        "refresh_interval": "0.25s",
        "resource_monitors": [
            {
                "name": heap,
                "typed_config": {
                    "@type": f"{kinds}.fixed_heap.v3.FixedHeapConfig",
                    # What is no heap (code, stacks, the kernel's share) has the rest.
                    "max_heap_size_bytes": memory * 9 // 10,
                },
            },
            {
                "name": connections,
                "typed_config": {
                    "@type": f"{kinds}.downstream_connections.v3.DownstreamConnectionsConfig",
                    "max_active_downstream_connections": CONNECTIONS,
                },
            },
        ],
        "actions": [
            {
                "name": f"envoy.overload_actions.{name}",
                "triggers": [{"name": heap, "threshold": {"value": value}}],
            }
            for name, value in actions.items()
        ],
    }


def _address(address: str, port: int) -> Json:
    return {"socket_address": {"address": address, "port_value": port}}
