"""Effects of a host that comes into Envoys' list, leaves it, or moves in it. Git lists hosts, and
machines follow later: a new one may have no server for hours, and one that left may have one."""

from collections.abc import Iterator, Mapping
from typing import Any

from components.effects import FieldChange, Side, SiteChange
from components.making.told import Told
from components.object_cache.effects.routing import addresses
from components.object_cache.effects.section import hosts_of, pools_of
from schemas.kubernetes.bodies import mapping

MAGLEV, HEALTH, POOLS, ADDRESSES = Told(__file__).table("sources").values()
_SAID = Told(__file__).table("words")
NOT_YET, NO_KEY = _SAID["not_yet"], _SAID["no_key"]


def describe_hosts(site: SiteChange, field: FieldChange, routes: str) -> tuple[str, str]:
    """The text on hosts that a changed list names, and its source; ``routes``: which keys move."""
    sides = addresses(site.before), addresses(site.after)
    names = [set(_keys(each)) for each in (field.before, field.after)]
    # Of a host that nobody finds at its new address keys do move, whatever the list says.
    said = {} if routes == NO_KEY else {routes: MAGLEV}
    for name in sorted(names[0] | names[1]):
        if name in sides[0] and name in sides[1]:
            found = (NOT_YET, ADDRESSES) if sides[0][name] != sides[1][name] else None
        else:
            found = _describe_membership(site, name, come=name in sides[1])
        if found:
            said[found[0]] = found[1]
    said = said or {routes: MAGLEV}
    return "; ".join(said), "; ".join(dict.fromkeys(said.values()))


def _describe_membership(site: SiteChange, name: str, *, come: bool) -> tuple[str, str] | None:
    """What a host's addition or removal does, and its source; None where the keys say it all."""
    if site.before is None or site.after is None:
        return None
    old, new = (next((h for h in e.fleet.hosts if h.name == name), None) for e in site.sides)
    if not come:
        serves = old and new and old.pool != new.pool and old.pool in pools_of(site.after)
        return (_SAID["unasked"], POOLS) if serves else None
    if old is None:
        return _SAID["installed"], HEALTH
    if new and old.pool != new.pool and old.pool not in pools_of(site.after):
        return _SAID["of_another_pool"], f"{POOLS}; {HEALTH}"
    return _SAID["started"], HEALTH


def unserved(before: Side, after: Side) -> tuple[frozenset[str], frozenset[str]]:
    """Lines that go from the list of a side, or come to it, and that no machine is less or more
    for: they are spares, without a server. Which they are is up to Cluster API; another choice
    moves about as many keys."""
    found: tuple[set[str], set[str]] = (set(), set())
    for group in after.fleet.groups:
        old = before.fleet.group_of_owner.get(group.owner)
        if old is None:
            continue
        more = group.replicas - old.replicas
        went = [h.name for h in old.hosts if h.name not in after.fleet.group_of_host]
        came = [h.name for h in group.hosts if h.name not in before.fleet.group_of_host]
        found[0].update(went[max(0, -more) + len(came) :])
        found[1].update(came[max(0, more) + len(went) :])
    return frozenset(found[0]), frozenset(found[1])


def joining(before: Side, after: Side) -> int:
    """How many hosts are new in the list and have no server before they are installed (again)."""
    idle = unserved(before, after)[1]
    pools, keeping = {host.name: host.pool for host in before.fleet.hosts}, pools_of(after)
    listed_before = {host.name for host in hosts_of(before)}
    came = [h for h in hosts_of(after) if h.name not in listed_before and h.name not in idle]
    return sum(pools.get(h.name) != h.pool and pools.get(h.name) not in keeping for h in came)


def _keys(part: Any) -> Iterator[str]:
    """The keys of the endpoints in a part of the file."""
    if isinstance(part, Mapping):
        key = mapping(dict(part), "metadata", "filter_metadata", "envoy.lb").get("hash_key")
        if isinstance(key, str):
            yield key
            return
        part = list(part.values())
    if isinstance(part, list):
        for each in part:
            yield from _keys(each)
