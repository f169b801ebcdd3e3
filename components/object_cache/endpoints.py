"""The servers as Envoy is told of them: a file that it watches, one server a line.

Made of Git alone, so every Envoy has the same table, and nothing has to run for it. A server's key
in the table is its host's name: a restarted pod, or a host with another address, moves no object.
Envoy would take a list with one key twice, and disagree with other Envoys about its objects; and
an empty list, after which no request finds a server. Neither can be written here.

Source: Envoy 1.39, envoy.config.endpoint.v3; key ``hash_key`` of the metadata ``envoy.lb`` in
source/extensions/load_balancing_policies/common/thread_aware_lb_impl.cc (hashKey).
"""

import json
from collections import Counter
from collections.abc import Sequence

from components.making.manifest import Json, Manifest, config_map
from components.object_cache.names import CLUSTER, ENDPOINTS, ENVOY, of_program
from schemas.facts.site import Site
from schemas.model.object_cache import Cache
from schemas.reading.host_list import Host

FILE = "endpoints.json"
_TYPE = "type.googleapis.com/envoy.config.endpoint.v3.ClusterLoadAssignment"


def endpoint_config(site: Site, cache: Cache) -> Manifest:
    """The ConfigMap with the endpoints. Its name never changes: the kubelet exchanges what its
    folder in the pods links to, which is the one change of a file that Envoy sees."""
    data = {FILE: endpoint_text(site, cache)}
    return config_map(ENDPOINTS, of_program(site, cache, ENDPOINTS, ENVOY), data)


def endpoint_text(site: Site, cache: Cache) -> str:
    """The file with the servers of a site, by zone and name."""
    hosts = site.cache_hosts()
    _distinct(site, hosts)
    zones = sorted({host.zone for host in hosts})
    groups = [_zone(site, cache, zone, hosts) for zone in zones]
    return (
        f'{{"resources": [{{"@type": "{_TYPE}", "cluster_name": "{CLUSTER}", "endpoints": [\n'
        + ",\n".join(groups)
        + "\n]}]}\n"
    )


def _distinct(site: Site, hosts: Sequence[Host]) -> None:
    """Raises ValueError where Envoy would lose its table, or share a key between two servers."""
    if not hosts:
        raise ValueError(f"{site.name}: no host keeps objects, so Envoy would refuse every request")
    for what in ("name", "ip"):
        counted = Counter(getattr(host, what) for host in hosts)
        twice = sorted(value for value, count in counted.items() if count > 1)
        if twice:
            raise ValueError(f"{site.name}: hosts that keep objects share a {what}: {twice}")


def _zone(site: Site, cache: Cache, zone: str, hosts: Sequence[Host]) -> str:
    """The servers of a zone. Zones say nothing to the table; they tell a person and Envoy's
    statistics by zone where a server is."""
    locality = json.dumps({"region": site.file.region, "zone": zone})
    lines = [json.dumps(_endpoint(host, cache.server.port)) for host in hosts if host.zone == zone]
    return f'{{"locality": {locality}, "lb_endpoints": [\n' + ",\n".join(lines) + "\n]}"


def _endpoint(host: Host, port: int) -> Json:
    address = {"socket_address": {"address": host.ip, "port_value": port}}
    # The address first: a person sees it in a diff before the line is cut off.
    return {
        "endpoint": {"address": address},
        "metadata": {"filter_metadata": {"envoy.lb": {"hash_key": host.name}}},
    }
