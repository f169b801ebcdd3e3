"""The snapshots of a site's etcd as one Pulumi component."""

from components.etcd_snapshots.objects import objects
from components.shell import SiteComponent, WholeSiteArgs


class EtcdSnapshots(SiteComponent[WholeSiteArgs]):
    """A CronJob on the control plane that stores snapshots of etcd."""

    make = staticmethod(objects)
