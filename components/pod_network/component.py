"""The pod network of a site as one Pulumi component."""

import pulumi

from components.pod_network.objects import objects
from components.shell import Clusters, Component
from schemas.site import Site


class PodNetwork(Component):
    """The pod network's manifests, on their way into the site's cluster."""

    def __init__(
        self, name: str, spec: tuple[Site, Clusters], opts: pulumi.ResourceOptions | None = None
    ) -> None:
        """Register the pod network of ``spec``: a site, and the providers of its clusters."""
        site, clusters = spec
        super().__init__(name, clusters, objects(site), opts)
