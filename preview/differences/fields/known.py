"""Known facts of data inside the texts of files: which of its lists have keys.

No schema of Kubernetes speaks of such data. Without a key an item is told by its index, which says
nothing to who looks for a host among hundreds.

Sources: Envoy 1.39, api/envoy/config/bootstrap/v3, cluster/v3, listener/v3, endpoint/v3 (names are
unique; the order of hosts means nothing to a table that is built from their sorted keys); the
operator's bucket configuration (one bucket of each name).
"""

from pathlib import Path
from typing import Any

import yaml

from preview.differences.fields.kinds import NOTHING, Field
from schemas.kubernetes.objects.dialect import Schema

_ASSIGNMENT = "envoy.config.endpoint.v3.ClusterLoadAssignment"
_SCHEMAS: dict[str, Schema] = yaml.safe_load(Path(__file__).with_suffix(".yaml").read_text("utf-8"))
"""What is known of each form of document, in the words of ``KEY_PATHS``."""


def document_field(before: Any, after: Any) -> Field:
    """The known facts of two versions of a document; none where they are of different forms."""
    old, new = _form(before), _form(after)
    return Field(old) if old is not None and old is new else NOTHING


def _form(document: Any) -> Schema | None:
    if not isinstance(document, dict):
        return None
    if "static_resources" in document:
        return _SCHEMAS["bootstrap"]
    if isinstance(document.get("Bucket"), list):
        return _SCHEMAS["buckets"]
    resources = document.get("resources")
    first = resources[0] if isinstance(resources, list) and resources else None
    if isinstance(first, dict) and str(first.get("@type", "")).endswith(_ASSIGNMENT):
        return _SCHEMAS["endpoints"]
    return None
