"""Changes of a small site's cache, and what the rules say of them."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from components.effects.kubernetes import RULES as KUBERNETES
from components.effects.rules import Rules, judge_object
from components.effects.vocabulary import Action, Effect, Impact, Side, SiteChange
from components.machines.fleet import side_of
from components.object_cache.effects import RULES
from components.object_cache.names import COMPONENT
from components.object_cache.objects import objects
from preview.differences.compare import compare
from schemas.facts.site import Site
from schemas.reading.host_list import Host
from tests.kit import accelerator_sites
from tests.kit.object_cache_site import CACHE, SCHEDULING
from tests.kit.object_cache_site import site as plain

EVERY_RULE = Rules((*RULES, *KUBERNETES))
SERVERS = ("v100", "h100")
"""The pools that keep objects; Envoys are in all."""
ENVOYS = tuple(accelerator_sites.POOLS)
RELOADS = {"reloads_config": True}
BUCKETS = CACHE["buckets"]
Outcome = dict[str, Impact]


def site(server: Any = None, **changed: Any) -> Site:
    """The site, whose servers read their buckets again."""
    return plain({**RELOADS, **(server or {})}, **changed)


def without() -> Site:
    found = accelerator_sites.loaded(None, scheduling=SCHEDULING).site
    assert found is not None
    return found


def unnamed(of: Site) -> Site:
    """The site, whose own cluster nobody names."""
    cluster = of.file.cluster.model_copy(update={"context": None})
    return replace(of, file=of.file.model_copy(update={"cluster": cluster}))


def side(of: Site) -> Side:
    return side_of(of, {(COMPONENT, each.name): each for each in objects(of)})


def change(before: Site, after: Site) -> SiteChange:
    return compare(after.name, side(before), side(after))


def effects_of(both: SiteChange) -> list[Effect]:
    found = [each for one in both.changes.values() for each in judge_object(EVERY_RULE, both, one)]
    assert all(each.source or each.impact is Impact.UNKNOWN for each in found)
    return found


def effects(before: Site, after: Site) -> list[Effect]:
    """Every effect of a change; each says where it is known from, unless it is not known."""
    return effects_of(change(before, after))


def outcome(before: Site, after: Site) -> Outcome:
    """The worst that happens to each pool's hosts; pools to which nothing happens are left out."""
    worst: Outcome = {}
    for effect in effects(before, after):
        for pool, hosts in after.by_pool.items() if effect.impact is not Impact.NONE else ():
            names = {host.name for host in hosts}
            assert names.isdisjoint(effect.hosts) or names <= set(effect.hosts)
            if names <= set(effect.hosts):
                known = worst.get(pool, Impact.NONE)
                worst[pool] = max(known, effect.impact, key=lambda each: each.rank)
    return worst


def restarts(pools: tuple[str, ...]) -> Outcome:
    return dict.fromkeys(pools, Impact.POD_RESTART)


def said(before: Site, after: Site, name: str) -> str:
    """All that is said of one object."""
    found = [each.why for each in effects(before, after) if each.name[1] == name]
    assert found, f"nothing is said of {name}"
    return "\n".join(found)


def with_hosts(of: Site, edit: Callable[[list[Host]], object]) -> Site:
    hosts = list(of.hosts)
    edit(hosts)
    return replace(of, hosts=tuple(hosts))


def host_of(hosts: list[Host], pool: str) -> int:
    return next(index for index, host in enumerate(hosts) if host.pool == pool)


def without_one(of: Site, pool: str = "h100") -> Site:
    return with_hosts(of, lambda hosts: hosts.pop(host_of(hosts, pool)))


def readdressed(of: Site) -> Site:
    def edit(hosts: list[Host]) -> None:
        at = host_of(hosts, "h100")
        hosts[at] = hosts[at]._replace(ip="10.32.0.250")

    return with_hosts(of, edit)


def actions(before: Site, after: Site, name: str) -> set[Action | None]:
    return {each.action for each in effects(before, after) if each.name[1] == name}
