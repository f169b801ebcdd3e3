"""The network devices of a site as one Pulumi component."""

import pulumi

from components.network_devices.objects import objects
from components.shell import Component, Placement


class NetworkDevices(Component):
    """What makes a pool's cards resources of its nodes, and networks of teams' namespaces."""

    def __init__(
        self, name: str, spec: Placement, opts: pulumi.ResourceOptions | None = None
    ) -> None:
        """Register the network devices of a site where ``spec`` says."""
        super().__init__(name, spec, objects(spec.site), opts)
