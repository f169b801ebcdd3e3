"""The CRDs as manifests that an API server takes."""

from typing import Any

from schemas.objects import store


def load_crds() -> list[dict[str, Any]]:
    """Installable CustomResourceDefinitions, sorted by name; the caller may change them.

    Each has its stored version only, the extensions and CEL rules as upstream has them, and the
    labels by which Cluster API finds a version. There are no texts, so ``kubectl explain`` has
    nothing to say about them.
    """
    files = sorted({kind.file for kind in store.kinds().values() if not kind.native})
    return [_manifest(store.read(file)) for file in files]


def _manifest(crd: dict[str, Any]) -> dict[str, Any]:
    name = f"{crd['names']['plural']}.{crd['group']}"
    metadata = {"name": name, "labels": crd["labels"]} if crd["labels"] else {"name": name}
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": metadata,
        "spec": {key: crd[key] for key in ("group", "names", "scope", "versions")},
    }
