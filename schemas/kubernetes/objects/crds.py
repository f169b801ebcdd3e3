"""The CRDs as manifests that an API server takes."""

import json
from collections.abc import Iterable
from typing import Any

from schemas.kubernetes.objects import store


def load_crds(kinds: Iterable[str] | None = None) -> list[dict[str, Any]]:
    """Installable CustomResourceDefinitions, sorted by name; the caller may change them.

    ``kinds`` are those to load, as ``apiVersion/Kind``; Kubernetes' own among them need no CRD.
    Without, all are loaded but the large ones: an API server takes long to serve these, so they are
    for who asks for their kinds. Raises KeyError for a kind that there is no schema of.

    Each has its stored version only, the extensions and CEL rules as upstream has them, and the
    labels by which Cluster API finds a version. There are no texts, so ``kubectl explain`` has
    nothing to say about them.
    """
    known = store.kinds()
    names = kinds if kinds is not None else [k.name for k in known.values() if not k.large]
    files = sorted({known[name].file for name in names if not known[name].native})
    return [_manifest(store.document(file)) for file in files]


def _manifest(crd: dict[str, Any]) -> dict[str, Any]:
    name = f"{crd['names']['plural']}.{crd['group']}"
    metadata = {"name": name, "labels": crd["labels"]} if crd["labels"] else {"name": name}
    manifest = {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": metadata,
        "spec": {key: crd[key] for key in ("group", "names", "scope", "versions")},
    }
    # what the schema repeats is one object in memory, which a change would reach twice
    return json.loads(json.dumps(manifest))  # type: ignore[no-any-return]
