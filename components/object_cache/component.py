"""The object cache of a site as one Pulumi component."""

import pulumi

from components.object_cache.objects import objects
from components.shell import Component, Placement


class ObjectCache(Component):
    """The cache's servers, and the Envoys before them."""

    def __init__(
        self, name: str, spec: Placement, opts: pulumi.ResourceOptions | None = None
    ) -> None:
        """Register the cache of a site where ``spec`` says."""
        super().__init__(name, spec, objects(spec.site), opts)
