"""Snapshots of etcd: what a site file may say of them.

What must hold between values is in schemas/rules/etcd_snapshots.py.
"""

from typing import Annotated

from pydantic import Field

from schemas.model.addresses import HttpUrl, Server
from schemas.model.primitives import AbsolutePath, DnsLabel, ImageReference, Model, SecretName

NAMESPACE = "etcd-snapshots"
"""Namespace of the snapshot Jobs, on every site that has them; Foresite makes it."""
CREDENTIALS_KEY = "credentials"
"""Key of the Secret: a shared credentials file, as AWS's tools write it."""


class SnapshotBucket(Model):
    """A bucket of an S3-compatible store."""

    endpoint: HttpUrl
    """https URL of the store."""
    bucket: Annotated[
        str, Field(pattern=r"^[a-z0-9][-a-z0-9.]{1,61}[a-z0-9]$", examples=["etcd-snapshots"])
    ]
    """Name of the bucket; snapshots are in the folder <site>."""
    region: DnsLabel | None = None
    """Region that requests are signed for, where the store has one."""
    secret: SecretName = "etcd-snapshots"  # noqa: S105 - its name
    """Secret in the namespace etcd-snapshots whose key ``credentials`` is a shared credentials file
    of AWS."""


class SnapshotExport(Model):
    """A folder that an NFS server exports."""

    server: Server
    """Name or address of the server."""
    path: AbsolutePath
    """Path of the exported folder; snapshots are in the folder <site> in it."""


class EtcdSnapshots(Model):
    """Snapshots of the cluster's etcd, in exactly one of ``s3``, ``nfs`` and ``claim``."""

    image: ImageReference
    """Image with etcdctl and etcdutl, of etcd's minor version."""
    upload_image: ImageReference
    """Image with rclone."""
    every_hours: Annotated[int, Field(ge=1, le=24)] = 6
    """Hours between snapshots; an alert fires when three in a row are missing."""
    keep_days: Annotated[int, Field(ge=1, le=365)] = 14
    """Days after which a snapshot is deleted; only a newer one that is stored deletes it."""
    s3: SnapshotBucket | None = None
    """Bucket that snapshots are uploaded to."""
    nfs: SnapshotExport | None = None
    """NFS export that snapshots are copied to."""
    claim: DnsLabel | None = None
    """PersistentVolumeClaim in the namespace etcd-snapshots that snapshots are copied to; you make
    it. Its volume is reachable from each control-plane host, and is not on their disks."""
