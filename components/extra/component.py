"""What a team brings to a site as one Pulumi component."""

from components.extra.objects import objects
from components.shell import SiteComponent, WholeSiteArgs


class Extra(SiteComponent[WholeSiteArgs]):
    """Objects of a site's manifests and charts."""

    make = staticmethod(objects)
