"""Snapshots of etcd: what a site file may say of them."""

from typing import Annotated

from pydantic import Field

from schemas.model.primitives import DnsLabel, ImageReference, Model, SecretName

NAMESPACE = "etcd-snapshots"
"""Namespace of the snapshot Jobs, on every site that has them; Foresite makes it."""
CREDENTIALS_KEY = "credentials"
"""Key of the Secret: a shared credentials file, as AWS's tools write it."""
STORE = (
    r"^(?:(https://[a-z0-9.-]+(?::[0-9]{1,5})?)/([a-z0-9][a-z0-9.-]{1,61}[a-z0-9])"
    r"|nfs://([a-z0-9.-]+)(/[A-Za-z0-9._/-]+)|claim:([a-z0-9](?:[-a-z0-9]{0,61}[a-z0-9])?))$"
)
"""A bucket by endpoint and name, an NFS export by server and path, or the name of a claim. A bucket
is reached by TLS alone: a snapshot holds every Secret of the cluster."""


class EtcdSnapshots(Model):
    """Snapshots of the cluster's etcd, and the place that they are stored in."""

    image: ImageReference
    """Image with etcdctl and etcdutl, of etcd's minor version."""
    upload_image: ImageReference
    """Image with rclone."""
    store: Annotated[
        str, Field(pattern=STORE, max_length=512, examples=["https://s3.example/etcd-snapshots"])
    ]
    """Store, as https://<endpoint>/<bucket> (S3), nfs://<server>/<path> or claim:<name>."""
    region: DnsLabel | None = None
    """Region that requests to a bucket are signed for, where the store has one."""
    secret: SecretName = "etcd-snapshots"  # noqa: S105 - its name
    """Secret in the namespace etcd-snapshots whose key ``credentials`` is a shared credentials file
    of AWS; for a bucket alone."""
    every_hours: Annotated[int, Field(ge=1, le=24)] = 6
    """Hours between snapshots; an alert fires when three in a row are missing."""
    keep_days: Annotated[int, Field(ge=1, le=365)] = 14
    """Days after which a snapshot is deleted; only a newer one that is stored deletes it."""
