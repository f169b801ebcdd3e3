"""Network devices that pods ask for: RDMA and SR-IOV, by pool."""

from typing import Annotated

from pydantic import Field

from schemas.model.addresses import HostNetwork
from schemas.model.primitives import DnsLabel, DomainName, Model, text_form
from schemas.model.vocabulary import LinkType, SriovBy, VirtualFunctionDriver

InterfaceName = Annotated[str, text_form("[a-zA-Z][a-zA-Z0-9_.-]{0,14}", "ens1f0np0")]
"""The name of a network interface on a host, at most 15 characters as in Linux."""
HcaName = Annotated[str, text_form("[a-zA-Z][a-zA-Z0-9_-]{0,30}", "mlx5_0")]
"""The name of an RDMA device, as ibv_devices shows it."""
Gbps = Annotated[int, Field(ge=1, le=3200, examples=[400])]
"""Rate of a link in Gbit/s."""
ResourceLabel = Annotated[str, text_form("[a-z0-9]+(_[a-z0-9]+)*", "hca", longest=42)]
"""The part of a resource's name behind the slash: no dashes, as both plugins refuse them, and no
two underscores in a row, as a network's name is made of it."""


class Rdma(Model):
    """An RDMA resource: NICs that pods share."""

    name: ResourceLabel
    """Name of the resource: pods request rdma/<name>."""
    interfaces: Annotated[list[InterfaceName], Field(min_length=1, max_length=16)]
    """Interfaces of the NICs, in the order of the rails where the fabric has them."""
    by_rail: bool = False
    """True if each interface is a resource of its own, rdma/<name>_rail0 and so on."""
    hcas: Annotated[list[HcaName], Field(max_length=16)] = []
    """RDMA devices of the interfaces in their order, such as mlx5_0; jobs with RDMA then get the
    settings of NCCL that follow from them. Leave out where hosts differ."""
    share: Annotated[int, Field(ge=1, le=1000)] = 64
    """Pods of a host that can use the resource at once; nothing isolates one from another."""
    link: LinkType = Field(default=LinkType.INFINIBAND, strict=False)
    """Kind of the link."""
    gbps: Gbps | None = None
    """Rate of a healthy link in Gbit/s; leave out where it is not known."""

    def resources(self) -> dict[str, tuple[str, ...]]:
        """The interfaces behind each resource by its name: all behind one, or one for each rail."""
        if not self.by_rail:
            return {self.name: tuple(self.interfaces)}
        return {f"{self.name}_rail{rail}": (each,) for rail, each in enumerate(self.interfaces)}


class Sriov(Model):
    """An SR-IOV resource: virtual functions, each used by one pod only."""

    name: ResourceLabel
    """Name of the resource, behind the site's prefix."""
    interfaces: Annotated[list[InterfaceName], Field(min_length=1, max_length=16)]
    """Interfaces (physical functions) that are divided into virtual functions."""
    functions: Annotated[int, Field(ge=1, le=256)]
    """Virtual functions of each interface."""
    rdma: bool = False
    """True if the functions carry RDMA."""
    driver: VirtualFunctionDriver = Field(default=VirtualFunctionDriver.NETDEVICE, strict=False)
    """Driver of the functions; it decides what a pod gets."""
    link: LinkType = Field(default=LinkType.ETHERNET, strict=False)
    """Kind of the link."""
    gbps: Gbps | None = None
    """Rate of a healthy link in Gbit/s; leave out where it is not known."""
    mtu: Annotated[int, Field(ge=1280, le=9978)] | None = None
    """MTU of the functions in bytes; default: as the interface has it."""
    vlan: Annotated[int, Field(ge=1, le=4094)] | None = None
    """VLAN of the network that pods join; default: none."""
    addresses: HostNetwork | None = None
    """Network from which whereabouts assigns addresses to pods; default: pods get none."""


class PoolNetworkDevices(Model):
    """The network devices of a pool's hosts."""

    rdma: Annotated[list[Rdma], Field(max_length=8)] = []
    """RDMA resources."""
    sriov: Annotated[list[Sriov], Field(max_length=8)] = []
    """SR-IOV resources."""

    def links(self) -> dict[str, tuple[int | None, int]]:
        """Each interface's rail, where a resource counts them, and rate (0: not known), by name."""
        found: dict[str, tuple[int | None, int]] = {}
        resources: list[Rdma | Sriov] = [*self.rdma, *self.sriov]
        for each in resources:
            counted = isinstance(each, Rdma) and each.by_rail
            for rail, name in enumerate(each.interfaces):
                known, rate = found.get(name, (None, 0))
                found[name] = (rail if counted else known, max(rate, each.gbps or 0))
        return dict(sorted(found.items()))

    def rails(self) -> int:
        """How many interfaces a pod can use for RDMA at once: those of the largest shared resource,
        or all whose functions carry RDMA."""
        functions = (each.interfaces for each in self.sriov if each.rdma)
        divided = len({name for interfaces in functions for name in interfaces})
        return max([divided, *(len(each.interfaces) for each in self.rdma)])


class NetworkDevices(Model):
    """How network devices get to pods, on the whole site."""

    sriov_by: SriovBy = Field(default=SriovBy.OPERATOR, strict=False)
    """Who divides interfaces into virtual functions."""
    operator_namespace: DnsLabel = "sriov-network-operator"
    """Namespace of the SR-IOV network operator, in which it reads its policies."""
    prefix: DomainName = "openshift.io"
    """Domain of SR-IOV resources; the operator's is set where it is installed (resourcePrefix)."""
    operator_webhooks: bool = False
    """True if the operator serves its admission webhooks (its admissionControllers.enabled)."""
    max_unavailable: Annotated[int, Field(ge=1, le=100)] = 1
    """Hosts of a pool that the operator drains at a time to change their functions."""
