"""A management cluster as one Pulumi component."""

from components.management.objects import objects
from components.shell import SiteComponent, WholeSiteArgs


class Management(SiteComponent[WholeSiteArgs]):
    """Providers, Ironic and what else runs on a management cluster."""

    make = staticmethod(objects)
