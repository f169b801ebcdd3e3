"""The fast network: links by rail, their errors, and hosts with a fault of it."""

from components.making.promql import one_of
from components.making.told import Told
from components.making.watch import Board
from components.monitoring.dashboards.nodes import by_node
from schemas.facts.site import Site

TOLD = Told(__file__)
FAULTS = {"network-link-down", "network-link-errors", "fabric-down"}
"""Those that the detector sees of it."""


def fabric(site: Site) -> list[Board]:
    """The dashboard of links by rail, by node_exporter's own collectors; none where pods ask for no
    network device."""
    devices = [pool.network_devices for pool in site.file.pools]
    shared = {name for found in devices for each in found.rdma for name in each.interfaces}
    divided = {name for found in devices for each in found.sriov for name in each.interfaces}
    if not shared | divided:
        return []
    rails = one_of(sorted(shared | divided))
    panels = TOLD.panels("links", **by_node(site, TOLD, "link", f'device=~"{rails}"'))
    if any(found.rails() for found in devices):
        panels += TOLD.panels("ports", **by_node(site, TOLD, "port"))
    seen = {f"{fault}" for pool in site.file.pools for fault in site.faults(pool)} & FAULTS
    if seen:
        panels += TOLD.panels("faults", kinds=one_of(sorted(seen)))
    return [TOLD.board(panels)]
