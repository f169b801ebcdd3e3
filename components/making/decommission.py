"""The remains of a site that ends: its registered hosts, until its file is gone as well.

Cluster API takes the machines away with the Cluster; the Metal3 provider has each host wiped and
gives it up (CAPM3 1.13.2, baremetal/metal3machine_manager.go, Delete), and for that needs the
BareMetalHosts and the credentials of their BMCs. So these stay, and nothing guards them any more.
"""

from collections.abc import Iterable, Mapping
from typing import Any

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
    """An object that may be deleted: an annotation says so, and the ones that keep Argo CD and Flux
    from it are gone.

    Bodies are never changed in place.
    """
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
