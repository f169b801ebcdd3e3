"""Nodes: disks and the pods that fill them, memory, and devices."""

from components.making.promql import RATE, Exporter, by
from components.making.told import Told
from components.making.watch import Board
from components.monitoring.alerts.nodes import join_node
from schemas.facts.site import Site

REAL = 'fstype!~"tmpfs|overlay|squashfs|ramfs"'
"""File systems that lie on a disk."""
TOLD = Told(__file__)


def nodes(site: Site) -> Board:
    """The dashboard of hosts."""
    told = TOLD.at(site)
    panels = told.panels("disks", **by_node(site, TOLD, "disk", REAL))
    return told.board(panels + told.panels("pressure", **by_node(site, TOLD, "host")))


def by_node(site: Site, told: Told, name: str, *matchers: str) -> dict[str, str]:
    """Queries of node_exporter's series by ``node`` and by further labels of theirs: a table of
    the data has the query and the labels of each."""
    asked = by(site, Exporter.NODE_EXPORTER, *matchers)
    return {
        key: f"max by ({', '.join(('node', *labels))}) ({join_node(site, query)})"
        for key, (query, *labels) in told.table(f"{name}_queries", asked=asked, rate=RATE).items()
    }
