"""The alerts on snapshots of etcd, by what kube-state-metrics shows of their CronJob."""

from components.etcd_snapshots.objects import NAME
from components.making.told import Told
from components.making.watch import Group, Watched
from schemas.facts.site import Site
from schemas.model.etcd_snapshots import NAMESPACE

TOLD = Told(__file__)
MISSED = 3
"""Snapshots in a row that must be missing until the alert fires."""


def watch(site: Site) -> Watched:
    """Alerts on the age of the last snapshot and on Jobs that fail; none without snapshots."""
    snapshots = site.file.cluster.etcd_snapshots
    if snapshots is None or site.file.monitoring is None:
        return Watched()
    hours, told = MISSED * snapshots.every_hours, TOLD.at(site)
    values = {"namespace": NAMESPACE, "name": NAME, "seconds": hours * 3600, "hours": hours}
    alerts = [told.alert(each, **values) for each in ("EtcdSnapshotOld", "EtcdSnapshotFails")]
    boards = [told.board(told.panels("snapshots", **values))]
    return Watched(groups=[Group("etcd", alerts)], boards=boards)
