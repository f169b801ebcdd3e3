"""Snapshots of etcd: each way to store them renders what the API server takes, and no more rights
than they need."""

from dataclasses import replace
from typing import Any

import pytest

from components.etcd_snapshots.objects import objects
from components.making.manifest import Json
from components.making.validation import object_problems
from schemas.facts.secret_references import secret_references
from schemas.facts.site import Site
from tests.kit.repository import all_sites

SITE = all_sites()["tokyo-1"]


def stored(**changes: Any) -> Site:
    """tokyo-1 with other snapshots; none where nothing is named."""
    cluster = SITE.file.cluster
    assert cluster.etcd_snapshots
    made = cluster.etcd_snapshots.model_copy(update=changes) if changes else None
    cluster = cluster.model_copy(update={"etcd_snapshots": made})
    return replace(SITE, file=SITE.file.model_copy(update={"cluster": cluster}))


def pod(site: Site) -> Json:
    """The spec of a Job's pod."""
    _namespace, job = objects(site)
    found: Json = job.body["spec"]["jobTemplate"]["spec"]["template"]["spec"]
    return found


def steps(site: Site) -> dict[str, Json]:
    """The containers in the order in which they run."""
    spec = pod(site)
    return {each["name"]: each for each in (*spec["initContainers"], *spec["containers"])}


NFS = {"store": "nfs://10.16.0.9/snapshots"}
STORES = [{"region": "jp-1"}, NFS, {"store": "claim:snapshots"}]


@pytest.mark.parametrize("changes", STORES, ids=["s3", "nfs", "claim"])
def test_each_way_to_store_them_is_valid(changes: Json) -> None:
    site = stored(**changes)
    assert object_problems(site, {"etcd-snapshots": objects(site)}) == []
    mounts = {
        name: {each["name"] for each in step["volumeMounts"]} for name, step in steps(site).items()
    }
    volumes = {each["name"] for each in pod(site)["volumes"]}
    assert set().union(*mounts.values()) == volumes
    # What speaks to a store never sees etcd's key, and the other way round.
    assert [name for name, used in mounts.items() if "client-key" in used] == ["save"]
    assert [name for name, used in mounts.items() if "store" in used] == ["upload", "prune"]


def test_nothing_is_deleted_before_a_newer_snapshot_is_stored() -> None:
    assert list(steps(stored(**NFS))) == ["save", "check", "restore", "upload", "prune"]
    upload, prune = (steps(stored(**NFS))[each]["command"] for each in ("upload", "prune"))
    assert upload[-2:] == ["/work/$(JOB).db", "/store/tokyo-1/$(JOB).db"]
    assert prune[2:] == ["delete", "--min-age=14d", "--include=*.db", "/store/tokyo-1"]


def test_a_site_that_asks_for_none_has_none() -> None:
    assert objects(stored()) == []


def test_the_key_of_etcds_authority_is_in_no_volume() -> None:
    paths = [each["hostPath"]["path"] for each in pod(SITE)["volumes"] if "hostPath" in each]
    assert len(paths) == 3 and not any(path.endswith(("ca.key", "/etcd")) for path in paths)


def test_the_secret_of_the_bucket_is_one_that_the_site_refers_to() -> None:
    wanted = (False, "etcd-snapshots", "etcd-snapshots", ("credentials",))
    assert wanted in secret_references(SITE)
    assert wanted not in secret_references(stored(**NFS))
