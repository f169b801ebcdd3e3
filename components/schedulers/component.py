"""The schedulers of a site as one Pulumi component."""

import pulumi

from components.schedulers.objects import objects
from components.shell import Component, Placement


class Schedulers(Component):
    """The schedulers beside the default one, and the policies that go with them."""

    def __init__(
        self, name: str, spec: Placement, opts: pulumi.ResourceOptions | None = None
    ) -> None:
        """Register the schedulers of a site where ``spec`` says."""
        super().__init__(name, spec, objects(spec.site), opts)
