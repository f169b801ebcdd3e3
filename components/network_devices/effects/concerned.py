"""Whom a change of network devices concerns, and how the operator goes about it."""

from components.effects import Effect, Field, Impact, ObjectChange, Side, SiteChange
from components.effects.applying import effect
from components.effects.placement import running
from components.making.manifest import Json
from components.source import site_of
from schemas.model.network_devices import NetworkDevices, PoolNetworkDevices, Sriov
from schemas.model.vocabulary import SriovBy

OPERATOR = "sriov-network-operator 1.6.0"


def pool_name(change: ObjectChange) -> str:
    """The pool of an object: ``<kind>/<pool>[/<resource>]``, or ``<kind>/<plugin>/<pool>``."""
    kind, *steps = change.one.name.split("/")
    return steps[-1] if kind in ("ConfigMap", "DaemonSet") else steps[0]


def devices_on(side: Side | None, pool: str) -> PoolNetworkDevices | None:
    """The devices of a pool on one side; None where there is no pool of that name."""
    pools = site_of(side).file.pools if side else ()
    return next((each.network_devices for each in pools if each.name == pool), None)


def staying(site: SiteChange, pool: str) -> tuple[str, ...]:
    """The hosts of a pool that it had before: others are installed first, with all in place."""
    sides = [side.fleet.hosts_of(pool) for side in (site.before, site.after) if side]
    before = {host.name for host in sides[0]}
    return tuple(host.name for host in sides[-1] if host.name in before)


def on_hosts(
    site: SiteChange, change: ObjectChange, field: Field, impact: Impact, words: tuple[str, str]
) -> Effect:
    """An effect on the hosts of the object's pool, spares aside; ``words`` are why and source. The
    operator takes hosts out at its pace, whatever several of its policies ask for."""
    why, source = words
    hosts = staying(site, pool_name(change))
    count = running(site.side, hosts)
    if not count:
        why = f"{why}; but no host of the pool runs yet"
        return effect(change, field, Impact.NONE, why, source)
    at_most = count if count < len(hosts) else None
    out = impact in (Impact.DRAIN, Impact.REBOOT)
    at_once = settings(site.side).max_unavailable if out else None
    return effect(change, field, impact, why, source, hosts=hosts, at_most=at_most, at_once=at_once)


def settings(side: Side) -> NetworkDevices:
    """A site file's settings of network devices."""
    return site_of(side).file.network_devices


def sriov_pools(side: Side) -> list[str]:
    """The pools whose interfaces are divided into functions."""
    return [pool.name for pool in site_of(side).file.pools if pool.network_devices.sriov]


def pace(site: SiteChange) -> str:
    """How many hosts of a pool the operator drains at a time, for a person."""
    return f"{settings(site.side).max_unavailable} at a time"


def sriov_interfaces(side: Side | None, pool: str) -> dict[str, Sriov]:
    """The interfaces of a pool that the operator divides on one side, each with its resource."""
    found = devices_on(side, pool)
    if side is None or found is None or settings(side).sriov_by is not SriovBy.OPERATOR:
        return {}
    return {name: each for each in found.sriov for name in each.interfaces}


def spec(change: ObjectChange) -> tuple[Json, Json]:
    """The spec before and after; empty on a side that lacks the object."""
    before, after = (each.body["spec"] if each else {} for each in change.both)
    return before, after
