"""Snapshots of etcd: a CronJob, whose changes the next Job alone takes up."""

from collections.abc import Mapping

from components.effects.vocabulary import Action
from tests.verdicts.cachesites import tokyo
from tests.verdicts.edits import DIGEST, applied, site
from tests.verdicts.row import Expected, Row

_NEXT = (
    "Kubernetes 1.34.3, pkg/controller/cronjob/cronjob_controllerv2.go: a changed template is that "
    "of the next Job; Jobs that run stay as they are"
)
_S3 = "    store: https://s3.tokyo-1.example/etcd-snapshots\n"
_CHANGES: Mapping[str, tuple[str, str]] = {
    "the image with etcdctl": ("etcd:v3.6.6@sha256:3a1d", f"etcd:v3.6.7@sha256:{DIGEST[:4]}"),
    "the image with rclone": ("rclone:1.71.2", "rclone:1.71.3"),
    "more often": (_S3, f"{_S3}    every_hours: 2\n"),
    "kept for longer": (_S3, f"{_S3}    keep_days: 30\n"),
    "another bucket": (_S3, _S3.replace("etcd-snapshots", "others")),
    "a region": (_S3, f"{_S3}    region: jp-1\n"),
    "another Secret": (_S3, f"{_S3}    secret: keys\n"),
    "an NFS export": (_S3, "    store: nfs://10.16.0.9/snapshots\n"),
    "a claim": (_S3, "    store: claim:snapshots\n"),
}
_SECTION = f"""  etcd_snapshots:
    image: registry.example/etcd/etcd:v3.6.6@sha256:{DIGEST}
    upload_image: registry.example/etcd/rclone:1.71.2@sha256:{DIGEST}
{_S3}"""
ROWS = (
    *(
        Row(
            f"snapshots of etcd: {name}",
            (tokyo(old, new),),
            {"tokyo-1": Expected(actions={"CronJob/etcd-snapshot": Action.CHANGED})},
            _NEXT,
            (applied("tokyo-1"),),
        )
        for name, (old, new) in _CHANGES.items()
    ),
    Row(
        "snapshots of etcd: they are taken from now on",
        (site("lab-1", "flannel.yaml}\n", f"flannel.yaml}}\n{_SECTION}"),),
        {"lab-1": Expected(actions={"*/etcd-snapshot*": Action.ADDED})},
        _NEXT,
        (applied("lab-1"),),
    ),
)
