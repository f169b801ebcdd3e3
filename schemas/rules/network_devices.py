"""Rules on network devices: what the plugins and the SR-IOV operator refuse, or would never do.

Sources: sriov-network-operator 1.6.0, pkg/webhook (validate.go, mutate.go) and api/v1/helper.go;
k8s-rdma-shared-dev-plugin 1.5.3, pkg/resources/resources_manager.go.
"""

from collections.abc import Iterator

from schemas.facts.site import Site
from schemas.model.network_devices import Rdma, Sriov
from schemas.reading.paths import each_at
from schemas.rules.finding import Finding, InPool, Path, say
from schemas.rules.networks import parse_network, site_networks

_SRIOV = "pools.*.network_devices.sriov.*"
_SHARED_BY_POOLS = ("link", "vlan", "addresses", "driver", "rdma")
"""Fields of a resource on its network or its driver: they are the same in each pool."""


def device_names(at: InPool) -> Iterator[Finding]:
    """Each resource of a pool has a name of its own."""
    devices = at.pool.network_devices
    shared = [[*each.resources()] for each in devices.rdma]
    for field, named in (("rdma", shared), ("sriov", [[each.name] for each in devices.sriov])):
        seen: set[str] = set()
        for number, names in enumerate(named):
            for name in (each for each in names if each in seen):
                place = at.path("network_devices", field, number, "name")
                yield say("device-resource-twice", place, name)
            seen.update(names)


def device_interfaces(at: InPool) -> Iterator[Finding]:
    """No interface stands twice in a resource, or in two that divide it. Cards may be shared under
    two names, and beside their functions, which have RDMA devices of their own."""
    devices = at.pool.network_devices
    for number, rdma in enumerate(devices.rdma):
        yield from _twice(at.path("network_devices", "rdma", number), rdma, {})
    divided: dict[str, str] = {}
    for number, sriov in enumerate(devices.sriov):
        yield from _twice(at.path("network_devices", "sriov", number), sriov, divided)


def _twice(place: Path, resource: Rdma | Sriov, owners: dict[str, str]) -> Iterator[Finding]:
    """Interfaces of a resource that have an owner already; the others get one."""
    for index, interface in enumerate(resource.interfaces):
        owner = owners.setdefault(interface, resource.name)
        if owner != resource.name or interface in resource.interfaces[:index]:
            whose = "this resource" if owner == resource.name else f"the resource {owner}"
            yield say("interface-taken", (*place, "interfaces", index), interface, whose)


def hcas(at: InPool) -> Iterator[Finding]:
    """Each interface has one RDMA device."""
    for number, rdma in enumerate(at.pool.network_devices.rdma):
        place = at.path("network_devices", "rdma", number, "hcas")
        if rdma.hcas and len(rdma.hcas) != len(rdma.interfaces):
            yield say("hcas-of-other-interfaces", place, len(rdma.interfaces), len(rdma.hcas))


def device_resources(site: Site) -> Iterator[Finding]:
    """No function has the name of an accelerator's resource."""
    domain = site.file.network_devices.prefix
    taken: dict[str, str] = {}
    for pool in site.file.pools:
        model = site.model(pool) if pool.hardware in site.hardware else None
        if model is None:
            continue
        taken[site.resource(model)] = model
        if model in site.accelerators:
            taken[site.accelerators[model].plugin.resource] = model
    for place, sriov in each_at(site.file, _SRIOV):
        owner = taken.get(f"{domain}/{sriov.name}")
        if owner:
            yield say("device-resource-of-accelerator", (*place, "name"), domain, sriov, owner)


def pools_agree(site: Site) -> Iterator[Finding]:
    """A resource of several pools is one network, and gives pods the same everywhere."""
    first: dict[str, tuple[Path, Sriov]] = {}
    for place, sriov in each_at(site.file, _SRIOV):
        where, other = first.setdefault(sriov.name, (place, sriov))
        for field in _SHARED_BY_POOLS:
            same = getattr(sriov, field) == getattr(other, field)
            if same or where[:2] == place[:2]:
                continue
            written = field in sriov.model_fields_set
            at = (*place, field if written else "name")
            yield say("device-resource-differs", at, field, sriov)


def addresses(site: Site) -> Iterator[Finding]:
    """The networks of functions lie outside the site's others; two resources may share one."""
    every = [(name, text) for name, _, text in site_networks(site) if ":" not in text]
    taken = [(name, parse_network(text)) for name, text in every]
    for place, sriov in each_at(site.file, _SRIOV):
        mine = parse_network(sriov.addresses) if sriov.addresses else None
        for name, network in taken if mine else ():
            if mine and mine.overlaps(network):
                yield say("function-addresses-overlap", (*place, "addresses"), mine, network, name)
