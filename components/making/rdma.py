"""The needs of a pod for RDMA on a pool's hosts: data for network devices and job templates.

Sources: k8s-rdma-shared-dev-plugin 1.5.3, pkg/resources/server.go (Allocate: one unit of a resource
brings every card of it); Linux, drivers/infiniband/core/umem.c (memory is registered within the
limit of locked memory, or with CAP_IPC_LOCK); multus-cni 4.3, pkg/k8sclient/k8sclient.go (an
attachment is named by letters, digits and dashes).
"""

from typing import NamedTuple

from components.making.manifest import Json
from schemas.facts.site import Site
from schemas.model.network_devices import Sriov
from schemas.model.site_file import Pool
from schemas.model.vocabulary import LinkType

RDMA_PREFIX = "rdma"
"""The domain of shared cards: the plugin's own default."""
NETWORKS_ANNOTATION = "k8s.v1.cni.cncf.io/networks"
"""The networks that Multus attaches a pod to, besides its first."""
SHARED_MEMORY: Json = {"name": "shared-memory", "emptyDir": {"medium": "Memory"}}
"""A volume that libraries pass data between processes in; the runtime's own has 64 MiB. It counts
as the container's memory, and its limit is the container's."""
SHARED_MEMORY_MOUNT: Json = {"name": "shared-memory", "mountPath": "/dev/shm"}  # noqa: S108  no file


class Needs(NamedTuple):
    """The additions to a container (``resources`` as limits and requests, ``capabilities``,
    ``mounts``) and to its pod (``annotations``, ``volumes``, ``host_network``)."""

    resources: dict[str, str]
    capabilities: list[str]
    annotations: dict[str, str]
    volumes: list[Json]
    mounts: list[Json]
    host_network: bool = False
    """RoCE addresses belong to the host's interfaces, so pods that share them use its network."""


def needs(site: Site, pool: Pool, namespace: str | None = None) -> Needs:
    """The needs of a pod for all of a pool's RDMA; nothing where the pool has none.

    One unit of each shared resource, and one function of each SR-IOV resource that carries RDMA.
    Whoever makes a pod of it passes its namespace: networks are a namespace's own, and without one
    the annotation that joins them is left out.
    """
    shared = pool.network_devices.rdma
    functions = [each for each in pool.network_devices.sriov if each.rdma]
    if not shared and not functions:
        return Needs({}, [], {}, [], [])
    prefix = site.file.network_devices.prefix
    names = [f"{RDMA_PREFIX}/{name}" for each in shared for name in each.resources()]
    names += [f"{prefix}/{each.name}" for each in functions]
    spaces = [namespace] if namespace else []
    networks = ",".join(network_name(each, space) for each in functions for space in spaces)
    return Needs(
        resources=dict.fromkeys(names, "1"),
        capabilities=["IPC_LOCK"],
        annotations={NETWORKS_ANNOTATION: networks} if networks else {},
        volumes=[SHARED_MEMORY],
        mounts=[SHARED_MEMORY_MOUNT],
        host_network=any(each.link is LinkType.ETHERNET for each in shared),
    )


def network_resources(site: Site) -> list[str]:
    """The resources of network devices of all pools: ``rdma/<name>``, then ``<prefix>/<name>``."""
    devices, prefix = (p.network_devices for p in site.file.pools), site.file.network_devices.prefix
    pairs = [(each.rdma, each.sriov) for each in devices]
    shared = [f"{RDMA_PREFIX}/{name}" for rdma, _ in pairs for r in rdma for name in r.resources()]
    return list(dict.fromkeys(shared + [f"{prefix}/{s.name}" for _, sriov in pairs for s in sriov]))


def network_name(sriov: Sriov, namespace: str) -> str:
    """The name of the network that pods of a namespace join with a function of a resource. It holds
    both, as the operator keeps all networks in its own namespace; a resource's name has no two
    underscores in a row, so where it ends is certain."""
    return f"{sriov.name.replace('_', '-')}--{namespace}"
