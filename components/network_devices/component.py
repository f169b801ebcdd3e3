"""The network devices of a site as one Pulumi component."""

from dataclasses import dataclass

import pulumi

from components.making.rdma import RDMA_PREFIX
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
        prefix = site.file.network_devices.prefix
        devices = [pool.network_devices for pool in site.file.pools]
        shared = [f"{RDMA_PREFIX}/{n}" for d in devices for r in d.rdma for n in r.resources()]
        divided = [f"{prefix}/{each.name}" for d in devices for each in d.sriov]
        return {"resources": list(dict.fromkeys(shared + divided))}
