"""The machines of a site as one Pulumi component."""

import pulumi

from components.machines.objects import objects
from components.shell import Component, Placement


class Machines(Component):
    """A site's cluster, control plane, worker pools, hosts and addresses."""

    def __init__(
        self, name: str, spec: Placement, opts: pulumi.ResourceOptions | None = None
    ) -> None:
        """Register the machines of a site where ``spec`` says."""
        super().__init__(name, spec, objects(spec.site), opts)
