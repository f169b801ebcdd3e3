"""The Secrets that a site refers to, by reference alone. As one Pulumi component."""

import pulumi

from components.secrets.objects import objects
from components.shell import Component, Placement


class Secrets(Component):
    """The Secrets that a site refers to, by reference alone."""

    def __init__(
        self, name: str, spec: Placement, opts: pulumi.ResourceOptions | None = None
    ) -> None:
        """Register the component's objects where ``spec`` says."""
        super().__init__(name, spec, objects(spec.site), opts)
