"""Facts of Kubernetes on fields, from the schemas of the real kinds: which lists are maps or sets,
which values are quantities. By default a list is atomic and a text is only a text."""

from functools import cache
from typing import Any, NamedTuple

from schemas.kubernetes.objects import store
from schemas.kubernetes.objects.dialect import INT_OR_STRING, LIST_KEYS, LIST_TYPE, Schema
from schemas.kubernetes.objects.strict import OBJECT_META, REF

ANY = "*"
TEXTS = {
    "ConfigMap": ("data", ANY),
    "KubeadmConfig": ("spec", "files", ANY, "content"),
    "KubeadmConfigTemplate": ("spec", "template", "spec", "files", ANY, "content"),
    "KubeadmControlPlane": ("spec", "kubeadmConfigSpec", "files", ANY, "content"),
}
"""Kind -> the way to its texts that may hold JSON or YAML: those that programs read as files."""

CRD_QUANTITY = (
    r"^(\+|-)?(([0-9]+(\.[0-9]*)?)|(\.[0-9]+))"
    r"(([KMGTPE]i)|[numkMGTPE]|([eE](\+|-)?(([0-9]+(\.[0-9]*)?)|(\.[0-9]+))))?$"
)
"""The pattern of a ``resource.Quantity`` in a CRD. Source: Cluster API 1.13.4,
controlplane.cluster.x-k8s.io_kubeadmcontrolplanes.yaml, ``divisor``."""

DEFAULTS = {"protocol": "TCP"}
"""Defaults of list keys that the definitions of Kubernetes' own kinds leave out: of container ports
and of service ports. Source: k8s.io/api 0.34.3, core/v1/types.go, ContainerPort and ServicePort."""

KEY_PATHS = "x-foresite-list-key-paths"
"""Where the keys of a list's items are in them, for data that no schema of Kubernetes speaks of
(known.py): Kubernetes' own keys are never inside of something."""

_METADATA = {"$ref": f"{REF}{OBJECT_META}"}


class Field(NamedTuple):
    """The known facts of a field. ``texts``: the way from here to texts that may hold data; empty:
    this is one; None: there are none."""

    schema: Schema
    texts: tuple[str, ...] | None = None

    def child(self, key: str) -> "Field":
        """The field ``key`` of this one, or what is known of any entry of this map."""
        found = self.schema.get("properties", {}).get(key)
        if found is None:
            found = self.schema.get("additionalProperties")
        return Field(_resolve_reference(found), self._way(key))

    @property
    def item(self) -> "Field":
        """Any item of this list."""
        return Field(_resolve_reference(self.schema.get("items")), self._way(ANY))

    def _way(self, step: str) -> tuple[str, ...] | None:
        if self.texts and self.texts[0] in (ANY, step):
            return self.texts[1:]
        return None

    @property
    def is_set(self) -> bool:
        """True if this list is a set."""
        return bool(self.schema.get(LIST_TYPE) == "set")

    @property
    def is_quantity(self) -> bool:
        """True if the value is a ``resource.Quantity``."""
        if self.schema.get(INT_OR_STRING):
            return bool(self.schema.get("pattern") == CRD_QUANTITY)
        return bool(self.schema.get("format") == "quantity")

    @property
    def keys(self) -> dict[str, Any]:
        """The keys of this list's items, each with its default, the leading one first; empty for a
        list that is no map."""
        if self.schema.get(LIST_TYPE) != "map":
            return {}
        fields = self.item.schema.get("properties", {})
        keys = self.schema[LIST_KEYS]
        return {key: fields.get(key, {}).get("default", DEFAULTS.get(key)) for key in keys}

    @property
    def key_paths(self) -> tuple[tuple[str, ...], ...]:
        """The places of the keys in this list's items, if any. Files of cloud-init are told by
        path; where two have one path the order counts, and there are no keys."""
        found = (("path",),) if self.texts == (ANY, "content") else ()
        return tuple(self.schema.get(KEY_PATHS, found))

    @property
    def whole_keys(self) -> bool:
        """True if the keys of an item are the whole item, as with the arguments of kubeadm."""
        return set(self.item.schema.get("properties", ())) <= set(self.keys)


NOTHING = Field({})
"""A field of which nothing is known."""


def field_of(before: Any, after: Any) -> Field:
    """The known facts of two values that may be Kubernetes objects: none if of different kinds."""
    names = [
        (value.get("apiVersion"), value.get("kind")) if isinstance(value, dict) else None
        for value in (before, after)
    ]
    if names[0] is None or names[0] != names[1]:
        return NOTHING
    api_version, kind = names[0]
    return Field(_root(f"{api_version}/{kind}"), TEXTS.get(str(kind)))


@cache
def _root(name: str) -> Schema:
    """The schema of a kind; CRDs say nothing of metadata, which is the same for all."""
    kind = store.kinds().get(name)
    if kind is None:
        return {}
    root = store.root(kind)
    return {**root, "properties": {**root["properties"], "metadata": _METADATA}}


def _resolve_reference(schema: Any) -> Schema:
    while isinstance(schema, dict) and isinstance(schema.get("$ref"), str):
        schema = store.definitions()[schema["$ref"].removeprefix(REF)]
    return schema if isinstance(schema, dict) else {}
