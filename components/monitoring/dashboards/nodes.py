"""Nodes: disks and the pods that fill them, memory, and devices."""

from components.making.promql import RATE, Exporter, by
from components.making.watch import Board, Panel, panel
from components.monitoring.alerts.nodes import join_node
from schemas.facts.site import Site

NODE, KUBELET = Exporter.NODE_EXPORTER, Exporter.KUBELET
REAL = 'fstype!~"tmpfs|overlay|squashfs|ramfs"'
"""File systems that lie on a disk."""


def nodes(site: Site) -> Board:
    """The dashboard of hosts."""
    text = "Disks and the pods that fill them, memory, and GPUs."
    return Board("nodes", "Nodes and disks", text, (*_disks(site), *_pressure(site)), place=5)


def _of_nodes(site: Site, query: str, *more: str) -> str:
    """A query of node_exporter's series by ``node``, and by further labels of theirs."""
    return f"max by ({', '.join(('node', *more))}) ({join_node(site, query)})"


def _disks(site: Site) -> list[Panel]:
    disks = by(site, NODE, REAL)
    share = f"(1 - node_filesystem_avail_bytes{disks} / node_filesystem_size_bytes{disks})"
    files = f"(1 - node_filesystem_files_free{disks} / (node_filesystem_files{disks} > 0))"
    works = f"rate(node_disk_io_time_seconds_total{by(site, NODE)}[{RATE}])"
    return [
        panel(
            "Fullest disks",
            "Used share, the 20 fullest.",
            (f"topk(20, {_of_nodes(site, share, 'mountpoint')})", "{{node}} {{mountpoint}}"),
            unit="percentunit",
        ),
        panel(
            "Disks with most files",
            "Used share of the files that a file system may have, the 20 fullest.",
            (f"topk(20, {_of_nodes(site, files, 'mountpoint')})", "{{node}} {{mountpoint}}"),
            unit="percentunit",
        ),
        panel(
            "Busiest disks",
            "Share of the time in which a disk works.",
            (f"topk(20, {_of_nodes(site, works, 'device')})", "{{node}} {{device}}"),
            unit="percentunit",
        ),
    ]


def _pressure(site: Site) -> list[Panel]:
    state = Exporter.KUBE_STATE_METRICS
    pressed = by(site, state, 'condition=~"DiskPressure|MemoryPressure"', 'status="true"')
    written = "container_fs_writes_bytes_total" + by(site, KUBELET, 'pod!=""')
    free = f"node_memory_MemAvailable_bytes{by(site, NODE)}"
    total = f"node_memory_MemTotal_bytes{by(site, NODE)}"
    return [
        panel(
            "Nodes under pressure",
            "The kubelet evicts pods of them.",
            (f"kube_node_status_condition{pressed} == 1", "{{node}} {{condition}}"),
            table=True,
        ),
        panel(
            "Pods that write most on the disks of their nodes",
            "The 20 that write most. Kubelets do not report how much a pod stores there.",
            (
                f"topk(20, sum by (namespace, pod) (rate({written}[{RATE}])))",
                "{{namespace}}/{{pod}}",
            ),
            unit="Bps",
        ),
        panel(
            "Least free memory",
            "Share of a node's memory that is free, the 20 fullest.",
            (f"bottomk(20, {_of_nodes(site, f'({free} / {total})')})", "{{node}}"),
            unit="percentunit",
        ),
    ]
