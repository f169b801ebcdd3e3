"""The CRDs as manifests that an API server takes."""

import json
from collections.abc import Iterable
from typing import Any

from schemas.kubernetes.objects import dialect, store
from schemas.kubernetes.objects.dialect import Schema

Kinds = dict[str, store.Kind]
_FACTS = (dialect.BOUNDS | dialect.OTHER_FACTS) - {"$ref"}


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


def brought_kinds(definitions: Iterable[dict[str, Any]]) -> Kinds:
    """The kinds of CustomResourceDefinitions that a site brings, by ``apiVersion/Kind``. Their CEL
    rules and unknown formats are left to the API server, and others to its schema."""
    found: Kinds = {}
    for each in definitions:
        try:
            spec = each["spec"]
            for version in spec["versions"]:
                name = f"{spec['group']}/{version['name']}/{spec['names']['kind']}"
                schema = {"properties": {}, **_facts(version["schema"]["openAPIV3Schema"])}
                if version["served"] is True and name not in store.kinds():
                    found[name] = store.Kind(name, spec["scope"], "", schema=schema)
        except (KeyError, TypeError, AttributeError):
            continue
    return found


def _facts(schema: Schema) -> Schema:
    """The part of a schema of others that judges values; what is not known judges none."""
    result: Schema = {key: value for key, value in schema.items() if key in _FACTS}
    if result.get("format") not in dialect.FORMATS:
        result.pop("format", None)
    if "properties" in schema:
        result["properties"] = {name: _facts(each) for name, each in schema["properties"].items()}
    for key in dialect.LISTS_OF_SCHEMAS:
        if key in schema:
            result[key] = [_facts(each) for each in schema[key]]
    for key in dialect.SCHEMAS:
        if key in schema:
            part = schema[key]
            result[key] = _facts(part) if isinstance(part, dict) else part
    return result


def _manifest(crd: dict[str, Any]) -> dict[str, Any]:
    name = f"{crd['names']['plural']}.{crd['group']}"
    metadata = {"name": name, "labels": crd["labels"]} if crd["labels"] else {"name": name}
    head = {"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition"}
    spec = {key: crd[key] for key in ("group", "names", "scope", "versions")}
    manifest = {**head, "metadata": metadata, "spec": spec}
    # what the schema repeats is one object in memory, which a change would reach twice
    return json.loads(json.dumps(manifest))  # type: ignore[no-any-return]
