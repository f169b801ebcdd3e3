"""Kubernetes objects as the engine shows them, back to what was registered.

Source: pulumi 3.255, sdk/go/common/resource/plugin/rpc.go (how values are marked) and
sdk/go/common/resource/properties.go (the signatures).
"""

from typing import Any

from google.protobuf import json_format, struct_pb2  # type: ignore[import-untyped]

from policies.rule import Object

_KIND = "kubernetes:"
_CLUSTERS = ("management", "site")
_SIGNATURE = "4dabf18193072939515e22adb298388d"
_MARKED_AS = "1b47061264138c4ac30d75fd1eb44270"
_UNKNOWN = frozenset(
    {
        "1c4a061d-8072-4f0a-a4cb-0ff528b18fe7",
        "3eeb2bf0-c639-47a8-9e75-3b44932eb421",
        "04da6b54-80e4-46f7-96ec-b56ff0331ba9",
        "6a19a0b0-7e62-4c92-b797-7f8e31da9cc2",
        "030794c1-ac77-496b-92df-f27374a8bd58",
        "e48ece36-62e2-4504-bad9-02848725956a",
        "dd056dcd-154b-4c76-9bd3-c8f88648b5ff",
    }
)
"""Placeholders of values that are known once another resource exists."""


class UnknownValueError(Exception):
    """A value of the object is not known yet, so nothing can be said of it."""


def kubernetes_object(kind: str, properties: struct_pb2.Struct, provider: str) -> Object | None:
    """The object of a resource of type ``kind``; None where it is none, as a provider.

    ``provider`` is the name of its provider, which is that of the cluster (components/shell.py).
    Raises UnknownValueError.
    """
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
