"""The fast network: links by rail, and their errors. Faults of it are with all others."""

from collections.abc import Mapping

from components.making.promql import RATE, Exporter, by, one_of
from components.making.told import Told
from components.making.watch import Board
from components.monitoring.dashboards.nodes import of_nodes
from schemas.facts.site import Site

LINKS = {
    "up": "node_network_up{0}",
    "flaps": "increase(node_network_carrier_changes_total{0}[1d])",
    "errors": "rate(node_network_receive_errs_total{0}[{rate}])",
}
"""Of an interface, by the names that the queries in fabric.toml give them."""
PORTS = {
    "passive": "(node_infiniband_state_id{0} != bool 4)",
    "speed": "node_infiniband_rate_bytes_per_second{0}",
    "sent": "rate(node_infiniband_port_data_transmitted_bytes_total{0}[{rate}])",
    "bad": "increase(node_infiniband_port_errors_received_total{0}[1h])",
    "downed": "increase(node_infiniband_link_downed_total{0}[1d])",
}
"""Of a device that does RDMA; 4 is active (node_exporter 1.10.2, collector/infiniband_linux.go)."""
TOLD = Told(__file__)


def fabric(site: Site) -> list[Board]:
    """The dashboard of links by rail, by node_exporter's own collectors; none where pods ask for no
    network device."""
    devices = [pool.network_devices for pool in site.file.pools]
    shared = {name for found in devices for each in found.rdma for name in each.interfaces}
    divided = {name for found in devices for each in found.sriov for name in each.interfaces}
    if not shared | divided:
        return []
    rails = one_of(sorted(shared | divided))
    panels = TOLD.panels("links", **_queries(site, LINKS, f'device=~"{rails}"'))
    if any(found.rails() for found in devices):
        panels += TOLD.panels("ports", **_queries(site, PORTS))
    return [TOLD.board(panels)]


def _queries(site: Site, queries: Mapping[str, str], *matchers: str) -> dict[str, str]:
    """Queries of node_exporter's series by the node's name and the device's."""
    chosen = by(site, Exporter.NODE_EXPORTER, *matchers)
    return {
        name: of_nodes(site, query.format(chosen, rate=RATE), "device")
        for name, query in queries.items()
    }
