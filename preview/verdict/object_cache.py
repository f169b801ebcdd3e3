"""The effect of a change on the objects of the cache: keys that move, as the component says, and
objects lost with disks, as the hosts' verdicts say."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from components.effects.rules import judge_object
from components.effects.vocabulary import Effect, Impact, PoolPlan, SiteChange
from components.object_cache.effects.consequences import Consequence
from components.object_cache.effects.consequences import consequences as told
from components.object_cache.effects.moved import CacheMove, cache_move, without
from components.object_cache.names import COMPONENT
from components.site import COMPONENTS
from components.source import site_of
from preview.result import HostVerdict, count_hosts
from schemas.facts.site import Site
from schemas.model.vocabulary import CacheDiscovery

WIPED = (Impact.REIMAGE, Impact.REMOVE)
"""Impacts that cost a host what is on its disks: CAPM3 has Ironic erase the metadata of every disk
(automatedCleaningMode metadata, components/machines/templates.py)."""


def cache(
    site: SiteChange, hosts: Iterable[HostVerdict], plans: Sequence[PoolPlan]
) -> CacheMove | None:
    """The effect of a change on the cache; None where it has none, or a side has no cache."""
    if any(each.fleet.decommissioned for each in site.sides):
        return None  # it goes with the whole cluster, or starts empty with it
    found = cache_move(site)
    if found is None or site.before is None or site.after is None:
        return None
    sides = (site_of(site.before), site_of(site.after))
    found = _with_disks(found, sides, hosts, plans)
    before, after = (each.cache_servers() for each in sides)
    idle = without(site.after, frozenset(_idle(*sides)))
    found = found._replace(servers_before=before, servers_after=after, idle=idle)
    stays = before == after and not (found.wiped or found.readdressed)
    return None if stays and not (found.changes_routing or found.afresh) else found


def _idle(before: Site, after: Site) -> Iterator[str]:
    """Hosts that stand for those that get or lose a machine and stay in the list; which hosts these
    are, Cluster API decides, and another choice moves about as many keys."""
    earlier = {pool.name: pool for pool in before.cache_pools()}
    for pool in after.cache_pools():
        if pool.name not in earlier:
            continue
        hosts = after.by_pool.get(pool.name, ())
        were, are = ({h.name for h in side.by_pool.get(pool.name, ())} for side in (before, after))
        more = after.replicas(pool) - before.replicas(earlier[pool.name])
        more = max(0, more - len(are - were), -more - len(were - are))
        yield from (host.name for host in hosts[:more])


def consequences(site: SiteChange) -> Iterator[Consequence]:
    """The consequences for users of the cache beside keys that move and disks that are wiped; of a
    site whose own cluster is not named, those once it is, with the pods that would restart."""
    if site.before is None or site.after is None:
        return
    named = [each.fleet.context is not None for each in site.sides]
    if named[0] != named[1] or any(each.fleet.decommissioned for each in site.sides):
        return  # the cache starts, or is given up as it is
    applied = all(named)
    old, new = site_of(site.before), site_of(site.after)
    for each in told(old.file.cache, new.file.cache, old.cache_servers()):
        yield each._replace(applied=applied)
    if not applied:
        yield from _restarts(site)


def _restarts(site: SiteChange) -> Iterator[Consequence]:
    """Pods of the cache that would restart, come or go, were the site's own cluster named."""
    before, after = (
        side and replace(side, fleet=replace(side.fleet, context="named"))
        for side in (site.before, site.after)
    )
    would = SiteChange(site.name, before, after, site.changes)
    found = [
        effect
        for name, change in site.changes.items()
        if name[0] == COMPONENT
        for effect in judge_object(COMPONENTS[COMPONENT].effects(), would, change)
        if effect.impact is Impact.POD_RESTART
    ]
    for stops in (True, False):
        mine = [e for e in found if (site.changes[e.name].after is None) is stops]
        if mine:
            hosts = _count(mine)
            what = "stops pods for good on" if stops else "restarts pods on"
            clause = f"{what} {hosts:,} host{'s' * (hosts != 1)}"
            # The sentence that names the pool's DaemonSet is left out.
            why = dict.fromkeys(part for each in mine for part in each.why.split("; ")[1:])
            yield Consequence(clause, f"{clause}; {'; '.join(why)}", applied=False)


def _count(effects: Iterable[Effect]) -> int:
    """Hosts with pods among those that effects name: each pool has DaemonSets of its own."""
    most: dict[tuple[str, ...], int] = {}
    for each in effects:
        number = len(each.hosts) if each.at_most is None else each.at_most
        most[each.hosts] = max(most.get(each.hosts, 0), number)
    return sum(most.values())


def _with_disks(
    found: CacheMove,
    sides: tuple[Site, Site],
    hosts: Iterable[HostVerdict],
    plans: Sequence[PoolPlan],
) -> CacheMove:
    """With the hosts that stay in the list and lose their disks."""
    kept = set.intersection(*({host.name for host in each.cache_hosts()} for each in sides))
    mine = [each for each in hosts if each.host in kept]
    wiped = sum(count_hosts(mine).get(impact, 0) for impact in WIPED)
    pools = {pool.name for side in sides for pool in side.cache_pools()}
    at_once = sum(plan.at_once for plan in plans if plan.pool in pools and not plan.stuck)
    vague = any(each.impact is Impact.REMOVE and each.at_most is not None for each in mine)
    at_once = at_once if wiped and not vague else 0
    found = found._replace(
        wiped=wiped, lost=wiped / found.hosts_before, at_once=at_once, at_most=vague
    )
    anew = {each.host for each in mine if each.impact is Impact.REIMAGE and each.at_most is None}
    return found._replace(readdressed=_address_changes(found, sides, kept - anew))


def _address_changes(found: CacheMove, sides: tuple[Site, Site], names: set[str]) -> int:
    """The number of hosts that have another address in Git, and not before they are installed
    again; DNS reports their present one."""
    if found.discovery_after is not CacheDiscovery.HOSTS:
        return 0
    before, after = ({host.name: host.ip for host in each.cache_hosts()} for each in sides)
    return sum(before[name] != after[name] for name in names)
