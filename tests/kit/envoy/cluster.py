"""A plain configuration with one cluster of hashed endpoints, written by hand for tests.

Its route hashes ``<bucket>/<object>`` of ``/v1/objects/<bucket>/<object>``; endpoints come from
the file ``endpoints/endpoints.json`` of the Envoy's folder.
"""

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tests.kit.envoy.program import Envoy

LISTENER, CLUSTER = "objects", "cache"
PREFIX = "/v1/objects/"
FILE = "endpoints/endpoints.json"
_TYPE = "type.googleapis.com/envoy."
_FILTERS = f"{_TYPE}extensions.filters"


def maglev(size: int) -> dict[str, Any]:
    """The policy of a cluster: Maglev with a table of ``size`` entries."""
    return {"lb_policy": "MAGLEV", "maglev_lb_config": {"table_size": size}}


def bootstrap(policy: Mapping[str, Any], folder: Path) -> dict[str, Any]:
    """A configuration for ``run``: a listener, a route, and a cluster with a policy."""
    source = {"path": str(folder / FILE), "watched_directory": {"path": str(folder / "endpoints")}}
    eds = {"eds_config": {"resource_api_version": "V3", "path_config_source": source}}
    cluster = {"name": CLUSTER, "type": "EDS", "connect_timeout": "5s", "eds_cluster_config": eds}
    # More than one test asks for at once.
    limits = {"max_connections": 10_000, "max_pending_requests": 10_000, "max_requests": 10_000}
    cluster["circuit_breakers"] = {"thresholds": [limits]}
    chain = {"filters": [{"name": "http", "typed_config": _manager()}]}
    return {
        "node": {"id": "test", "cluster": "test"},
        "static_resources": {
            "listeners": [{"name": LISTENER, "filter_chains": [chain]}],
            "clusters": [cluster | dict(policy)],
        },
    }


def _manager() -> dict[str, Any]:
    """Requests pass as they are, and are hashed by bucket and object."""
    rewrite = {"pattern": {"regex": f"^{PREFIX}([^?#]*).*$"}, "substitution": r"\1"}
    header = {"header_name": ":path", "regex_rewrite": rewrite}
    action = {"cluster": CLUSTER, "timeout": "0s", "hash_policy": [{"header": header}]}
    route = {"match": {"prefix": PREFIX}, "route": action}
    router = {"@type": f"{_FILTERS}.http.router.v3.Router"}
    manager = "network.http_connection_manager.v3.HttpConnectionManager"
    return {
        "@type": f"{_FILTERS}.{manager}",
        "stat_prefix": "in",
        "normalize_path": False,
        "merge_slashes": False,
        "path_with_escaped_slashes_action": "KEEP_UNCHANGED",
        "route_config": {"virtual_hosts": [{"name": "all", "domains": ["*"], "routes": [route]}]},
        "http_filters": [{"name": "router", "typed_config": router}],
    }


def endpoints(ports: Mapping[str, int]) -> str:
    """The endpoints' file: servers by their hash keys, in this order, on 127.0.0.1."""
    assignment = {
        "@type": f"{_TYPE}config.endpoint.v3.ClusterLoadAssignment",
        "cluster_name": CLUSTER,
        "endpoints": [{"lb_endpoints": [_endpoint(key, port) for key, port in ports.items()]}],
    }
    return json.dumps({"resources": [assignment]})


def _endpoint(key: str, port: int) -> dict[str, Any]:
    address = {"socket_address": {"address": "127.0.0.1", "port_value": port}}
    return {
        "endpoint": {"address": address},
        "metadata": {"filter_metadata": {"envoy.lb": {"hash_key": key}}},
    }


def replace(envoy: Envoy, ports: Mapping[str, int]) -> None:
    """Give a running Envoy other endpoints, and wait until it has them."""
    seen = envoy.stats()[f"cluster.{CLUSTER}.update_success"]
    file = envoy.log.parent / FILE
    new = file.with_suffix(".new")
    new.write_text(endpoints(ports), encoding="utf-8")
    os.replace(new, file)
    envoy.until(f"cluster.{CLUSTER}.update_success", seen + 1)


def keys(count: int, bucket: str = "vision") -> list[str]:
    """Keys as PFIO makes them: of objects in S3, of files, and of members of zip files of both."""
    names = [
        "s3://store.example/{bucket}/train/{number:08d}.jpg",
        "s3://undefined/{bucket}/shards/{number:06d}.tar",
        "file://mnt/data/{bucket}/epoch-0/{number}.npy",
        "s3://store.example/{bucket}/val.zip/pfio-zipfs/images/{number:05d}.png",
        "file://mnt/{bucket}.zip/pfio-zipfs/a/../b//{number}:0.txt",
    ]
    made = (names[number % len(names)] for number in range(count))
    return [
        f"{bucket}/{name.format(bucket=bucket, number=number)}" for number, name in enumerate(made)
    ]
