"""The device plugins that Foresite runs on a pool: a ConfigMap and a DaemonSet each.

Both read their configuration when they start and never again (a SIGHUP of the RDMA plugin restarts
its servers with what it read), so a hash of it on the pods renews them when it changes.
"""

from collections.abc import Iterable

from components.making.daemons import Daemon, on_pool
from components.making.dump import dump_json
from components.making.manifest import Json, Manifest, config_map, content_digest, documents, fill
from components.making.rdma import RDMA_PREFIX
from components.network_devices.names import COMPONENT, NAMESPACE, metadata
from schemas.facts.site import Site
from schemas.kubernetes.node_labels import POOL_LABEL
from schemas.model.network_devices import Rdma, Sriov
from schemas.model.site_file import Pool
from schemas.model.vocabulary import LinkType, VirtualFunctionDriver

CONFIG_FILE = "config.json"
LINK_TYPES = {LinkType.ETHERNET: "ether", LinkType.INFINIBAND: "infiniband"}
"""As the kernel calls them (IFLA_INFO, EncapType of vishvananda/netlink), and so both plugins."""
LOOKS_AGAIN_SECONDS = 60
"""Seconds between two searches of the RDMA plugin: it finds devices whose driver loads late."""
_RDMA, _SRIOV = documents(__file__)


def rdma_plugin(site: Site, pool: Pool) -> list[Manifest]:
    """The RDMA shared device plugin on a pool."""
    resources = (found for each in pool.network_devices.rdma for found in _shared_devices(each))
    config = {"periodicUpdateInterval": LOOKS_AGAIN_SECONDS, "configList": _by_name(resources)}
    return _plugin(site, pool, _RDMA, config)


def _shared_devices(rdma: Rdma) -> list[Json]:
    return [
        {
            "resourceName": name,
            "resourcePrefix": RDMA_PREFIX,
            "rdmaHcaMax": rdma.share,
            "selectors": {"ifNames": sorted(interfaces), "linkTypes": [LINK_TYPES[rdma.link]]},
        }
        for name, interfaces in rdma.resources().items()
    ]


def sriov_plugin(site: Site, pool: Pool) -> list[Manifest]:
    """The SR-IOV device plugin on a pool whose OS image makes the functions."""
    prefix = site.file.network_devices.prefix
    resources = (_function_resource(each, prefix) for each in pool.network_devices.sriov)
    return _plugin(site, pool, _SRIOV, {"resourceList": _by_name(resources)})


def _function_resource(sriov: Sriov, prefix: str) -> Json:
    """A resource's devices, as functions 0 to n-1 of its interfaces: an interface that is not
    divided yet would count as a device itself."""
    names = [f"{name}#0-{sriov.functions - 1}" for name in sorted(sriov.interfaces)]
    chosen: Json = {"pfNames": names, **({"isRdma": True} if sriov.rdma else {})}
    # The link of a function without a driver of the kernel cannot be told.
    if sriov.driver is VirtualFunctionDriver.NETDEVICE:
        chosen["linkTypes"] = [LINK_TYPES[sriov.link]]
    else:
        chosen["drivers"] = [sriov.driver.value]
    return {"resourceName": sriov.name, "resourcePrefix": prefix, "selectors": chosen}


def _by_name(resources: Iterable[Json]) -> list[Json]:
    """In the order of their names: nothing restarts where lines of a site file swap places."""
    return sorted(resources, key=lambda each: str(each["resourceName"]))


def _plugin(site: Site, pool: Pool, plugin: Json, config: Json) -> list[Manifest]:
    part = plugin["container"]["name"]
    name = f"{part}-{pool.name}"
    named = metadata(site, name, NAMESPACE, **{POOL_LABEL: pool.name})
    data = {CONFIG_FILE: dump_json(config, indent=2)}
    seen = fill(plugin, {"image": site.images[part], "config": name})
    daemon = Daemon(
        part,
        NAMESPACE,
        COMPONENT,
        [seen["container"]],
        seen["volumes"],
        # Interfaces are found by name, and only the host's network has them.
        pod={"hostNetwork": True, "securityContext": {}},
        annotations=content_digest(config, part),
        vital=True,
    )
    return [config_map(f"{part}/{pool.name}", named, data), on_pool(site, pool, daemon)]
