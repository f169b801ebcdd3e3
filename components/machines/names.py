"""Names that the parts of the component share: API versions, labels, annotations, metadata."""

from components.making.manifest import Json, metadata_of
from schemas.facts.adopted import management_names
from schemas.facts.site import Site

COMPONENT = "machines"

CLUSTER_API = "cluster.x-k8s.io/v1beta2"
CONTROL_PLANE_API = "controlplane.cluster.x-k8s.io/v1beta2"
BOOTSTRAP_API = "bootstrap.cluster.x-k8s.io/v1beta2"
INFRASTRUCTURE_API = "infrastructure.cluster.x-k8s.io/v1beta2"
METAL3_API = "metal3.io/v1alpha1"
IPAM_API = "ipam.metal3.io/v1alpha1"

CLUSTER_LABEL = "cluster.x-k8s.io/cluster-name"
DEPLOYMENT_LABEL = "cluster.x-k8s.io/deployment-name"
CONTROL_PLANE_LABEL = "cluster.x-k8s.io/control-plane"
FAILURE_DOMAIN_LABEL = "infrastructure.cluster.x-k8s.io/failure-domain"

POOL_LABEL = "foresite.dev/pool"
ZONE_LABEL = "foresite.dev/zone"
RACK_LABEL = "foresite.dev/rack"
"""On BareMetalHosts; the bootstrap configuration gives zone and rack on to the node."""
BOOT_MAC_ANNOTATION = "foresite.dev/boot-mac"
MAC_ANNOTATION = "foresite.dev/mac-"
"""And the name of a NIC that does not boot."""
STATE_LABEL = "foresite.dev/state"
"""On BareMetalHosts that are out or spare."""
UNHEALTHY_ANNOTATION = "capm3.metal3.io/unhealthy"
UNHEALTHY = "capm3/UnhealthyNode"
"""The Metal3 provider chooses no host with the annotation, whatever its value. The value is the
provider's own, which it writes after a repair that failed: with another one of ours the two would
conflict under server-side apply (CAPM3 v1.13.2, baremetal/metal3remediation_manager.go)."""
SERIAL_ANNOTATION = "foresite.dev/serial"
ADOPTED_ANNOTATION = "foresite.dev/adopted"
"""On objects that stay as they were adopted."""


def group(api_version: str) -> str:
    """The API group of an apiVersion."""
    return api_version.partition("/")[0]


def metadata(site: Site, name: str, **more: str) -> Json:
    """The metadata of a namespaced object; ``more`` are further labels by key."""
    return metadata_of(COMPONENT, site, name, management_names(site).namespace, **more)
