"""How pods and hosts reach the cache: one Service, and one more where DNS finds the servers."""

from components.making.manifest import Manifest, documents, fill, prune, site_object
from components.object_cache.names import (
    ENVOY,
    NAME_LABEL,
    OBJECTS_PORT,
    SERVER,
    headless,
    of_program,
)
from schemas.facts.site import Site
from schemas.model.object_cache import Cache
from schemas.model.primitives import KubernetesVersion, minor

PORT = 80
SAME_ZONE_SINCE = 35
"""The minor from which the zone is preferred by its newer name. An API server takes that name from
1.34 on (gate PreferSameTrafficDistribution: beta in 1.34, general in 1.35; Kubernetes 1.35,
pkg/features/kube_features.go), and in an upgrade it is a minor behind when objects are applied. The
older name is deprecated, and still taken (Kubernetes 1.37, pkg/apis/core/types.go)."""


_SERVICE, _SERVERS = documents(__file__)


def service(site: Site, cache: Cache) -> Manifest:
    """The Service before the Envoys."""
    values = {
        "address": cache.address,
        "envoys": {NAME_LABEL: ENVOY},
        "port": PORT,
        "objects_port": OBJECTS_PORT,
        "traffic": traffic_distribution(site.file.cluster.kubernetes),
    }
    metadata = of_program(site, cache, cache.service, ENVOY)
    return site_object("Service/cache", "v1", metadata, spec=prune(fill(_SERVICE, values)))


def servers_by_name(site: Site, cache: Cache) -> Manifest:
    """A name in DNS for the addresses of all servers, ready or not."""
    values = {"servers": {NAME_LABEL: SERVER}, "server_port": cache.server.port}
    metadata = of_program(site, cache, headless(cache), SERVER)
    return site_object("Service/servers", "v1", metadata, spec=fill(_SERVERS, values))


def traffic_distribution(version: KubernetesVersion) -> str:
    """The field by which a Service prefers the caller's zone, in a version of Kubernetes.

    PreferClose means the same and is the older name (Kubernetes 1.34, pkg/apis/core/types.go).
    """
    return "PreferSameZone" if minor(version) >= SAME_ZONE_SINCE else "PreferClose"
