"""Rules on pools: names of their own, known hardware, hosts, and one control plane among them.

Sources: the webhooks and controllers of Cluster API 1.13 (KubeadmControlPlane validation).
"""

from collections.abc import Iterator

from schemas.facts.rollout import failure_tolerance
from schemas.facts.site import Site
from schemas.model.codes import Code
from schemas.model.nearest import nearest
from schemas.model.vocabulary import Role
from schemas.rules.finding import Finding, HostCell
from schemas.rules.scope import InPool


def pool_names(site: Site) -> Iterator[Finding]:
    """No two pools have one name."""
    yield from _twice("pools", [pool.name for pool in site.file.pools])


def zone_names(site: Site) -> Iterator[Finding]:
    """No two zones have one name."""
    yield from _twice("zones", [zone.name for zone in site.file.zones])


def _twice(field: str, names: list[str]) -> Iterator[Finding]:
    for index, name in enumerate(names):
        if name in names[:index]:
            yield Finding(
                Code.DUPLICATE_NAME,
                (field, index, "name"),
                f"there are two {field} named {name}",
                "give this one another name, or remove it",
            )


def hardware(at: InPool) -> Iterator[Finding]:
    """A pool's hardware profile is in the catalogue or in the site's file."""
    site, pool = at.site, at.pool
    if pool.hardware not in site.hardware:
        known = sorted(site.hardware)
        near = nearest(pool.hardware, known)
        others = f"one of {', '.join(known)}, or add a profile under hardware"
        yield Finding(
            Code.UNKNOWN_HARDWARE,
            at.path("hardware"),
            f"there is no hardware profile {pool.hardware}",
            f"write {near or others}",
        )


def size(at: InPool) -> Iterator[Finding]:
    """A pool has hosts, and more of them than it keeps as spares (in each zone, if by_zone)."""
    site, pool = at.site, at.pool
    if not site.hosts_of(pool):
        yield Finding(
            Code.POOL_EMPTY,
            at.path("name"),
            f"pool {pool.name} has no host",
            "add its hosts to the host list, or remove the pool",
        )
        return
    zones = site.zones_of(pool) if pool.rollout.by_zone else ()
    hosts, zone = min((len(site.hosts_of(pool, zone)), zone) for zone in zones or (None,))
    if pool.spares >= hosts:
        count = f"{hosts} host{'s' * (hosts > 1)}"
        where = f" in zone {zone}, and by_zone keeps them in each" if zone else ""
        yield Finding(
            Code.SPARES_TOO_MANY,
            at.path("spares"),
            f"spares: {pool.spares} leaves no machine of {count}{where}",
            f"write {hosts - 1}" + (" or less" if hosts > 1 else ""),
        )


def control_planes(site: Site) -> Iterator[Finding]:
    """A cluster has one pool of control planes."""
    found = [(i, pool) for i, pool in enumerate(site.file.pools) if pool.role is Role.CONTROL_PLANE]
    if not found:
        yield Finding(
            Code.CONTROL_PLANE_MISSING,
            ("pools",),
            "no pool has the role control-plane",
            "write role: control-plane in the pool of 3 or 5 hosts that runs the Kubernetes API",
        )
    for index, pool in found[1:]:
        yield Finding(
            Code.CONTROL_PLANE_MISSING,
            ("pools", index, "role"),
            f"pool {pool.name} is a second control plane, besides {found[0][1].name}",
            "write worker, or join the two pools",
        )


def control_plane_size(at: InPool) -> Iterator[Finding]:
    """A control plane has an odd number of machines, and can be rolled."""
    site, pool = at.site, at.pool
    machines = site.replicas(pool)
    if pool.role is not Role.CONTROL_PLANE or machines == 0:
        return
    place = at.path("name")
    if machines % 2 == 0:
        more = f"make it {machines + 1}: add a host"
        yield Finding(
            Code.CONTROL_PLANE_EVEN,
            place,
            f"the control plane has {machines} machines",
            f"{more}, or keep one more as a spare (spares: {pool.spares + 1})",
        )
    elif failure_tolerance(machines) < 1 and pool.spares == 0:
        yield Finding(
            Code.ROLLOUT_STUCK,
            place,
            "a control plane of one machine without a spare host can never be rolled: its machine "
            "cannot go before another has come",
            "add a host and write spares: 1, or make it 3 hosts",
        )


def control_plane_racks(at: InPool) -> Iterator[Finding]:
    """The hosts of the control plane are not all in one rack, where their zones have others."""
    hosts = at.site.hosts_of(at.pool)
    racks, zones = {host.rack for host in hosts}, {host.zone for host in hosts}
    others = {host.rack for host in at.site.hosts if host.zone in zones} - racks - {""}
    several = at.pool.role is Role.CONTROL_PLANE and at.site.replicas(at.pool) > 1
    if several and len(racks) == 1 and others:
        yield Finding(
            Code.CONTROL_PLANE_RACK,
            HostCell(hosts[1].line, "rack"),
            f"all {len(hosts)} hosts of the control plane are in rack {hosts[0].rack}",
            f"take hosts of other racks too, such as {min(others)}",
        )
