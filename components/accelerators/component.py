"""The accelerators of a site as one Pulumi component."""

import pulumi

from components.accelerators.objects import objects
from components.shell import Component, Placement


class Accelerators(Component):
    """What serves the cards of a site, and the resources that researchers ask for."""

    def __init__(
        self, name: str, spec: Placement, opts: pulumi.ResourceOptions | None = None
    ) -> None:
        """Register the accelerators of a site where ``spec`` says."""
        super().__init__(name, spec, objects(spec.site), opts)
