"""The fault remediation of a site as one Pulumi component."""

import pulumi

from components.remediation.objects import objects
from components.shell import Component, Placement


class Remediation(Component):
    """What finds and mends the faults of a site's hosts."""

    def __init__(
        self, name: str, spec: Placement, opts: pulumi.ResourceOptions | None = None
    ) -> None:
        """Register the fault remediation of a site where ``spec`` says."""
        super().__init__(name, spec, objects(spec.site), opts)
