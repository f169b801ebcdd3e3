"""Snapshots of etcd: a CronJob on the control plane (objects.yaml), in a namespace of its own."""

from pathlib import Path

from components.making.daemons import container, namespace
from components.making.manifest import Json, Manifest, Target, annotate, labels
from components.making.taints import tolerations
from components.making.told import fill_template
from schemas.facts.site import Site
from schemas.model.etcd_snapshots import CREDENTIALS_KEY, NAMESPACE, EtcdSnapshots, SnapshotBucket

COMPONENT = "etcd-snapshots"
NAME = "etcd-snapshot"
RESOURCES = ("100m", "1Gi")
"""Of each step: most memory that etcdutl takes is page cache, which the kernel takes back."""
_JOB = {"fieldPath": "metadata.labels['batch.kubernetes.io/job-name']"}
_STORE, _CREDENTIALS = "/store", "/credentials"


def objects(site: Site) -> list[Manifest]:
    """The objects of the component; none where the site asks for no snapshots."""
    snapshots = site.file.cluster.etcd_snapshots
    if snapshots is None:
        return []
    folder = f"{f'store:{snapshots.s3.bucket}' if snapshots.s3 else _STORE}/{site.name}"
    (body,) = fill_template(
        Path(__file__).with_suffix(".yaml"),
        namespace=NAMESPACE,
        labels={**labels(site.name, COMPONENT), "app.kubernetes.io/name": NAME},
        # Not at the minute at which everybody's Jobs start.
        schedule=f"17 */{snapshots.every_hours} * * *",
        tolerations=tolerations([site.control_plane]),
        image=snapshots.image,
        upload_image=snapshots.upload_image,
        folder=folder,
        file=f"{folder}/$(JOB).db",
        min_age=f"--min-age={snapshots.keep_days}d",
        store=_store(snapshots),
    )
    pod = body["spec"]["jobTemplate"]["spec"]["template"]["spec"]
    for steps in ("initContainers", "containers"):
        pod[steps] = [_step(each, snapshots.s3) for each in pod[steps]]
    cron_job = Manifest(f"CronJob/{NAME}", body, target=Target.SITE)
    return annotate([namespace(site, NAMESPACE, COMPONENT, "privileged"), cron_job])


def _step(said: Json, bucket: SnapshotBucket | None) -> Json:
    """A container of the template, with what all of them have, and what rclone needs."""
    env: list[Json] = [{"name": "JOB", "valueFrom": {"fieldRef": _JOB}}]
    mounts: list[Json] = [{"name": "work", "mountPath": "/work"}]
    if said["command"][0] == "rclone":
        path = {"mountPath": _CREDENTIALS, "readOnly": True} if bucket else {"mountPath": _STORE}
        mounts.append({"name": "store", **path})
        env += _remote(bucket) if bucket else []
    return container(resources=RESOURCES, **{"env": env, "volumeMounts": mounts, **said})


def _remote(bucket: SnapshotBucket) -> list[Json]:
    """The remote ``store`` of rclone. Rights to the objects of its bucket are enough."""
    settings = {
        "TYPE": "s3",
        "PROVIDER": "Other",
        "ENDPOINT": bucket.endpoint,
        "REGION": bucket.region or "",
        "ENV_AUTH": "true",
        "SHARED_CREDENTIALS_FILE": f"{_CREDENTIALS}/{CREDENTIALS_KEY}",
        "NO_CHECK_BUCKET": "true",
    }
    return [
        {"name": f"RCLONE_CONFIG_STORE_{name}", "value": value}
        for name, value in settings.items()
        if value
    ]


def _store(snapshots: EtcdSnapshots) -> Json:
    """The volume with the bucket's Secret, or with the folder that snapshots are copied to."""
    if snapshots.s3:
        return {
            "name": "store",
            "secret": {"secretName": snapshots.s3.secret, "defaultMode": 0o400},
        }
    if snapshots.nfs:
        return {"name": "store", "nfs": snapshots.nfs.model_dump()}
    return {"name": "store", "persistentVolumeClaim": {"claimName": snapshots.claim}}
