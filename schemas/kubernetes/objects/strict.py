"""From a stored schema to a JSON Schema (draft 4) that refuses whatever the server would drop. Owns
what the stored dialect means: closed objects, null, formats, int-or-string, list keys, and the
rules of metadata that no schema holds. CEL rules are not in it: only a server can run them."""

from functools import cache

from schemas.kubernetes import forms
from schemas.kubernetes.objects import dialect, store
from schemas.kubernetes.objects.dialect import Schema
from schemas.kubernetes.objects.patterns import portable
from schemas.kubernetes.objects.store import Kind

OBJECT_META = "io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta"
REF = "#/definitions/"
Keys = frozenset[str] | None
"""The keys that some objects have, at any depth; None for all that there may be."""
_VALUE = "^([A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?)?$"
DNS_LABEL = {"type": "string", "pattern": f"^{forms.LABEL}$", "maxLength": 63}
SUBDOMAIN = {"type": "string", "pattern": f"^{forms.SUBDOMAIN}$", "maxLength": 253}
KEY = f"^({forms.SUBDOMAIN}/)?{forms.QUALIFIED}$"
LABEL_VALUE = {"type": "string", "pattern": _VALUE, "maxLength": 63}
NAMES: dict[str, Schema] = {
    "v1/Namespace": DNS_LABEL,
    "v1/Service": {"type": "string", "pattern": "^[a-z]([-a-z0-9]*[a-z0-9])?$", "maxLength": 63},
    **{
        f"rbac.authorization.k8s.io/v1/{kind}": {"type": "string", "pattern": "^[^/%]+$"}
        for kind in ("ClusterRole", "ClusterRoleBinding", "Role", "RoleBinding")
    },
}
"""Schemas of names that are no DNS subdomain, by kind (apimachinery, pkg/util/validation)."""


def build(kind: Kind, keys: Keys = None) -> Schema:
    """The strict schema of a kind, with the definitions that it refers to. With ``keys`` it is a
    part, says the same of every object with no other keys, and refuses all others."""
    result = strict(store.root(kind), keys=keys)
    api_version, _, name = kind.name.rpartition("/")
    properties = result["properties"]
    properties["apiVersion"] = {"type": "string", "enum": [api_version]}
    properties["kind"] = {"type": "string", "enum": [name]}
    properties["metadata"] = metadata(kind, keys)
    _scale(kind, properties)
    referring = result if kind.native else properties["metadata"]  # a CRD refers to nothing
    required = dict.fromkeys((*result.get("required", ()), "apiVersion", "kind", "metadata"))
    return {
        "$schema": "http://json-schema.org/draft-04/schema#",
        **result,
        "required": list(required),
        "definitions": {name: definition(name, keys) for name in sorted(reach(referring, keys))},
    }


def _scale(kind: Kind, properties: dict[str, Schema]) -> None:
    """A server reads the replicas of its scale subresource, and takes no negative number."""
    if scale := store.subresources(kind).get("scale"):
        *parents, field = scale["specReplicasPath"].removeprefix(".").split(".")
        for part in parents:
            properties = properties.get(part, {}).get("properties", {})
        if field in properties:
            properties[field]["minimum"] = max(properties[field].get("minimum", 0), 0)


def metadata(kind: Kind, keys: Keys = None) -> Schema:
    """ObjectMeta, with what a server demands of it beyond its schema. A namespaced object names its
    namespace, as a default would depend on who applies it."""
    result = dict(definition(OBJECT_META, keys))
    properties = dict(result["properties"])
    properties["name"] = NAMES.get(kind.name, SUBDOMAIN)
    properties["labels"] = _map_schema(LABEL_VALUE)
    properties["annotations"] = _map_schema({"type": "string"})
    required = ["name"]
    if kind.scope == "Namespaced":
        properties["namespace"] = DNS_LABEL
        required.append("namespace")
    else:
        properties.pop("namespace", None)
    return {**result, "type": ["object"], "properties": properties, "required": required}


def _map_schema(value: Schema) -> Schema:
    """A map whose keys are qualified names (draft 4 has no ``propertyNames``)."""
    return {"type": "object", "patternProperties": {KEY: value}, "additionalProperties": False}


@cache
def definition(name: str, keys: Keys = None) -> Schema:
    """The strict form of one of Kubernetes' definitions, shared: never change it."""
    return strict(store.definitions()[name], keys=keys)


def reach(schema: Schema, keys: Keys = None) -> set[str]:
    """The names of all definitions that a strict schema needs."""
    seen: set[str] = set()
    todo = set(dialect.references(schema))
    while todo:
        name = todo.pop()
        seen.add(name)
        todo.update(set(dialect.references(definition(name, keys))) - seen)
    return seen


def strict(node: Schema, closed: bool = True, keys: Keys = None) -> Schema:
    """The strict form of a stored schema. ``closed`` is false inside allOf, anyOf, oneOf and not:
    there a schema adds conditions to fields that are named outside. Properties that are not among
    ``keys`` are refused as unknown ones are; where unknown ones are not, all are there."""
    mixed = {"properties", "additionalProperties"} <= node.keys()
    if mixed or not closed or node.get(dialect.OPEN):
        keys = None
    if "$ref" in node:
        return {"$ref": node["$ref"]}
    result = {key: value for key, value in node.items() if key in dialect.BOUNDS}
    if "pattern" in result:
        result["pattern"] = portable(result["pattern"])
    if types := _types(node):
        result["type"] = types
        if "null" in types and "enum" in result:
            result["enum"] = [*result["enum"], None]
    _children(node, result, closed, keys)
    if closed:
        _close(node, result)
    _lists(node, result)
    _format(node, result)
    return result


def _types(node: Schema) -> list[str]:
    """The JSON types that a value may have; none where the schema does not care."""
    if node.get(dialect.INT_OR_STRING):
        types = ["integer", "string"]
    else:
        declared = node.get("type", [])
        types = [declared] if isinstance(declared, str) else list(declared)
    return [*types, "null"] if types and node.get("nullable") else types


def _children(node: Schema, result: Schema, closed: bool, keys: Keys) -> None:
    if "properties" in node:
        every = node["properties"].items()
        kept = ((name, child) for name, child in every if keys is None or name in keys)
        result["properties"] = {name: strict(child, closed, keys) for name, child in kept}
    for key in ("items", "additionalProperties"):
        if key in node:
            child = node[key]
            result[key] = strict(child, closed, keys) if isinstance(child, dict) else child
    for key in dialect.LISTS_OF_SCHEMAS:
        # the anyOf of int-or-string says the same as its types, with worse messages
        if key in node and not (key == "anyOf" and node.get(dialect.INT_OR_STRING)):
            result[key] = [strict(child, closed=False) for child in node[key]]
    if "not" in node:
        result["not"] = strict(node["not"], closed=False)


def _close(node: Schema, result: Schema) -> None:
    """Refuse the fields that the server would prune."""
    if node.get(dialect.EMBEDDED):
        whole = {"apiVersion": {"type": "string"}, "kind": {"type": "string"}, "metadata": {}}
        result["properties"] = {**whole, **result.get("properties", {})}
        result["required"] = sorted({*result.get("required", ()), "apiVersion", "kind"})
    is_object = "object" in result.get("type", ()) or "properties" in result
    if is_object and not node.get(dialect.OPEN):
        result.setdefault("additionalProperties", False)


def _lists(node: Schema, result: Schema) -> None:
    """No two items alike in a set; no null and no keys twice in a list that is a map. Keys travel
    as pairs of name and default, under the keyword that the checkers implement."""
    if node.get(dialect.LIST_TYPE) == "set":
        result["uniqueItems"] = True
    if node.get(dialect.LIST_TYPE) == "map":
        fields = node.get("items", {}).get("properties", {})
        keys = node[dialect.LIST_KEYS]
        result[dialect.LIST_KEYS] = [[k, fields.get(k, {}).get("default")] for k in keys]


def _format(node: Schema, result: Schema) -> None:
    """A format as bounds or as a pattern, so that every library checks it alike."""
    name = node.get("format")
    if name in dialect.INTEGER_FORMATS:
        end = dialect.INTEGER_FORMATS[name]
        result["minimum"] = max(result.get("minimum", -end), -end)
        result["maximum"] = min(result.get("maximum", end - 1), end - 1)
    elif name in dialect.STRING_FORMATS:
        result["allOf"] = [*result.get("allOf", []), {"pattern": dialect.STRING_FORMATS[name]}]
