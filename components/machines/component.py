"""The machines of a site as one Pulumi component."""

import pulumi

from components.machines.objects import objects
from components.shell import SiteComponent, WholeSiteArgs
from schemas.facts.adopted import management_names
from schemas.facts.site import Site


class Machines(SiteComponent[WholeSiteArgs]):
    """A site's cluster, control plane, worker pools, hosts and addresses."""

    namespace: pulumi.Output[str]
    """Namespace of the site on the management cluster."""
    cluster: pulumi.Output[str]
    """Name of the Cluster."""
    endpoint: pulumi.Output[str]
    """URL of the Kubernetes API of the site's own cluster: ``https://10.18.0.10:6443``."""
    kubeconfig_secret: pulumi.Output[str]
    """Name of the Secret, in the same namespace, in which Cluster API puts the kubeconfig."""

    make = staticmethod(objects)

    @staticmethod
    def values(site: Site) -> dict[str, object]:
        """The values of the outputs."""
        cluster = site.file.cluster
        return {
            "namespace": management_names(site).namespace,
            "cluster": management_names(site).cluster,
            "endpoint": f"https://{cluster.endpoint}:{cluster.port}",
            "kubeconfig_secret": f"{management_names(site).cluster}-kubeconfig",
        }
