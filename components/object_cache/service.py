"""How pods and hosts reach the cache: one Service, and one more where DNS finds the servers."""

from components.making.manifest import Manifest, prune, site_object
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


def service(site: Site, cache: Cache) -> Manifest:
    """The Service before the Envoys: a pod's connections go to one in its own zone, as long as
    that has any.

    The zone, and not the node: a busy node would else have its own Envoy alone to serve it. The
    pods' port goes by its name, which each pod's own port has: in a rollout with another port each
    is asked where it listens (Kubernetes 1.34, k8s.io/endpointslice, utils.go, FindPort).
    """
    spec = {
        "type": "ClusterIP",
        "clusterIP": cache.address,
        "selector": {NAME_LABEL: ENVOY},
        "ports": [
            {"name": "http", "appProtocol": "http", "port": PORT, "targetPort": OBJECTS_PORT}
        ],
        "trafficDistribution": traffic_distribution(site.file.cluster.kubernetes),
    }
    metadata = of_program(site, cache, cache.service, ENVOY)
    return site_object("Service/cache", "v1", metadata, spec=prune(spec))


def traffic_distribution(version: KubernetesVersion) -> str:
    """The field by which a Service prefers the caller's zone, in a version of Kubernetes.

    PreferClose means the same and is the older name (Kubernetes 1.34, pkg/apis/core/types.go).
    """
    return "PreferSameZone" if minor(version) >= SAME_ZONE_SINCE else "PreferClose"


def servers_by_name(site: Site, cache: Cache) -> Manifest:
    """A name in DNS for the addresses of all servers, ready or not.

    Whether one works, Envoy finds by asking it. Would DNS leave out what is not ready, then each
    short failure of a probe would move objects; and while no server counted as ready, as after an
    outage of the control plane, DNS would hold none, and Envoy with it.
    """
    spec = {
        "clusterIP": "None",
        "publishNotReadyAddresses": True,
        "selector": {NAME_LABEL: SERVER},
        "ports": [{"name": "objects", "port": cache.server.port}],
    }
    metadata = of_program(site, cache, headless(cache), SERVER)
    return site_object("Service/servers", "v1", metadata, spec=spec)
