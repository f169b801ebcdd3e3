"""Nodes: disks and the pods that fill them, memory, and devices."""

from components.making.promql import RATE, Exporter, by
from components.making.told import Told
from components.making.watch import Board
from components.monitoring.alerts.nodes import join_node
from schemas.facts.site import Site

NODE, KUBELET, STATE = Exporter.NODE_EXPORTER, Exporter.KUBELET, Exporter.KUBE_STATE_METRICS
REAL = 'fstype!~"tmpfs|overlay|squashfs|ramfs"'
"""File systems that lie on a disk."""
TOLD = Told(__file__)


def nodes(site: Site) -> Board:
    """The dashboard of hosts."""
    disks, every = by(site, NODE, REAL), by(site, NODE)
    share = f"(1 - node_filesystem_avail_bytes{disks} / node_filesystem_size_bytes{disks})"
    files = f"(1 - node_filesystem_files_free{disks} / (node_filesystem_files{disks} > 0))"
    works = f"rate(node_disk_io_time_seconds_total{every}[{RATE}])"
    free = f"(node_memory_MemAvailable_bytes{every} / node_memory_MemTotal_bytes{every})"
    panels = TOLD.panels(
        "disks",
        share=of_nodes(site, share, "mountpoint"),
        files=of_nodes(site, files, "mountpoint"),
        works=of_nodes(site, works, "device"),
    )
    panels += TOLD.panels(
        "pressure",
        pressed=by(site, STATE, 'condition=~"DiskPressure|MemoryPressure"', 'status="true"'),
        pods=by(site, KUBELET, 'pod!=""'),
        free=of_nodes(site, free),
    )
    return TOLD.board(panels)


def of_nodes(site: Site, query: str, *more: str) -> str:
    """A query of node_exporter's series by ``node``, and by further labels of theirs."""
    return f"max by ({', '.join(('node', *more))}) ({join_node(site, query)})"
