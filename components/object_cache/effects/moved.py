"""How many keys of the cache another host is asked for after a change: from the tables themselves.

Keys are hashed evenly, so the share of keys that move is the share of table entries that differ;
no key has to be tried.

Source: Envoy 1.39, source/extensions/load_balancing_policies/maglev/maglev_lb.cc.
"""

from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

from components.effects import Side, SiteChange
from components.object_cache.effects.listed import joining, unserved
from components.object_cache.effects.routing import Routing, routing
from components.object_cache.effects.section import cache_of
from schemas.model.vocabulary import CacheDiscovery

if TYPE_CHECKING:
    from components.object_cache.maglev import Maglev


class CacheMove(NamedTuple):
    """The effect of a change on the objects of a cache that both sides have.

    ``moved`` is the share of keys that another host is asked for, of 1; ``unavoidable`` the share
    that would move with any even spread, as hosts come and go. Both take every listed host to be
    up, but for spares that come or go. ``servers_*`` count the listed hosts that have a machine.
    ``wiped`` hosts keep their place in the list and lose their disks, ``at_once`` at a time (0: not
    known), and with them ``lost``, a share of all objects; ``at_most`` so many where it is up to
    Cluster API.
    ``joining`` hosts are new in the list, and have no server before they are installed (again).
    ``readdressed`` hosts are asked at an address that they get when they are installed again.
    ``afresh``: servers look into another folder, so that no object of before is seen. ``applied``
    is false where no cluster is named that the cache would be on. ``idle`` is about the share of
    keys that moves as hosts that stay in the list get or lose their machine.
    """

    hosts_before: int
    hosts_after: int
    table_before: int
    table_after: int
    discovery_before: CacheDiscovery
    discovery_after: CacheDiscovery
    moved: float = 0.0
    unavoidable: float = 0.0
    servers_before: int = 0
    servers_after: int = 0
    wiped: int = 0
    lost: float = 0.0
    at_once: int = 0
    at_most: bool = False
    readdressed: int = 0
    afresh: bool = False
    applied: bool = True
    joining: int = 0
    idle: float = 0.0

    @property
    def changes_routing(self) -> bool:
        """True if Envoys look for objects in another way."""
        before = (self.hosts_before, self.table_before, self.discovery_before)
        after = (self.hosts_after, self.table_after, self.discovery_after)
        return self.moved > 0 or before != after


def cache_move(site: SiteChange) -> CacheMove | None:
    """The change of the places where objects are looked for; None where a side has no cache."""
    before, after = routing(site.before), routing(site.after)
    if before is None or after is None:
        return None
    caches = [cache_of(each) for each in site.sides]
    idle = unserved(*site.sides)
    return CacheMove(
        len(before.hosts),
        len(after.hosts),
        before.table,
        after.table,
        before.discovery,
        after.discovery,
        *_moved_shares(_serving(before, idle[0]), _serving(after, idle[1])),
        afresh=len({each.data_path for each in caches if each}) > 1,
        applied=all(each.fleet.context is not None for each in site.sides),
        joining=joining(*site.sides),
    )


def without(side: Side | None, names: frozenset[str]) -> float:
    """The share of keys that moves as some listed hosts lose their server, or get one."""
    found = routing(side)
    if found is None or not names:
        return 0.0
    return _moved_shares(found, _serving(found, names))[0]


def _serving(found: Routing, idle: frozenset[str]) -> Routing:
    """The routing without hosts that have no server."""
    return found._replace(hosts=tuple(each for each in found.hosts if each[1] not in idle))


def percent(part: float) -> str:
    """A share of 1 for a person: ``0.43 %``, ``12.5 %``; never 0 or 100 where it is not."""
    points = part * 100
    if 0 < points < 0.01:
        return "under 0.01 %"
    if 99.9 < points < 100:
        return "over 99.9 %"
    return f"{points:.2f} %" if 0 < points < 10 else f"{points:.1f} %".replace(".0 ", " ")


@lru_cache(maxsize=4)
def _moved_shares(before: Routing, after: Routing) -> tuple[float, float]:
    """The share of keys that moves, and the share that would with any even spread."""
    if before == after:
        return 0.0, 0.0
    # WebAssembly is not loaded for a change that leaves the tables alone.
    from components.object_cache.maglev import Maglev, compare_tables

    old, new = (Maglev(tuple(key for key, _ in each.hosts), each.table) for each in (before, after))
    keys = {host: key for key, host in before.hosts}
    if all(keys.get(host, key) == key for key, host in after.hosts):
        found = compare_tables(old, new)
        return found.share, found.least
    return _by_host(old, new, dict(before.hosts), dict(after.hosts))


def _by_host(
    old: "Maglev", new: "Maglev", mine: dict[str, str], theirs: dict[str, str]
) -> tuple[float, float]:
    """The same, where a host that stays is hashed by another key: hosts are what counts."""
    shares = {mine[key]: share for key, share in old.shares().items()}
    others = {theirs[key]: share for key, share in new.shares().items()}
    common = shares.keys() & others.keys()
    least = max(0.0, 1 - sum(min(shares[host], others[host]) for host in common))
    if old.size != new.size:
        return 1 - sum(shares[host] * others[host] for host in common), least
    named = [mine[key] for key in old.hosts], [theirs[key] for key in new.hosts]
    pairs = zip(old.entries, new.entries, strict=True)
    same = sum(named[0][one] == named[1][other] for one, other in pairs)
    return 1 - same / old.size, least
