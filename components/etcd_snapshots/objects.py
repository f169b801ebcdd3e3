"""Snapshots of etcd: a CronJob on the control plane (objects.yaml), in a namespace of its own."""

import re
from pathlib import Path

from components.making.daemons import container, namespace
from components.making.manifest import Json, Manifest, Target, annotate, filled, labels, prune
from components.making.taints import tolerations
from schemas.facts.site import Site
from schemas.model.etcd_snapshots import CREDENTIALS_KEY, NAMESPACE, STORE, EtcdSnapshots

COMPONENT = "etcd-snapshots"
NAME = "etcd-snapshot"
RESOURCES = ("100m", "1Gi")
"""Of each step: most memory that etcdutl takes is page cache, which the kernel takes back."""
_JOB = {"fieldPath": "metadata.labels['batch.kubernetes.io/job-name']"}


def objects(site: Site) -> list[Manifest]:
    """The objects of the component; none where the site asks for no snapshots."""
    snapshots = site.file.cluster.etcd_snapshots
    if snapshots is None:
        return []
    store = _store(snapshots)
    root = store["root"]
    (body,) = filled(
        __file__,
        namespace=NAMESPACE,
        labels={**labels(site.name, COMPONENT), "app.kubernetes.io/name": NAME},
        # Not at the minute at which everybody's Jobs start.
        schedule=f"17 */{snapshots.every_hours} * * *",
        tolerations=tolerations([site.control_plane]),
        image=snapshots.image,
        upload_image=snapshots.upload_image,
        folder=f"{root}/{site.name}",
        file=f"{root}/{site.name}/$(JOB).db",
        min_age=f"--min-age={snapshots.keep_days}d",
        store={"name": "store", **store["volume"]},
    )
    pod = body["spec"]["jobTemplate"]["spec"]["template"]["spec"]
    for steps in ("initContainers", "containers"):
        pod[steps] = [_step(each, store) for each in pod[steps]]
    cron_job = Manifest(f"CronJob/{NAME}", body, target=Target.SITE)
    return annotate([namespace(site, NAMESPACE, COMPONENT, "privileged"), cron_job])


def _step(said: Json, store: Json) -> Json:
    """A container of the template, with what all of them have, and what rclone needs."""
    variables: list[Json] = [{"name": "JOB", "valueFrom": {"fieldRef": _JOB}}]
    mounts: list[Json] = [{"name": "work", "mountPath": "/work"}]
    if said["command"][0] == "rclone":
        mounts.append({"name": "store", **store["mount"]})
        given = store.get("env", {}).items()
        variables += [{"name": f"RCLONE_CONFIG_STORE_{k}", "value": value} for k, value in given]
    return container(resources=RESOURCES, **{"env": variables, "volumeMounts": mounts, **said})


def _store(snapshots: EtcdSnapshots) -> Json:
    """The place as rclone names it, its mount, its volume, and the settings of the remote."""
    found = re.fullmatch(STORE, snapshots.store)
    endpoint, bucket, server, path, claim = found.groups() if found else ("",) * 5
    values = {"endpoint": endpoint, "bucket": f"store:{bucket}", "secret": snapshots.secret}
    values |= {"server": server, "path": path, "claim": claim}
    values |= {"file": f"/credentials/{CREDENTIALS_KEY}", "region": snapshots.region or None}
    (places,) = filled(Path(__file__).with_name("store.yaml"), **values)
    return prune(places["nfs" if server else "claim" if claim else "s3"])
