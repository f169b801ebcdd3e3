"""Every object of a site's accelerators, on its own cluster, in a fixed order."""

from components.accelerators.admission import policies
from components.accelerators.compute_domains import compute_domains
from components.accelerators.deviceclasses import device_classes
from components.accelerators.discovery import discovery
from components.accelerators.names import COMPONENT, NAMESPACE, served_pools
from components.accelerators.operator import operator
from components.accelerators.plugins import daemons
from components.making.daemons import namespace
from components.making.manifest import Manifest, annotate
from schemas.facts.site import Site


def objects(site: Site) -> list[Manifest]:
    """The objects of the component; none where the site serves no accelerators."""
    if not served_pools(site):
        return []
    return annotate(
        [
            namespace(site, NAMESPACE, COMPONENT, level="privileged"),
            *daemons(site),
            *operator(site),
            *discovery(site),
            *device_classes(site),
            *policies(site),
            *compute_domains(site),
        ]
    )
