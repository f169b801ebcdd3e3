"""Rules on pools: names of their own, known hardware, hosts, and one control plane among them
(Cluster API 1.13, webhooks and controllers, KubeadmControlPlane validation)."""

from collections.abc import Iterator

from schemas.facts.adopted import kept_machines
from schemas.facts.rollout import failure_tolerance
from schemas.facts.site import Site
from schemas.model.site_file import Pool
from schemas.model.vocabulary import Role
from schemas.rules.finding import Finding, HostCell, InPool, say


def size(at: InPool) -> Iterator[Finding]:
    """A pool has hosts, and more of them than it keeps as spares (in each zone, if by_zone)."""
    site, pool = at.site, at.pool
    if not (site.hosts_of(pool) or site.out_of(pool)):
        yield say("pool-empty", at.path("name"), pool)
        return
    zones = site.zones_of(pool) if pool.rollout.by_zone else ()
    hosts, zone = min((_listed(site, pool, zone), zone) for zone in zones or (None,))
    if pool.spares >= hosts:
        count = f"{hosts} host{'s' * (hosts > 1)}"
        where = f" in zone {zone}, and by_zone keeps them in each" if zone else ""
        less = " or less" if hosts > 1 else ""
        yield say("spares-too-many", at.path("spares"), pool, count, where, hosts - 1, less)


def _listed(site: Site, pool: Pool, zone: str | None = None) -> int:
    return len(site.hosts_of(pool, zone)) + len(site.out_of(pool, zone))


def control_planes(site: Site) -> Iterator[Finding]:
    """A cluster has one pool of control planes."""
    found = [(i, pool) for i, pool in enumerate(site.file.pools) if pool.role is Role.CONTROL_PLANE]
    if not found:
        yield say("control-plane-missing", ("pools",))
    for index, pool in found[1:]:
        yield say("control-plane-twice", ("pools", index, "role"), pool, found)


def control_plane_size(at: InPool) -> Iterator[Finding]:
    """A control plane has an odd number of machines, and can be rolled."""
    site, pool = at.site, at.pool
    machines = site.replicas(pool)
    if pool.role is not Role.CONTROL_PLANE or pool.spares >= _listed(site, pool):
        return
    if kept_machines(site, pool):
        return  # it is as it runs
    place, out = at.path("name"), site.out_of(pool)
    if machines % 2 == 0 and out:
        yield say("control-plane-out", HostCell(out[0].line, "state"), machines, out)
    elif machines % 2 == 0:
        yield say("control-plane-even", place, machines, machines + 1, pool.spares + 1)
    elif failure_tolerance(machines) < 1 and site.free(pool) + len(out) == 0:
        yield say("control-plane-without-spare", place)


def control_plane_racks(at: InPool) -> Iterator[Finding]:
    """The hosts of the control plane are not all in one rack, where their zones have others."""
    if at.pool.role is not Role.CONTROL_PLANE:
        return
    hosts = at.site.hosts_of(at.pool)
    racks, zones = {host.rack for host in hosts}, {host.zone for host in hosts}
    others = {host.rack for host in at.site.hosts if host.zone in zones} - racks - {""}
    if at.site.replicas(at.pool) > 1 and len(racks) == 1 and others:
        place = HostCell(hosts[1].line, "rack")
        yield say("control-plane-in-one-rack", place, len(hosts), hosts, min(others))
