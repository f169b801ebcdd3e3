"""Disks of nodes that fill up, with the pod that writes most.

Kubelets tell no metric of the space that a pod takes: with containerd, cAdvisor leaves
container_fs_usage_bytes out (cadvisor 0.52.1, container/containerd/handler.go), and the kubelet has
it in /stats/summary alone. What a pod has written is there, and the one that wrote most is mostly
the one that fills the disk. The summary asks for it, as a label it would start the alert anew.
"""

from pathlib import PurePosixPath

from components.making.manifest import Json
from components.making.promql import NODES, Exporter, of, one_of, recent, state
from components.making.told import Told
from components.making.watch import Alert, record
from components.monitoring.alerts.nodes import join_node
from schemas.facts.site import Site
from schemas.model.monitoring import Thresholds

USED = "foresite:node_disk_used:ratio"
WRITES = "foresite:pod_disk_writes:rate1h"
VOLUMES = "/var/lib/kubelet/.*"
NO_DISKS = "tmpfs|ramfs|overlay|squashfs|iso9660|fuse.*|nfs4?|nsfs|autofs"
CULPRIT = (
    "{{ range query (printf `topk(1, " + WRITES + "{node=%q})` $labels.node) }}"
    "; {{ .Labels.namespace }}/{{ .Labels.pod }} writes most{{ end }}"
)
TOLD = Told(__file__)


def rules(site: Site, limits: Thresholds) -> list[Json | Alert]:
    """Recording rules and alerts on disks."""
    pressure = state(
        site, "kube_node_status_condition", 'condition="DiskPressure"', 'status="true"'
    )
    return [
        record("node_disk_used:ratio", _used_share(site)),
        record("pod_disk_writes:rate1h", _writes(site)),
        TOLD.alert(
            "NodeDiskUsed",
            used=recent(USED),
            percent=limits.disk_used_percent,
            culprit=CULPRIT,
        ),
        TOLD.alert("NodeDiskPressure", pressure=pressure, culprit=CULPRIT),
    ]


def _used_share(site: Site) -> str:
    """The used share by node and mount point, of real disks alone. The disk where the cache keeps
    objects does not count: the cache fills it on purpose. Volumes of pods are their owners'."""
    matchers = (f'fstype!~"{NO_DISKS}"', f'mountpoint!~"{VOLUMES}"')
    free = of(site, Exporter.NODE_EXPORTER, "node_filesystem_avail_bytes", *matchers)
    size = of(site, Exporter.NODE_EXPORTER, "node_filesystem_size_bytes", *matchers)
    share = f"(1 - {free} / ({size} > 0))"
    found = f"max by (node, mountpoint) ({join_node(site, share)})"
    pools = one_of(pool.name for pool in site.cache_pools())
    of_cache = (
        f'label_replace({NODES}{{pool=~"{pools}"}}, "mountpoint", "{path}", "", "")'
        for path in _of_cache(site)
    )
    return " unless on (node, mountpoint) ".join((found, *of_cache))


def _of_cache(site: Site) -> list[str]:
    """The mount point of the cache's disk: its folder, or the nearest one above it that the site
    file names as a disk. The root folder does not count: it is everybody's."""
    if site.file.cache is None:
        return []
    path = PurePosixPath(site.file.cache.data_path)
    named_disks = site.file.remediation.detector.disks if site.file.remediation else []
    above = [str(each) for each in path.parents if str(each) in named_disks and str(each) != "/"]
    return [str(path), *above[:1]]


def _writes(site: Site) -> str:
    """The bytes that each pod wrote in the last hour, by its node."""
    written = of(
        site, Exporter.KUBELET, "container_fs_writes_bytes_total", 'container!=""', 'pod!=""'
    )
    where = of(site, Exporter.KUBE_STATE_METRICS, "kube_pod_info", 'node!=""')
    of_pods = f"sum by (namespace, pod) (rate({written}[1h]))"
    on_node = f"max by (namespace, pod, node) ({where})"
    joined = f"{of_pods} * on (namespace, pod) group_left (node) {on_node}"
    return f"topk by (node) (3, {joined}) and on (node) {NODES}"
