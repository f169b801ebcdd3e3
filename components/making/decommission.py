"""The remains of a site that ends: its registered hosts, until its file is gone as well.

Cluster API takes the machines away with the Cluster; the Metal3 provider has each host wiped and
gives it up (CAPM3 1.13.2, baremetal/metal3machine_manager.go, Delete), and for that needs the
BareMetalHosts and the credentials of their BMCs. So these stay, and nothing guards them any more.

What it gives up, Pulumi must know to be protected no more before it can be left out, and the
cluster to be free for deletion. So it is registered once more with that alone changed, as it stands
in Pulumi's state, and not as the site's file would make it: nothing is made anew.
"""

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from components.making.manifest import ARGO_GUARDS, ARGO_OPTIONS, FLUX_GUARD, Json, Manifest, Target
from schemas.facts.site import Site
from schemas.kubernetes.node_labels import OWN_DOMAIN

MAY_BE_DELETED = f"{OWN_DOMAIN}/may-be-deleted"
"""On an object whose deletion is meant: why. The management cluster's policies on deletions ask for
it (policies/cluster)."""
REMAINING = frozenset(
    {"Namespace", "BareMetalHost", "Secret", "ExternalSecret", "SecretStore", "ClusterSecretStore"}
)
"""Kinds on the management cluster that stay until the site's file is gone."""


def remaining(site: Site, manifests: Iterable[Manifest]) -> list[Manifest]:
    """Those of a component's objects that the site still has; all, unless it is decommissioned."""
    if site.file.decommission is None:
        return list(manifests)
    reason = site.file.decommission.reason
    return [
        each._replace(body=permit_deletion(each.body, reason), protect=False, keep=False)
        for each in manifests
        if each.target is Target.MANAGEMENT and each.kind in REMAINING
    ]


def permit_deletion(body: Mapping[str, Any], reason: str) -> Json:
    """An object that may be deleted: an annotation says so, and the guards against Argo CD and Flux
    are gone. Bodies are never changed in place."""
    metadata = body["metadata"]
    annotations = dict(metadata.get("annotations") or {})
    options = [each.strip() for each in str(annotations.pop(ARGO_OPTIONS, "")).split(",")]
    kept = [each for each in options if each and each not in ARGO_GUARDS.values()]
    if kept:
        annotations[ARGO_OPTIONS] = ",".join(kept)
    for name in FLUX_GUARD:
        annotations.pop(name, None)
    annotations[MAY_BE_DELETED] = reason
    return {**body, "metadata": {**metadata, "annotations": annotations}}


VARIABLE = "FORESITE_LEAVING"
"""The environment variable with the path of the file that lists them; ``foresite up`` writes it."""


class ReleasedObject(NamedTuple):
    """An object: its component's class, Pulumi type, logical name, cluster, and body as applied."""

    component: str
    token: str
    name: str
    target: Target
    body: Json

    @property
    def is_forgotten(self) -> bool:
        """True if Pulumi only forgets it: an object of the site's own cluster goes with the
        cluster, whose disks are wiped. To delete it before would take objects that jobs use until
        they are drained, and would wait for controllers that are deleted too."""
        return self.target is Target.SITE

    @property
    def goes_first(self) -> bool:
        """True if all others wait for it: Cluster API takes the machines of a Cluster away in
        order. Until the Cluster is gone it needs the objects that the Cluster refers to (Cluster
        API 1.13, internal/controllers/cluster/cluster_controller.go, reconcileDelete)."""
        start, end = "kubernetes:cluster.x-k8s.io/", ":Cluster"
        return self.token.startswith(start) and self.token.endswith(end)

    def last_body(self, reason: str) -> Json:
        """The body as it is registered for the last time; ``reason`` is the end's."""
        return self.body if self.is_forgotten else permit_deletion(self.body, reason)


def format_release(objects: list[ReleasedObject]) -> str:
    """The file's text."""
    return json.dumps([each._asdict() for each in objects])


def read(path: Path) -> list[ReleasedObject]:
    """The objects of a file that :func:`format_release` made."""
    rows = json.loads(path.read_text(encoding="utf-8"))
    return [ReleasedObject(**{**each, "target": Target(each["target"])}) for each in rows]
