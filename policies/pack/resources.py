"""Kubernetes objects as the engine shows them, back to what was registered.

Source: pulumi 3.255, sdk/go/common/resource/plugin/rpc.go (how values are marked) and
sdk/go/common/resource/properties.go (the signatures).
"""

from typing import Any

from google.protobuf import json_format, struct_pb2  # type: ignore[import-untyped]

from policies.rule import Object
from schemas.kubernetes.tables import read_table

_KIND = "kubernetes:"
_CLUSTERS = ("management", "site")
_MARKS = read_table(__file__)
_SIGNATURE, _MARKED_AS = _MARKS["signature"], _MARKS["marked_as"]
_UNKNOWN = frozenset(_MARKS["unknown"])
"""Placeholders of values that are known once another resource exists."""


class UnknownValueError(Exception):
    """A value of the object is not known yet, so nothing can be said of it."""


def kubernetes_object(kind: str, properties: struct_pb2.Struct, provider: str) -> Object | None:
    """The object of a resource of type ``kind``; None for others, such as a provider. ``provider``
    is named as the cluster (components/shell.py). Raises UnknownValueError."""
    if not kind.startswith(_KIND):
        return None
    body = _plain(json_format.MessageToDict(properties))
    if not isinstance(body, dict) or not body.get("kind") or not body.get("apiVersion"):
        return None  # a chart or a file of several, whose objects are resources themselves
    return Object(provider if provider in _CLUSTERS else _CLUSTERS[0], body)


def _plain(value: Any) -> Any:
    """A value without the engine's marks; numbers without a fraction are whole, as they were."""
    if isinstance(value, dict):
        if value.get(_SIGNATURE) == _MARKED_AS:
            return _plain(value.get("value"))
        return {key: _plain(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_plain(item) for item in value]
    if isinstance(value, float) and value.is_integer():
        return int(value)
    if isinstance(value, str) and value in _UNKNOWN:
        raise UnknownValueError
    return value
