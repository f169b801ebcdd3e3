"""Which hosts a change of accelerators concerns."""

from collections.abc import Callable, Iterable, Mapping

from components.accelerators.names import Served, served
from components.effects.applying import effect
from components.effects.placement import Fit, running
from components.effects.pods import on_both
from components.effects.vocabulary import Effect, FieldChange, Impact, ObjectChange, SiteChange
from schemas.facts.feature_gates import operated
from schemas.facts.site import Site

Chosen = Callable[[Site, Served], bool]
NOBODY = "; but on no host of the site"


def hosts_where(site: SiteChange, chosen: Chosen) -> dict[str, Fit]:
    """The hosts of pools that are chosen on either side, as far as both sides have them.

    Whether the operator acts on them is up to labels that node feature discovery sets.
    """
    found: dict[str, Fit] = {}
    for side in site.sides:
        for each in served(side.site):
            if chosen(side.site, each):
                found |= {host.name: Fit.MAYBE for host in side.site.hosts_of(each.pool)}
    return on_both(site, found)


def by_operator(site: Site, each: Served) -> bool:
    """Whether the GPU operator serves a pool."""
    return operated(site, each.model)


def concerning(
    site: SiteChange,
    told: Effect,
    hosts: Mapping[str, Fit],
) -> Effect:
    """``told``, on these hosts; on none of them nothing happens."""
    count = running(site.side, hosts)
    if not hosts or count == 0:
        return told._replace(impact=Impact.NONE, why=told.why + NOBODY, at_once=None)
    return told._replace(hosts=tuple(hosts), at_most=count)


def unsure(
    change: ObjectChange,
    field: FieldChange | None,
    words: tuple[str, str],
    hosts: Iterable[str],
) -> Effect:
    """Nobody can tell what becomes of these hosts; ``words`` are why and the source."""
    found = tuple(hosts)
    impact = Impact.UNKNOWN if found else Impact.NONE
    why, source = words
    why = why if found else why + NOBODY
    return effect(change, field, impact, why, source)._replace(hosts=found)
