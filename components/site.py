"""The one page that wires a site: which components it has, in which order."""

from dataclasses import replace

from components.accelerators import objects as accelerators
from components.admission_policies import objects as admission_policies
from components.effects import Name
from components.etcd_snapshots import objects as etcd_snapshots
from components.extra import objects as extra
from components.machines import objects as machines
from components.making.decommission import remaining
from components.making.manifest import Manifest
from components.making.patches import PatchFault
from components.making.watch import Watched
from components.management import objects as management
from components.monitoring import objects as monitoring
from components.network_devices import objects as network_devices
from components.object_cache import objects as object_cache
from components.pod_network import objects as pod_network
from components.record import Component
from components.remediation import objects as remediation
from components.schedulers import objects as schedulers
from components.secrets import objects as secrets
from components.teams import objects as teams
from components.training import objects as training
from schemas.facts.site import Site
from schemas.model.codes import Code
from schemas.model.vocabulary import Role
from schemas.rules.finding import advise

COMPONENTS: dict[str, Component] = {
    each.name: each
    for each in (
        Component("machines", machines.objects),
        Component("pod-network", pod_network.objects),
        Component("etcd-snapshots", etcd_snapshots.objects),
        Component("accelerators", accelerators.objects),
        Component("network-devices", network_devices.objects),
        Component("teams", teams.objects),
        Component("schedulers", schedulers.objects),
        Component("training", training.objects),
        Component("object-cache", object_cache.objects),
        Component("remediation", remediation.objects),
        Component("monitoring", lambda site: monitoring.objects(site, watch_list(site))),
        Component("secrets", secrets.objects),
        Component("admission-policies", admission_policies.objects),
        Component(management.NAME, management.objects),
        Component("extra", extra.objects),
    )
}
"""Each component by name, in the order in which a site is made."""


def watch_list(site: Site) -> list[Watched]:
    """The data that each component hands to monitoring; nothing where nothing watches the site."""
    if site.file.monitoring is None:
        return []
    return [each.watch(site) for each in COMPONENTS.values()]


def _in_fixed_order(site: Site) -> Site:
    """The site with its zones and pools in an order that the file's order is no part of: zones by
    name; the control plane, then pools as the catalogue lists their hardware, and by name."""
    hardware = {name: index for index, name in enumerate(site.hardware)}
    zones = sorted(site.file.zones, key=lambda zone: zone.name)
    pools = sorted(
        site.file.pools,
        key=lambda pool: (pool.role is Role.WORKER, hardware[pool.hardware], pool.name),
    )
    if zones == list(site.file.zones) and pools == list(site.file.pools):
        return site
    return replace(site, file=site.file.model_copy(update={"zones": zones, "pools": pools}))


def is_management(site: Site) -> bool:
    """True for a management cluster by itself, which has no hosts."""
    return site.managed is not None and site.name == site.managed.stack


def site_objects(site: Site) -> dict[str, list[Manifest]]:
    """Every object of a site, by component, in a fixed order; of one that is decommissioned what
    remains of it. A management cluster has its own objects alone, and they are of no other site."""
    if is_management(site):
        return {management.NAME: management.objects(site)}
    site = _in_fixed_order(site)
    mine = {name: each for name, each in COMPONENTS.items() if name != management.NAME}
    return {name: remaining(site, each.objects(site)) for name, each in mine.items()}


def patch_faults(site: Site) -> list[PatchFault]:
    """The faults of a site's patches, in their order; no object is made where it has none."""
    patches = site.file.patches
    of = {each.component for each in patches}
    found = [fault for name in COMPONENTS if name in of for fault in COMPONENTS[name].faults(site)]
    for number, each in enumerate(patches):
        if each.component not in COMPONENTS:
            message = f"there is no component {each.component}"
            fix = advise(each.component, COMPONENTS)
            place = ("patches", number, "component")
            found.append(PatchFault(place, Code.PATCH_UNUSED, message, fix))
    return sorted(found, key=lambda fault: fault.path[1:2])


def objects_by_name(site: Site) -> dict[Name, Manifest]:
    """Every object by component and logical name, in order; the management cluster's last."""
    every = {**site_objects(site), management.NAME: management.objects(site)}
    return {(component, each.name): each for component, made in every.items() for each in made}
