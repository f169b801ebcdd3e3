"""The pod network of a site as one Pulumi component."""

import pulumi

from components.pod_network.objects import objects
from components.shell import Component, Placement


class PodNetwork(Component):
    """The pod network's manifests, on their way into the site's cluster."""

    def __init__(
        self, name: str, spec: Placement, opts: pulumi.ResourceOptions | None = None
    ) -> None:
        """Register the pod network of a site where ``spec`` says."""
        super().__init__(name, spec, objects(spec.site), opts)
