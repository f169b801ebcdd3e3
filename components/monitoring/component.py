"""The monitoring of a site as one Pulumi component."""

from dataclasses import dataclass

import pulumi

from components.making.manifest import Manifest
from components.monitoring.objects import objects
from components.shell import SiteArgs, SiteComponent
from components.site import watch_list
from schemas.facts.site import Site
from schemas.model.accelerators import AcceleratorSettings
from schemas.model.cluster import Cluster
from schemas.model.monitoring import Monitoring as MonitoringSettings
from schemas.model.object_cache import Cache
from schemas.model.remediation import Remediation
from schemas.model.scheduling import Scheduling


@dataclass(frozen=True, slots=True, kw_only=True)
class MonitoringArgs(SiteArgs):
    """Arguments of ``Monitoring``."""

    monitoring: MonitoringSettings | None = None
    """Monitoring of the site."""
    accelerators: AcceleratorSettings | None = None
    """The accelerators that researchers ask for."""
    scheduling: Scheduling | None = None
    """Schedulers, priorities and teams."""
    cache: Cache | None = None
    """The object cache."""
    remediation: Remediation | None = None
    """Detection and remediation of hosts' faults."""
    cluster: Cluster | None = None
    """The cluster, whose etcd may have snapshots."""


class Monitoring(SiteComponent[MonitoringArgs]):
    """Rules, scrape settings, routes and dashboards for Prometheus, Alertmanager and Grafana."""

    namespace: pulumi.Output[str]
    """Namespace of the objects, which is the site's and not made here."""

    @staticmethod
    def make(site: Site) -> list[Manifest]:
        """Return the component's objects, of what all components hand over."""
        return objects(site, watch_list(site))

    @staticmethod
    def values(site: Site) -> dict[str, object]:
        """The values of the outputs."""
        return {"namespace": site.file.monitoring.namespace} if site.file.monitoring else {}
