"""The routes of Envoy: objects go to their server, and nothing else goes anywhere.

Source: Envoy 1.39, envoy.config.route.v3.
"""

from components.making.manifest import Json
from components.object_cache.names import CLUSTER, OBJECTS_PATH

METHODS = ("GET", "HEAD", "PUT")
"""Methods for objects; each may be repeated without harm (RFC 9110, 9.2.2)."""
RETRY_BODY_BYTES = 2**20
"""Bytes kept of a PUT, to send them to another server. A connection that fails does so
before more than its buffer has come; a longer body that fails later is not sent again."""


def object_routes() -> Json:
    """The routes of the listener for objects.

    Servers have more paths (metrics, health): no request reaches them here.
    """
    of_objects = {"prefix": OBJECTS_PATH}
    method = {"name": ":method", "string_match": {"safe_regex": {"regex": "|".join(METHODS)}}}
    return _table(
        "objects",
        [
            {
                "match": {**of_objects, "headers": [method]},
                "route": _to_server(),
                "request_body_buffer_limit": RETRY_BODY_BYTES,
            },
            {
                "match": of_objects,
                "direct_response": {"status": 405},
                "response_headers_to_add": [
                    {"header": {"key": "Allow", "value": ", ".join(METHODS)}}
                ],
            },
        ],
    )


def probe_routes() -> Json:
    """The routes of the listener for probes: none, as a filter before them answers."""
    return _table("probes", [])


def metrics_routes(path: str, cluster: str) -> Json:
    """The routes of the listener for metrics: a GET of this path alone."""
    method = {"name": ":method", "string_match": {"exact": "GET"}}
    match = {"path": path, "headers": [method]}
    return _table("metrics", [{"match": match, "route": {"cluster": cluster}}])


def _table(name: str, routes: list[Json]) -> Json:
    other: Json = {"match": {"prefix": "/"}, "direct_response": {"status": 404}}
    host = {"name": name, "domains": ["*"], "routes": [*routes, other]}
    return {"name": name, "virtual_hosts": [host]}


def _to_server() -> Json:
    """To the server whose name the table has at the hash of bucket and object.

    Without the method: what was put is got from the same server. Without the query: it names no
    object. No time limit, as an object of 1 GiB takes as long as it takes; a stream on which
    nothing moves is ended by the listener.
    """
    return {
        "cluster": CLUSTER,
        "timeout": "0s",
        "hash_policy": [
            {
                "header": {
                    "header_name": ":path",
                    "regex_rewrite": {
                        "pattern": {"regex": rf"^{OBJECTS_PATH}([^?#]*).*$"},
                        "substitution": r"\1",
                    },
                }
            }
        ],
        "retry_policy": _retries(),
    }


def _retries() -> Json:
    """A server that does not answer costs its objects a miss elsewhere, and the client no error.

    To another server, always the same one for an object: by itself Envoy asks the same again.
    """
    kind = "envoy.extensions.retry.host.previous_hosts.v3.PreviousHostsPredicate"
    return {
        "retry_on": "connect-failure,refused-stream,reset",
        "num_retries": 3,
        "retry_back_off": {"base_interval": "0.005s", "max_interval": "0.05s"},
        "retry_host_predicate": [
            {
                "name": "envoy.retry_host_predicates.previous_hosts",
                "typed_config": {"@type": f"type.googleapis.com/{kind}"},
            }
        ],
        "host_selection_retry_max_attempts": 10,
    }
