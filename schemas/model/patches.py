"""Patches of generated objects: what a site changes of an object that no field reaches. Which parts
may be patched is in components/making/patches.toml."""

from typing import Annotated, Literal

from pydantic import Field, JsonValue

from schemas.model.extra import Owner
from schemas.model.policies import Day, Sentence
from schemas.model.primitives import DnsLabel, Model, text_form

_STEP = r"/([^/\[\]~]|~[01])+(\[[A-Za-z]+=[^\[\]\s]+\])?"
MOST_PATCHES, MOST_OPERATIONS = 50, 20
_JSON = ["object", "array", "string", "number", "boolean", "null"]


class PatchOperation(Model):
    """One operation of RFC 6902; ``move`` and ``copy`` are a ``remove`` and an ``add``."""

    op: Literal["add", "remove", "replace", "test"]
    """The operation; ``test`` fails the patch where something else is there."""
    path: Annotated[
        str,
        text_form(
            f"({_STEP})+", "/spec/template/spec/containers[name=manager]/args/-", longest=500
        ),
    ]
    """JSON pointer; an item of a list is an index, ``-`` (behind the last), or ``[name=a]``."""
    value: Annotated[JsonValue, Field(json_schema_extra={"type": _JSON})] = None
    """The value; ``remove`` has none."""


class Patch(Model):
    """A change of generated objects, with its reason and end."""

    component: DnsLabel
    """Component that makes the objects."""
    object: Annotated[
        str, text_form("[A-Za-z0-9*][A-Za-z0-9*./:_-]*", "KubeadmConfigTemplate/h100", longest=300)
    ]
    """Logical name of an object: its kind, and its name without a hash. ``*`` is any text, and then
    each of the objects has to take the patch."""
    operations: Annotated[list[PatchOperation], Field(min_length=1, max_length=MOST_OPERATIONS)]
    """Operations, in their order."""
    reason: Sentence
    """Reason why the object has to differ."""
    owner: Owner
    """Who answers for it."""
    until: Day
    """Last day of it; after it ``foresite check`` fails."""
