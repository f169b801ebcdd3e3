"""The monitoring of a site as one Pulumi component."""

import pulumi

from components.shell import Component, Placement
from components.site import COMPONENTS


class Monitoring(Component):
    """What Prometheus, Alertmanager and Grafana are told about a site."""

    def __init__(
        self, name: str, spec: Placement, opts: pulumi.ResourceOptions | None = None
    ) -> None:
        """Register the monitoring of a site where ``spec`` says."""
        super().__init__(name, spec, COMPONENTS["monitoring"].objects(spec.site), opts)
