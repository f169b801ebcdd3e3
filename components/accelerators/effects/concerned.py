"""The hosts that a change of accelerators concerns."""

from collections.abc import Callable, Iterable, Mapping

from components.accelerators.names import Served, served_pools
from components.effects import Effect, Field, FieldChange, Impact, ObjectChange, Side, SiteChange
from components.effects.applying import effect
from components.effects.placement import Fit, running
from components.effects.pods import on_both
from components.source import site_of
from schemas.facts.feature_gates import api_server_gates, runtime_config, uses_gpu_operator
from schemas.facts.site import Site
from schemas.model.accelerators import DevicePlugin

Chosen = Callable[[Site, Served], bool]
NOBODY = "; but on no host of the site"


def hosts_where(site: SiteChange, chosen: Chosen) -> dict[str, Fit]:
    """The hosts of pools that are chosen on either side, as far as both sides have them. Labels of
    node feature discovery decide whether the operator acts on them."""
    found: dict[str, Fit] = {}
    for side in site.sides:
        site_there = site_of(side)
        for each in served_pools(site_there):
            if chosen(site_there, each):
                hosts = side.fleet.hosts_of(each.pool.name)
                found |= {host.name: Fit.MAYBE for host in hosts}
    return on_both(site, found)


def served_on_sides(site: SiteChange) -> list[Served]:
    """The served pools of the state before, then those of the state after."""
    return [each for side in site.sides for each in served_pools(site_of(side))]


def otherwise_served(site: SiteChange, _change: ObjectChange, _field: Field) -> bool:
    """True if the control plane is to serve other APIs, or has other feature gates."""
    sites = [site_of(side) for side in site.sides]
    return len({str((api_server_gates(each), runtime_config(each))) for each in sites}) > 1


def changes_allocation(site: SiteChange) -> bool:
    """True if devices get to pods in another way."""
    found = [site_of(side).file.accelerators for side in site.sides]
    ways = [each.model_by for each in found if each]
    return len(ways) == 2 and ways[0] is not ways[1]


def plugin_record(side: Side | None, pool: str) -> DevicePlugin | None:
    """The device plugin of a pool on one side; None where none runs."""
    if side is None or side.fleet.context is None:
        return None
    every = served_pools(site_of(side))
    return next((each.record.plugin for each in every if each.pool.name == pool), None)


def by_operator(site: Site, each: Served) -> bool:
    """True if the GPU operator serves a pool."""
    return uses_gpu_operator(site, each.model)


def concerning(site: SiteChange, told: Effect, hosts: Mapping[str, Fit]) -> Effect:
    """``told``, on these hosts; on none of them nothing happens."""
    count = running(site.side, hosts)
    if not hosts or count == 0:
        return told._replace(impact=Impact.NONE, why=told.why + NOBODY, at_once=None)
    return told._replace(hosts=tuple(hosts), at_most=count)


def unsure(
    change: ObjectChange, field: FieldChange | None, words: tuple[str, str], hosts: Iterable[str]
) -> Effect:
    """Nobody can tell what becomes of these hosts; ``words`` are why and the source."""
    found, (why, source) = tuple(hosts), words
    if not found:
        return effect(change, field, Impact.NONE, why + NOBODY, source)
    return effect(change, field, Impact.UNKNOWN, why, source, hosts=found)
