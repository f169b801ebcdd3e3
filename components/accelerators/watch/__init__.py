"""The scrapes, alerts and panels of single accelerators."""

from components.accelerators.watch.alerts import rules
from components.accelerators.watch.dashboard import boards
from components.accelerators.watch.exporters import DCGM, scrapes
from components.making.watch import Group, Watched
from schemas.facts.site import Site


def watch(site: Site) -> Watched:
    """The data from which monitoring renders single accelerators."""
    found = scrapes(site)
    dcgm = any(each.exporter == DCGM for each in found)
    pages = boards(site, {each.exporter for each in found})
    return Watched(found, [Group("devices", rules(site, dcgm=dcgm), place=2)], [*pages])
