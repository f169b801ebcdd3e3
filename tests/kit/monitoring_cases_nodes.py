"""Cases of the alerts on nodes, their accelerators and disks."""

from tests.kit.monitoring_promtool import Case, Ramp, World
from tests.kit.monitoring_worlds import LAB, LABS, NODE, NODES, TOKYO, condition, k, s, without


def exported(metric: str, **labels: object) -> str:
    """A series of node_exporter on the node."""
    return s(metric, job="node-exporter", instance="10.16.9.1:9100", **labels)


def counted(reason: str) -> str:
    """The detector's counter of what it read in the node's kernel log."""
    own = {"node": NODE, "instance": "10.16.9.1:20257", "reason": reason}
    return s("problem_counter", job="node-problem-detector", **own)


def dcgm(metric: str) -> str:
    """A series of a card of the node."""
    own = {"pod": "exporter-x", "gpu": 3, "UUID": "GPU-3", "pci_bus_id": "0000:3B:00.0"}
    return s(metric, job="dcgm-exporter", node=NODE, **own)


CARD = {"node": NODE, "gpu": "3", "UUID": "GPU-3", "pci_bus_id": "0000:3B:00.0"}
ROOT = {"mountpoint": "/", "device": "/dev/sda2", "fstype": "ext4"}
CACHE = {"mountpoint": "/srv/nvme", "device": "/dev/md0", "fstype": "xfs"}
ABOVE = {"mountpoint": "/srv", "device": "/dev/sdb", "fstype": "ext4"}
VOLUME = {
    "mountpoint": "/var/lib/kubelet/pods/a/volumes/kubernetes.io~csi/b/mount",
    "device": "/dev/sdz",
    "fstype": "xfs",
}
WRITER = {"namespace": "vision", "pod": "train-0"}
GHOST = "tokyo-1-a-045"
"""A Node that is left of a host which came back by another name, with the same address."""
DISKS: World = {
    **TOKYO,
    k("kube_node_info", node=GHOST, internal_ip="10.16.9.1"): 1,
    **condition(GHOST, "Ready", "unknown"),
    exported("node_filesystem_size_bytes", **VOLUME): 100,
    exported("node_filesystem_avail_bytes", **VOLUME): 1,
    exported("node_filesystem_size_bytes", **ROOT): 100,
    exported("node_filesystem_avail_bytes", **ROOT): 50,
    # The cache fills its disk on purpose.
    exported("node_filesystem_size_bytes", **CACHE): 100,
    exported("node_filesystem_avail_bytes", **CACHE): 1,
    k("kube_pod_info", node=NODE, uid="u", **WRITER): 1,
    k("kube_pod_info", node=NODE, uid="v", namespace="vision", pod="quiet"): 1,
    s("container_fs_writes_bytes_total", job="kubelet", container="main", **WRITER): Ramp(
        60 * 1024 * 1024
    ),
    s(
        "container_fs_writes_bytes_total",
        job="kubelet",
        container="main",
        namespace="vision",
        pod="quiet",
    ): Ramp(60),
}
UPTIME: World = {
    **LABS,
    **{
        s(metric, job="node-exporter", instance=f"{name}:9100"): value
        for name in LAB
        for metric, value in {"node_time_seconds": 1e6, "node_boot_time_seconds": 0.0}.items()
    },
}

CASES = (
    Case(
        "AcceleratorsGone",
        "tokyo-1",
        TOKYO,
        without(TOKYO, "nvidia_com_gpu"),
        {"model": "v100-sxm2-32gb"},
        "No v100-sxm2-32gb is left on any node",
        "critical",
        late=6,
    ),
    # A Node whose host is dead still says what it offered.
    Case(
        "AcceleratorsGone",
        "tokyo-1",
        TOKYO,
        {
            key: value
            for node in NODES
            for key, value in condition(node, "Ready", "unknown").items()
        },
        {"model": "v100-sxm2-32gb"},
        "No v100-sxm2-32gb is left on any node",
        "critical",
        late=6,
    ),
    Case(
        "AcceleratorsMissing",
        "tokyo-1",
        TOKYO,
        {k("kube_node_status_allocatable", node=NODE, resource="nvidia_com_gpu"): 6},
        {"node": NODE, "pool": "v100", "model": "v100-sxm2-32gb"},
        f"{NODE} offers 2 accelerators fewer than it has",
    ),
    Case(
        "AcceleratorXid",
        "tokyo-1",
        {**TOKYO, counted("Xid48"): Ramp(0), counted("OOMKilling"): Ramp(1)},
        {counted("Xid48"): Ramp(1)},
        {"node": NODE, "reason": "Xid48"},
        f"{NODE}: an accelerator reported Xid48",
        back=70,
    ),
    Case(
        "AcceleratorXid",
        "tokyo-1 undetected",
        {**TOKYO, dcgm("DCGM_FI_DEV_XID_ERRORS"): 13},
        {dcgm("DCGM_FI_DEV_XID_ERRORS"): 48},
        CARD,
        f"{NODE}: accelerator 3 (GPU-3) reported XID 48",
    ),
    Case(
        "ImagesChooseDevices",
        "tokyo-1",
        {**TOKYO, counted("ImagesChooseDevices"): Ramp(0)},
        {counted("ImagesChooseDevices"): Ramp(1)},
        {"node": NODE},
        f"{NODE} gives its GPUs to every image that asks for them",
        back=70,
    ),
    Case(
        "AcceleratorMemoryWornOut",
        "tokyo-1",
        {**TOKYO, dcgm("DCGM_FI_DEV_ROW_REMAP_FAILURE"): 0},
        {dcgm("DCGM_FI_DEV_ROW_REMAP_FAILURE"): 1},
        CARD,
        f"{NODE}: accelerator 3 (GPU-3) has no spare rows of memory left",
    ),
    Case(
        "NodeStaysOut",
        "tokyo-1",
        TOKYO,
        condition(NODE, "Ready", "unknown"),
        {"node": NODE, "pool": "v100", "model": "v100-sxm2-32gb"},
        f"{NODE} is not ready, and Cluster API does not help",
        late=6,
    ),
    Case(
        "PoolTooSmall",
        "lab-1",
        {**LABS, **condition(LAB[0], "Ready", "unknown")},
        condition(LAB[1], "Ready", "unknown"),
        {"pool": "lab"},
        "Only 1 nodes of pool lab are ready",
        late=6,
    ),
    Case(
        "PoolDown",
        "lab-1",
        {**LABS, **condition(LAB[0], "Ready", "unknown")},
        condition(LAB[1], "Ready", "unknown"),
        {"pool": "lab"},
        "1 of 3 nodes of pool lab are ready",
        "critical",
        late=6,
    ),
    Case(
        "NodesMissing",
        "lab-1",
        LABS,
        without(LABS, LAB[2]),
        {"pool": "lab"},
        "Pool lab has 2 nodes of 3",
        late=7,
    ),
    Case(
        "NodeDiskUsed",
        "tokyo-1",
        DISKS,
        {exported("node_filesystem_avail_bytes", **ROOT): 10},
        {"node": NODE, "mountpoint": "/"},
        f"{NODE}: / is 90 % full; vision/train-0 writes most",
    ),
    # Only the disk that the cache is on may be full.
    Case(
        "NodeDiskUsed",
        "tokyo-1",
        {**DISKS, exported("node_filesystem_size_bytes", **ABOVE): 100},
        {exported("node_filesystem_avail_bytes", **ABOVE): 10},
        {"node": NODE, "mountpoint": "/srv"},
        f"{NODE}: /srv is 90 % full; vision/train-0 writes most",
    ),
    Case(
        "NodeDiskPressure",
        "tokyo-1",
        {**DISKS, **condition(NODE, "DiskPressure", "false")},
        condition(NODE, "DiskPressure", "true"),
        {"node": NODE},
        f"{NODE} evicts pods, as its disk is full; vision/train-0 writes most",
    ),
)
