"""The job templates of a site as one Pulumi component."""

import pulumi

from components.shell import Component, Placement
from components.training.objects import objects


class Training(Component):
    """The runtimes and examples that researchers start from."""

    def __init__(
        self, name: str, spec: Placement, opts: pulumi.ResourceOptions | None = None
    ) -> None:
        """Register the job templates of a site where ``spec`` says."""
        super().__init__(name, spec, objects(spec.site), opts)
