"""A site's hosts as Nodes: what a kubelet would tell of each, made from the host list."""

import re
import uuid
from collections.abc import Callable, Iterable, Iterator, Mapping

from components.effects.placement import node_labels
from components.machines.fleet import from_site
from components.making.manifest import Json
from components.making.taints import node_taints
from controlplane import Manifest
from schemas.facts.site import Site
from schemas.model.site_file import Pool
from schemas.reading.host_list import Host

Resources = Mapping[str, str]

DISK_GB = 400
"""The root disk of a host; hardware profiles say nothing of its size."""
_UNITS = {"": 1, "k": 10**3, "M": 10**6, "G": 10**9, "T": 10**12}
_UNITS |= {"Ki": 2**10, "Mi": 2**20, "Gi": 2**30, "Ti": 2**40}


def plugin_resources(site: Site, pool: Pool) -> Resources:
    """The resources that the device plugin of a pool's accelerators advertises, such as 8 of
    ``nvidia.com/gpu``."""
    accelerators = site.profile(pool).accelerators
    if accelerators is None:
        return {}
    resource = site.accelerators[accelerators.model].plugin.resource
    return {resource: str(accelerators.count)}


def site_nodes(
    site: Site, resources: Callable[[Site, Pool], Resources] = plugin_resources
) -> list[Manifest]:
    """The Node of each machine of ``site``; a pool's spares, its last hosts, have none.

    ``resources`` are the extended resources of each node of a pool.
    """
    groups = from_site(site).groups
    labels = {each.name: node_labels(group, each) for group in groups for each in group.hosts}
    return [
        _machine(
            site,
            node(
                host.name,
                labels[host.name],
                {**_sizes(site, pool), **resources(site, pool)},
                node_taints(pool),
                _reserved(site, pool),
            ),
        )
        for pool in site.file.pools
        for host in _machines(site, pool)
    ]


def node(
    name: str,
    labels: Mapping[str, str],
    capacity: Resources,
    taints: Iterable[Json] = (),
    reserved: Resources | None = None,
) -> Manifest:
    """A Node with a ``capacity``, of which pods may have what is not ``reserved``."""
    kept = reserved or {}
    allocatable = {
        resource: _less(size, kept[resource]) if resource in kept else size
        for resource, size in capacity.items()
    }
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name, "labels": dict(labels)},
        "spec": {"taints": list(taints)},
        "status": {"capacity": dict(capacity), "allocatable": allocatable},
    }


def booted() -> dict[str, str]:
    """The facts that a kubelet reports of a boot (NodeSystemInfo)."""
    return {"bootID": str(uuid.uuid4())}


def machine_of(host: str) -> str:
    """The Metal3Machine that a host is taken by."""
    return f"{host}-machine"


def _machine(site: Site, body: Manifest) -> Manifest:
    """``body`` with what tells its host and its boot.

    Source of the form: cluster-api-provider-metal3, baremetal/metal3machine_manager.go: namespace,
    BareMetalHost and Metal3Machine.
    """
    name = body["metadata"]["name"]
    body["spec"]["providerID"] = f"metal3://{site.name}/{name}/{machine_of(name)}"
    body["status"]["nodeInfo"] = booted()
    return body


def _machines(site: Site, pool: Pool) -> Iterator[Host]:
    zones = site.zones_of(pool) if pool.rollout.by_zone else (None,)
    for zone in zones:
        yield from site.hosts_of(pool, zone)[: site.replicas(pool, zone)]


def _sizes(site: Site, pool: Pool) -> Resources:
    profile = site.profile(pool)
    return {
        "cpu": str(profile.cpu_cores),
        "memory": f"{profile.memory_gib}Gi",
        "ephemeral-storage": f"{DISK_GB}G",
        "pods": str(site.kubelet(pool).max_pods),
    }


def _reserved(site: Site, pool: Pool) -> Resources:
    """The resources that a kubelet keeps from pods: the reserved ones, and those that it would
    evict pods for.

    Source: Kubernetes 1.34, pkg/kubelet/cm/node_container_manager_linux.go,
    GetNodeAllocatableReservation.
    """
    kubelet = site.kubelet(pool)
    evicting = kubelet.eviction_hard
    memory = _number(kubelet.reserved_memory) + _number(evicting.memory)
    return {
        "cpu": kubelet.reserved_cpu,
        "memory": f"{memory // 1000}",
        "ephemeral-storage": str(DISK_GB * 10**9 * evicting.nodefs_percent // 100),
    }


def _less(size: str, kept: str) -> str:
    thousandths = _number(size) - _number(kept)
    return str(thousandths // 1000) if thousandths % 1000 == 0 else f"{thousandths}m"


def _number(quantity: str) -> int:
    """A quantity in thousandths."""
    if quantity.endswith("m"):
        return int(quantity[:-1])
    match = re.fullmatch(r"([0-9]+)([kKMGTi]*)", quantity)
    if match is None:
        raise ValueError(f"not a quantity: {quantity!r}")
    return int(match[1]) * _UNITS[match[2]] * 1000
