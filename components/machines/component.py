"""The machines of a site as one Pulumi component."""

import pulumi

from components.machines.objects import objects
from components.shell import Clusters, Component
from schemas.site import Site


class Machines(Component):
    """A site's cluster, control plane, worker pools, hosts and addresses."""

    def __init__(
        self, name: str, spec: tuple[Site, Clusters], opts: pulumi.ResourceOptions | None = None
    ) -> None:
        """Register the machines of ``spec``: a site, and the providers of its clusters."""
        site, clusters = spec
        super().__init__(name, clusters, objects(site), opts)
