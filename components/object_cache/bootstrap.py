"""The bootstrap configuration of Envoy. What it says, and why, is in bootstrap.yaml; here are the
values that others go by too."""

from components.making.dump import dump_json
from components.making.manifest import Json, Manifest, config_map, documents, fill
from components.object_cache import service
from components.object_cache.limits import limits
from components.object_cache.names import BOOTSTRAP, ENVOY, OBJECTS_PATH, headless, of_program
from schemas.facts.site import Site
from schemas.kubernetes.quantities import in_bytes
from schemas.model.object_cache import Cache
from schemas.model.vocabulary import CacheDiscovery

FILE = "envoy.json"
ENDPOINTS_FOLDER = "/etc/envoy/endpoints"
"""Where Envoy finds the file with its servers: a folder of nothing else, as a mount."""
ADMIN_PORT, PROBES_PORT, METRICS_PORT = 9901, 9902, 9903
LOOPBACK, EVERYWHERE = "127.0.0.1", "0.0.0.0"  # noqa: S104 - a pod's own address is not known
ADMIN = "admin"
READY, METRICS = "/ready", "/stats/prometheus"
DRAIN = "/drain_listeners?graceful&skip_exit"
"""Asks clients to close their connections, and takes new ones: the Service still sends some."""
IDLE_SECONDS = 300
"""Seconds that a client's connection may be idle, from its first moment on. PFIO keeps its own,
and notices a closed one by a request that fails: a miss, after which it opens another (pfio 2.10,
pfio/cache/http_cache.py, HTTPConnector.get)."""
SCRAPERS = 16
"""Connections for metrics, at most. Anybody may open them, so they are no way to the probes."""
BUFFER_BYTES = 2**18
"""Bytes that a connection may hold until its other end takes them. Envoy's default of 1 MiB is no
faster, and a thousand slow readers would take the pod's memory."""
RETRY_BODY_BYTES = 2**20
"""Bytes kept of a PUT, to send them to another server. A connection that fails does so
before more than its buffer has come; a longer body that fails later is not sent again."""


def bootstrap_config(site: Site, cache: Cache) -> Manifest:
    """The ConfigMap with the bootstrap."""
    data = {FILE: bootstrap_text(cache), **limits(cache).files}
    return config_map(BOOTSTRAP, of_program(site, cache, BOOTSTRAP, ENVOY), data)


def bootstrap_text(cache: Cache) -> str:
    """The bootstrap as the file that Envoy reads: it takes JSON by the file's ending."""
    return dump_json(bootstrap(cache), indent=2)


def bootstrap(cache: Cache) -> Json:
    """Everything that Envoy is told, but for its servers."""
    values = {
        **globals(),
        "IDLE": f"{IDLE_SECONDS}s",
        "OBJECT": rf"^{OBJECTS_PATH}([^?#]*).*$",
        "FOLDER_FILE": f"{ENDPOINTS_FOLDER}/{service.FILE}",
        "port": cache.envoy.port,
        "server_port": cache.server.port,
        "server_name": f"{headless(cache)}.{cache.namespace}.svc.cluster.local.",
        "table_size": cache.table_size,
        "health_path": cache.server.health_path,
        "heap": in_bytes(cache.envoy.memory) * 9 // 10,
    }
    whole, by_file, by_dns = documents(__file__)
    discovery = by_file if cache.discovery is CacheDiscovery.HOSTS else by_dns
    found: Json = fill(whole, {**values, "discovery": fill(discovery, values)})
    added, resources = limits(cache), found["static_resources"]
    (chain,) = resources["listeners"][0]["filter_chains"]
    chain["filters"][-1]["typed_config"]["http_filters"][:0] = added.filters
    resources["clusters"] += added.clusters
    return found
