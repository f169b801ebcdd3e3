"""Rules that hold in the site's clusters, whoever deploys. As one Pulumi component."""

import pulumi

from components.admission_policies.objects import objects
from components.shell import Component, Placement


class AdmissionPolicies(Component):
    """Rules that hold in the site's clusters, whoever deploys."""

    def __init__(
        self, name: str, spec: Placement, opts: pulumi.ResourceOptions | None = None
    ) -> None:
        """Register the component's objects where ``spec`` says."""
        super().__init__(name, spec, objects(spec.site), opts)
