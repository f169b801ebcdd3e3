"""Known facts of data inside the texts of files: which of its lists have keys.

No schema of Kubernetes speaks of such data. Without a key an item is told by its index, which says
nothing to who looks for a host among hundreds.

Sources: Envoy 1.39, api/envoy/config/bootstrap/v3, cluster/v3, listener/v3, endpoint/v3 (names are
unique; the order of hosts means nothing to a table that is built from their sorted keys); the
operator's bucket configuration (one bucket of each name).
"""

from typing import Any

from preview.differences.fields.kinds import KEY_PATHS, NOTHING, Field
from schemas.kubernetes.objects.dialect import Schema

_ASSIGNMENT = "envoy.config.endpoint.v3.ClusterLoadAssignment"
_HASH_KEY = ("metadata", "filter_metadata", "envoy.lb", "hash_key")


def _keyed_list(*paths: tuple[str, ...], **fields: Schema) -> Schema:
    """A list whose items are told apart by the values at ``paths``; ``fields`` are of an item."""
    return {KEY_PATHS: paths, "items": {"properties": fields}}


def _with(**fields: Schema) -> Schema:
    return {"properties": fields}


_ENDPOINTS = _with(
    resources=_keyed_list(
        ("cluster_name",),
        endpoints=_keyed_list(
            ("locality", "region"), ("locality", "zone"), lb_endpoints=_keyed_list(_HASH_KEY)
        ),
    )
)
_BOOTSTRAP = _with(
    static_resources=_with(
        clusters=_keyed_list(("name",)),
        listeners=_keyed_list(("name",), filter_chains=_keyed_list(("name",))),
    )
)
_BUCKETS = _with(Bucket=_keyed_list(("Name",)))


def document_field(before: Any, after: Any) -> Field:
    """The known facts of two versions of a document; none where they are of different forms."""
    old, new = _form(before), _form(after)
    return Field(old) if old is not None and old is new else NOTHING


def _form(document: Any) -> Schema | None:
    if not isinstance(document, dict):
        return None
    if "static_resources" in document:
        return _BOOTSTRAP
    if isinstance(document.get("Bucket"), list):
        return _BUCKETS
    resources = document.get("resources")
    first = resources[0] if isinstance(resources, list) and resources else None
    if isinstance(first, dict) and str(first.get("@type", "")).endswith(_ASSIGNMENT):
        return _ENDPOINTS
    return None
