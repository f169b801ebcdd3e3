"""How the cache is found: by pods and hosts, by one Service; its servers by Envoy, in DNS or in a
file that it watches, one server a line.

The file is made of Git alone, so every Envoy has the same table, and nothing has to run for it. A
server's key in the table is its host's name: a restarted pod, or a host with another address, moves
no object. Envoy would take a list with one key twice, and disagree with other Envoys about its
objects; and an empty list, after which no request finds a server. Neither can be written here.

Source: Envoy 1.39, envoy.config.endpoint.v3; key ``hash_key`` of the metadata ``envoy.lb`` in
source/extensions/load_balancing_policies/common/thread_aware_lb_impl.cc (hashKey).
"""

import json
from collections import Counter
from collections.abc import Sequence

from components.making.manifest import Json, Manifest, config_map, filled, prune, site_object
from components.object_cache import names
from schemas.facts.site import Site
from schemas.model.object_cache import Cache
from schemas.model.primitives import KubernetesVersion, minor
from schemas.reading.host_list import Host

PORT = 80
SAME_ZONE_SINCE = 35
"""The minor from which the zone is preferred by its newer name. An API server takes that name from
1.34 on (gate PreferSameTrafficDistribution: beta in 1.34, general in 1.35; Kubernetes 1.35,
pkg/features/kube_features.go), and in an upgrade it is a minor behind when objects are applied. The
older name is deprecated, and still taken (Kubernetes 1.37, pkg/apis/core/types.go)."""


def service(site: Site, cache: Cache) -> Manifest:
    """The Service before the Envoys."""
    metadata = names.of_program(site, cache, cache.service, names.ENVOY)
    return site_object("Service/cache", "v1", metadata, spec=prune(_specs(site, cache)[0]))


def servers_by_name(site: Site, cache: Cache) -> Manifest:
    """A name in DNS for the addresses of all servers, ready or not."""
    metadata = names.of_program(site, cache, names.headless(cache), names.SERVER)
    return site_object("Service/servers", "v1", metadata, spec=_specs(site, cache)[1])


def _specs(site: Site, cache: Cache) -> list[Json]:
    return filled(
        __file__,
        address=cache.address,
        envoys={names.NAME_LABEL: names.ENVOY},
        port=PORT,
        objects_port=names.OBJECTS_PORT,
        traffic=traffic_distribution(site.file.cluster.kubernetes),
        servers={names.NAME_LABEL: names.SERVER},
        server_port=cache.server.port,
    )


def traffic_distribution(version: KubernetesVersion) -> str:
    """The field by which a Service of a version prefers the caller's zone; PreferClose is the older
    name of the same (Kubernetes 1.34, pkg/apis/core/types.go)."""
    return "PreferSameZone" if minor(version) >= SAME_ZONE_SINCE else "PreferClose"


FILE = "endpoints.json"
_TYPE = "type.googleapis.com/envoy.config.endpoint.v3.ClusterLoadAssignment"


def endpoint_config(site: Site, cache: Cache) -> Manifest:
    """The ConfigMap with the endpoints. Its name never changes: the kubelet exchanges what its
    folder in the pods links to, which is the one change of a file that Envoy sees."""
    data = {FILE: endpoint_text(site, cache)}
    metadata = names.of_program(site, cache, names.ENDPOINTS, names.ENVOY)
    return config_map(names.ENDPOINTS, metadata, data)


def endpoint_text(site: Site, cache: Cache) -> str:
    """The file with the servers of a site, by zone and name."""
    hosts = site.cache_hosts()
    _distinct(site, hosts)
    zones = sorted({host.zone for host in hosts})
    groups = ",\n".join(_zone(site, cache, zone, hosts) for zone in zones)
    head = f'"@type": "{_TYPE}", "cluster_name": "{names.CLUSTER}"'
    return f'{{"resources": [{{{head}, "endpoints": [\n{groups}\n]}}]}}\n'


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
    key = {"filter_metadata": {"envoy.lb": {"hash_key": host.name}}}
    # The address first: a person sees it in a diff before the line is cut off.
    return {"endpoint": {"address": address}, "metadata": key}
