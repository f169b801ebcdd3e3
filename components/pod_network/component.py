"""The pod network of a site as one Pulumi component."""

from components.pod_network.objects import objects
from components.shell import SiteComponent, WholeSiteArgs


class PodNetwork(SiteComponent[WholeSiteArgs]):
    """The pod network's manifests, on their way into the site's cluster."""

    make = staticmethod(objects)
