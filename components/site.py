"""The one page that wires a site: which components it has, in which order."""

from collections.abc import Callable

from components.machines import objects as machines
from components.manifest import Manifest
from components.pod_network import objects as pod_network
from schemas.site import Site

COMPONENTS: dict[str, Callable[[Site], list[Manifest]]] = {
    "machines": machines.objects,
    "pod-network": pod_network.objects,
}
"""Each component by name, with the pure function that makes its objects."""


def site_objects(site: Site) -> dict[str, list[Manifest]]:
    """Every object of a site, by component, in a fixed order."""
    return {name: make(site) for name, make in COMPONENTS.items()}
