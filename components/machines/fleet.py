"""The machines of a site as effects see them (components/effects/fleet.py), from the typed site."""

from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache

from components.effects import Name, Side
from components.effects.fleet import Accelerators, Fleet, Group, Host, Pace
from components.effects.placement import OS_LABEL
from components.machines.health import startup_timeout
from components.machines.names import COMPONENT
from components.making.manifest import Manifest
from components.making.taints import CONTROL_PLANE_LABEL, node_taints
from schemas.facts.adopted import kept_machines
from schemas.facts.site import Site
from schemas.kubernetes import node_labels
from schemas.kubernetes.bodies import mapping
from schemas.kubernetes.grouping import group_by_key
from schemas.model.site_file import Pool
from schemas.model.vocabulary import Role, VirtualIp
from schemas.reading.host_list import OUT, SPARE
from schemas.reading.host_list import Host as Listed

_KNOWN = frozenset({
    node_labels.POOL_LABEL, node_labels.ACCELERATOR_LABEL, node_labels.RAILS_LABEL,
    node_labels.SRIOV_LABEL, node_labels.REGION_LABEL, node_labels.ZONE_LABEL,
    node_labels.HOSTNAME_LABEL, OS_LABEL, CONTROL_PLANE_LABEL,
})  # fmt: skip
"""Labels whose presence follows from Git on every site; labels of pools come to them."""
_IDLE = (SPARE, OUT)
_OF_GROUPS = ("MachineDeployment", "Metal3MachineTemplate")
_OF_POOLS = (
    "MachineHealthCheck",
    "Metal3RemediationTemplate",
    "KubeadmConfigTemplate",
    "Metal3DataTemplate",
)
"""Objects whose logical names say their pool, the first two also the zone that is kept apart."""


def from_site(site: Site) -> Fleet:
    """The machines of a site."""
    pools, hosts = site.file.pools, _hosts(site.hosts)
    mine: dict[str, list[Host]] = {pool.name: [] for pool in pools}
    for host in hosts:
        if host.state != OUT:
            mine[host.pool].append(host)
    groups = tuple(group for pool in pools for group in _groups(site, pool, mine[pool.name]))
    return Fleet(
        hosts=hosts,
        groups=groups,
        about=_about(groups),
        label_keys=_KNOWN.union(*({*pool.labels, *pool.labels_in_place} for pool in pools)),
        context=site.file.cluster.context,
        management=site.file.management,
        endpoint_announced=site.file.cluster.virtual_ip is not VirtualIp.EXTERNAL,
        decommissioned=site.file.decommission is not None,
        **({"at_once": site.managed.file.provisioning_limit} if site.managed else {}),
    )


def side_of(site: Site, objects: Mapping[Name, Manifest]) -> Side:
    """A side of a change: a site, with its objects by name."""
    return Side(from_site(site), objects, site)


@lru_cache(maxsize=4)  # both sides of a change have most hosts alike
def _hosts(listed: tuple[Listed, ...]) -> tuple[Host, ...]:
    """The hosts; those of one place share their labels, as there may be thousands."""
    places = {
        (zone, rack): ((node_labels.ZONE_LABEL, zone), (node_labels.RACK_LABEL, rack))
        for zone, rack in {(host.zone, host.rack) for host in listed}
    }
    return tuple(
        Host(h.name, h.pool, h.zone, places[h.zone, h.rack], h.state if h.state in _IDLE else "")
        for h in listed
    )


def _groups(site: Site, pool: Pool, hosts: Sequence[Host]) -> Iterator[Group]:
    control_plane = pool.role is Role.CONTROL_PLANE
    profile, drain = site.profile(pool), pool.rollout.drain_timeout_seconds
    pace = Pace(profile.install_minutes, drain, startup_timeout(site, pool))
    cards, shown = profile.accelerators, Accelerators()
    if cards:
        shown = Accelerators(site.model(pool) or cards.model, site.devices(pool))
    apart = pool.rollout.by_zone and not control_plane
    for zone in site.zones_of(pool) if apart else ("",):
        name = f"MachineDeployment/{_logical(pool.name, zone)}"
        yield Group(
            owner=(COMPONENT, "KubeadmControlPlane" if control_plane else name),
            pool=pool.name,
            zone=zone,
            control_plane=control_plane,
            hosts=tuple(host for host in hosts if host.zone == zone) if zone else tuple(hosts),
            replicas=site.replicas(pool, zone or None),
            labels=_group_labels(site, pool),
            taints=tuple(node_taints(pool)),
            pace=pace,
            unhealthy_percent=pool.health_check.max_unhealthy_percent,
            accelerators=shown,
            domain=node_labels.RACK_LABEL if profile.nvlink_domain else "",
        )


def _group_labels(site: Site, pool: Pool) -> dict[str, str]:
    found = {
        **pool.labels,
        **pool.labels_in_place,
        OS_LABEL: "linux",
        node_labels.REGION_LABEL: site.file.region,
        **site.placing_labels(pool),
    }
    if stays := kept_machines(site, pool):
        template = "machineTemplate" if pool.role is Role.CONTROL_PLANE else "template"
        given = mapping(stays["spec"], template, "metadata", "labels")
        found = {key: each for key, each in given.items() if node_labels.copied_to_nodes(key)}
        found[OS_LABEL] = "linux"
    if pool.role is Role.CONTROL_PLANE:
        found[CONTROL_PLANE_LABEL] = ""
    return found


def _about(groups: tuple[Group, ...]) -> dict[Name, tuple[Group, ...]]:
    found: list[tuple[Name, Group]] = []
    for group in groups:
        logical = _logical(group.pool, group.zone)
        names = [f"{kind}/{logical}" for kind in _OF_GROUPS]
        names += [f"{kind}/{group.pool}" for kind in _OF_POOLS]
        every = dict.fromkeys((group.owner, *((COMPONENT, each) for each in names)))
        found += [(name, group) for name in every]
    return {name: tuple(its) for name, its in group_by_key(found).items()}


def _logical(pool: str, zone: str) -> str:
    return f"{pool}/{zone}" if zone else pool
