"""The network devices of a site: device plugins, in a namespace of our own, and what the SR-IOV
network operator reads, in its own, which comes with the operator."""

from components.making import daemons
from components.making.manifest import Manifest, annotate
from components.network_devices.names import COMPONENT, NAMESPACE
from components.network_devices.operator import operator
from components.network_devices.plugins import rdma_plugin, sriov_plugin
from schemas.facts.site import Site
from schemas.model.vocabulary import SriovBy


def objects(site: Site) -> list[Manifest]:
    """The objects of the network devices, in the order of the pools; none where no pool has any."""
    by_plugin = site.file.network_devices.sriov_by is SriovBy.DEVICE_PLUGIN
    found: list[Manifest] = []
    for pool in site.file.pools:
        if pool.network_devices.rdma:
            found += rdma_plugin(site, pool)
        if pool.network_devices.sriov and by_plugin:
            found += sriov_plugin(site, pool)
    if found:
        space = daemons.namespace(site, NAMESPACE, COMPONENT, level="privileged")
        found.insert(0, space)
    if not by_plugin:
        found += operator(site)
    return annotate(found)
