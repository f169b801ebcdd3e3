"""The network devices of a site as one Pulumi component."""

from dataclasses import dataclass

import pulumi

from components.making.rdma import network_resources
from components.network_devices.objects import objects
from components.shell import SiteArgs, SiteComponent
from schemas.facts.site import Site
from schemas.model.accelerators import AcceleratorSettings
from schemas.model.network_devices import NetworkDevices as NetworkDeviceSettings
from schemas.model.scheduling import Scheduling


@dataclass(frozen=True, slots=True, kw_only=True)
class NetworkDevicesArgs(SiteArgs):
    """Arguments of ``NetworkDevices``."""

    network_devices: NetworkDeviceSettings | None = None
    """Network devices of the site."""
    scheduling: Scheduling | None = None
    """Schedulers, priorities and teams."""
    accelerators: AcceleratorSettings | None = None
    """The accelerators that researchers ask for."""


class NetworkDevices(SiteComponent[NetworkDevicesArgs]):
    """RDMA and SR-IOV devices as resources of nodes, and as networks of teams' namespaces."""

    resources: pulumi.Output[list[str]]
    """Resources that pods ask for: ``rdma/<name>`` and ``<prefix>/<name>``."""

    make = staticmethod(objects)

    @staticmethod
    def values(site: Site) -> dict[str, object]:
        """The values of the outputs."""
        return {"resources": network_resources(site)}
