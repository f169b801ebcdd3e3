"""What a change does to the objects of the cache: keys that move, and objects lost with disks.

Which keys move is the component's to say; which hosts lose their disks is in their verdicts.
"""

from collections.abc import Iterable, Sequence

from components.impact.vocabulary import Impact, PoolPlan, SiteChange
from components.object_cache.impact.moved import CacheMove, moved
from preview.result import HostVerdict, counted
from schemas.site import Site
from schemas.vocabulary import CacheDiscovery

WIPED = (Impact.REIMAGE, Impact.REMOVE)
"""Impacts that cost a host what is on its disks: CAPM3 has Ironic erase the metadata of every disk
(automatedCleaningMode metadata, components/machines/templates.py)."""


def cache(
    site: SiteChange, hosts: Iterable[HostVerdict], plans: Sequence[PoolPlan]
) -> CacheMove | None:
    """What a change does to the cache; None where it does nothing, or a side has none."""
    found = moved(site)
    if found is None or site.before is None or site.after is None:
        return None
    sides = (site.before.site, site.after.site)
    if found.applied:
        found = _with_disks(found, sides, hosts, plans)
    before, after = map(_servers, sides)
    found = found._replace(servers_before=before, servers_after=after)
    stays = before == after and not (found.wiped or found.readdressed)
    return None if stays and not (found.rerouted or found.afresh) else found


def _servers(site: Site) -> int:
    return sum(site.replicas(pool) for pool in site.cache_pools())


def _with_disks(
    found: CacheMove,
    sides: tuple[Site, Site],
    hosts: Iterable[HostVerdict],
    plans: Sequence[PoolPlan],
) -> CacheMove:
    """With the hosts that stay in the list and lose their disks."""
    kept = set.intersection(*({host.name for host in each.cache_hosts()} for each in sides))
    mine = [each for each in hosts if each.host in kept]
    counts = counted(mine)
    wiped = sum(counts.get(impact, 0) for impact in WIPED)
    pools = {pool.name for pool in sides[0].cache_pools()}
    at_once = sum(plan.at_once for plan in plans if plan.pool in pools and not plan.stuck)
    lost = wiped / found.hosts_before
    vague = any(each.impact is Impact.REMOVE and each.at_most is not None for each in mine)
    at_once = at_once if wiped and not vague else 0
    found = found._replace(wiped=wiped, lost=lost, at_once=at_once, at_most=vague)
    anew = {each.host for each in mine if each.impact is Impact.REIMAGE and each.at_most is None}
    return found._replace(readdressed=_readdressed(found, sides, kept - anew))


def _readdressed(found: CacheMove, sides: tuple[Site, Site], names: set[str]) -> int:
    """How many of the hosts have another address in Git, and not before they are installed again;
    DNS tells of the one that they have."""
    if found.discovery_after is not CacheDiscovery.HOSTS:
        return 0
    before, after = ({host.name: host.ip for host in each.cache_hosts()} for each in sides)
    return sum(before[name] != after[name] for name in names)
