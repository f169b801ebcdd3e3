"""The teams of a site as one Pulumi component."""

import pulumi

from components.shell import Component, Placement
from components.teams.objects import objects


class Teams(Component):
    """The namespaces of teams, with what each may use."""

    def __init__(
        self, name: str, spec: Placement, opts: pulumi.ResourceOptions | None = None
    ) -> None:
        """Register the teams of a site where ``spec`` says."""
        super().__init__(name, spec, objects(spec.site), opts)
