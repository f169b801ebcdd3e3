"""Disks of nodes that fill up, with the pod that writes most."""

from pathlib import PurePosixPath

from components.making.manifest import Json
from components.making.promql import NODES, one_of
from components.making.told import Told
from components.making.watch import Alert, record
from components.monitoring.alerts.nodes import join_node
from schemas.facts.site import Site
from schemas.model.monitoring import Thresholds

WRITES = "foresite:pod_disk_writes:rate1h"
CULPRIT = (
    "{{ range query (printf `topk(1, " + WRITES + "{node=%q})` $labels.node) }}"
    "; {{ .Labels.namespace }}/{{ .Labels.pod }} writes most{{ end }}"
)
TOLD = Told(__file__)


def rules(site: Site, limits: Thresholds) -> list[Json | Alert]:
    """Recording rules and alerts on disks."""
    told = TOLD.at(site)
    return [
        record("node_disk_used:ratio", _used_share(site)),
        *told.records("writes"),
        told.alert("NodeDiskUsed", percent=limits.disk_used_percent, culprit=CULPRIT),
        told.alert("NodeDiskPressure", culprit=CULPRIT),
    ]


def _used_share(site: Site) -> str:
    """The used share by node and mount point, of real disks alone. The disk where the cache keeps
    objects does not count: the cache fills it on purpose. Volumes of pods are their owners'."""
    share = TOLD.at(site).table("used")["share"]
    found = f"max by (node, mountpoint) ({join_node(site, share)})"
    nodes = f'{NODES}{{pool=~"{one_of(pool.name for pool in site.cache_pools())}"}}'
    paths = _of_cache(site)
    of_cache = (f'label_replace({nodes}, "mountpoint", "{path}", "", "")' for path in paths)
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
