"""What Envoy reads when it starts: listeners, the cluster of servers, limits, administration.

Sources: Envoy 1.39, envoy.config.bootstrap.v3, envoy.config.listener.v3,
envoy.extensions.filters.network.http_connection_manager.v3, envoy.config.overload.v3 and
source/server/admin.
"""

import json

from components.manifest import Json, Manifest, Target
from components.object_cache.amounts import in_bytes
from components.object_cache.cluster import BUFFER_BYTES, servers
from components.object_cache.names import BOOTSTRAP, CLUSTER, ENVOY, of_program
from components.object_cache.routes import object_routes, probe_routes
from schemas.cache import Cache
from schemas.site import Site

FILE = "envoy.json"
ADMIN_PORT, PROBES_PORT = 9901, 9902
LOOPBACK, EVERYWHERE = "127.0.0.1", "0.0.0.0"  # noqa: S104 - a pod's own address is not known
ADMIN = "admin"
READY, METRICS = "/ready", "/stats/prometheus"
DRAIN = "/drain_listeners?graceful&skip_exit"
"""Asks clients to close their connections, and goes on to take new ones: the Service still sends
some for a while."""
CONNECTIONS = 10_000
"""Connections of clients to one Envoy, at most; the next ones are closed at once. 400 hosts with a
hundred loading processes each are 100 to an Envoy."""
_TYPES = "type.googleapis.com/envoy.extensions"


def bootstrap_config(site: Site, cache: Cache) -> Manifest:
    """The ConfigMap with the bootstrap."""
    body = {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": of_program(site, cache, BOOTSTRAP, ENVOY),
        "data": {FILE: bootstrap_text(cache)},
    }
    return Manifest(f"ConfigMap/{BOOTSTRAP}", body, target=Target.SITE)


def bootstrap_text(cache: Cache) -> str:
    """The bootstrap as the file that Envoy reads: it takes JSON by the file's ending."""
    return json.dumps(bootstrap(cache), indent=2) + "\n"


def bootstrap(cache: Cache) -> Json:
    """Everything that Envoy is told, but for its servers."""
    return {
        # Without a name Envoy watches no file; each is started with its node's as the id.
        "node": {"id": ENVOY, "cluster": CLUSTER},
        "admin": _admin(),
        "static_resources": {
            "listeners": [_objects_listener(cache.envoy.port), _probes_listener()],
            "clusters": [servers(cache), _admin_cluster()],
        },
        "overload_manager": _overload(in_bytes(cache.envoy.memory)),
    }


def _admin() -> Json:
    """The administration, on the loopback: only what probes, metrics and the drain ask for."""
    return {
        "address": _address(LOOPBACK, ADMIN_PORT),
        "allow_paths": [{"exact": path} for path in (READY, METRICS, DRAIN)],
        "ignore_global_conn_limit": True,
    }


def _objects_listener(port: int) -> Json:
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
        "common_http_protocol_options": {"idle_timeout": "3600s"},
        "access_log": [_failures_log()],
        "route_config": object_routes(),
    }
    return {
        **_listener("objects", port, manager),
        "per_connection_buffer_limit_bytes": BUFFER_BYTES,
    }


def _probes_listener() -> Json:
    """What the kubelet and Prometheus may ask, which cannot reach the loopback of a pod. It
    answers when all connections are taken, and when memory is short."""
    manager = {
        "stat_prefix": "probes",
        "codec_type": "HTTP1",
        "route_config": probe_routes((READY, METRICS), ADMIN),
    }
    return {
        **_listener("probes", PROBES_PORT, manager),
        "ignore_global_conn_limit": True,
        "bypass_overload_manager": True,
    }


def _listener(name: str, port: int, manager: Json) -> Json:
    network = f"{_TYPES}.filters.network.http_connection_manager.v3.HttpConnectionManager"
    router = {
        "name": "envoy.filters.http.router",
        "typed_config": {"@type": f"{_TYPES}.filters.http.router.v3.Router"},
    }
    config = {"@type": network, **manager, "http_filters": [router]}
    http = {"name": "envoy.filters.network.http_connection_manager", "typed_config": config}
    return {
        "name": name,
        "address": _address(EVERYWHERE, port),
        "filter_chains": [{"filters": [http]}],
    }


def _failures_log() -> Json:
    """Requests that failed, and what they were for; no header, as one is the client's token."""
    at_least = {"default_value": 500, "runtime_key": "access_log.least_status"}
    return {
        "name": "envoy.access_loggers.stdout",
        "filter": {"status_code_filter": {"comparison": {"op": "GE", "value": at_least}}},
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
