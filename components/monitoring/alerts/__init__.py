"""The rule groups of a site as a whole, recordings and alerts; components hand over their own."""

from collections.abc import Sequence

from components.making.manifest import Json
from components.making.watch import Alert, Group, Scrape, Watched
from components.monitoring import fleet
from components.monitoring.alerts import capacity, disks, inventory, nodes, watched
from schemas.facts.site import Site

INTERVAL = "1m"
"""Time between two evaluations of the rules."""


def groups(site: Site, components: Sequence[Watched]) -> list[Json]:
    """Prometheus rule groups (name, interval, rules) of a site; none where nothing watches it."""
    monitoring = site.file.monitoring
    if monitoring is None:
        return []
    found = [
        Group("inventory", inventory.rules(site), place=0),
        Group("capacity", capacity.rules(site), place=1),
        Group("nodes", nodes.rules(site), place=6),
        Group("disks", disks.rules(site, monitoring.thresholds), place=7),
        Group("fleet", fleet.rules(site), place=9),
        *(group for each in components for group in each.groups),
    ]
    last = Group("watched", watched.rules(site, scrapes(components)))
    ordered = [*sorted(found, key=lambda each: each.place), last]
    return [_group(each) for each in ordered if each.rules]


def scrapes(components: Sequence[Watched]) -> list[Scrape]:
    """All that Prometheus asks on a site, in a fixed order."""
    found = (scrape for each in components for scrape in each.scrapes)
    return sorted(found, key=lambda each: each.place)


def _group(group: Group) -> Json:
    made = [each.rule() if isinstance(each, Alert) else each for each in group.rules]
    return {"name": group.name, "interval": INTERVAL, "rules": made}
