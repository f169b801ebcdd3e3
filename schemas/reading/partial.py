"""Data with holes: what of a faulty file can still be judged, so that all problems come at once.
Whoever looks into a hole, a missing or wrong value, gets an AttributeError: a rule ends there,
before it says what rests on a guess (schemas/rules, ``attempt``)."""

import copy
from collections.abc import Iterable
from enum import StrEnum
from typing import Any, NoReturn, TypeVar

from pydantic import ValidationError

from schemas.model.primitives import Model
from schemas.reading.wording import schema_at, schema_of
from schemas.reading.yaml_reader import Path

M = TypeVar("M", bound=Model)
_ANY_TEXT = f"ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAI{'A' * 43}"
"""Text for a field that names no example: one of any text, or a public key."""


class Flaw(StrEnum):
    """A fault at a path."""

    VALUE = "value"
    """The value is missing or wrong: it becomes a hole."""
    ENTRY = "entry"
    """There should be no such entry at all: it is left out."""


class Hole:
    """Stands for a whole part that is not known."""

    def _refuse(self, *_: object) -> NoReturn:
        raise AttributeError("a hole")

    __contains__ = __getattr__ = __getitem__ = __iter__ = __len__ = _refuse


def with_holes(model: type[M], value: Any, flaws: Iterable[tuple[Path, Flaw]]) -> M | None:
    """``value`` as ``model``, with a hole at each flaw; None where nothing is left to judge."""
    schema = schema_of(model)
    mended = copy.deepcopy(value)
    holes = []
    for path, flaw in flaws:
        if not path:
            return None
        if _repair(mended, path, flaw, schema):
            holes.append(path)
    try:
        made = model.model_validate(mended)
    except ValidationError:
        return None
    for path in holes:
        _punch(made, path)
    return made


def _repair(value: Any, path: Path, flaw: Flaw, schema: dict[str, Any]) -> bool:
    """Put a fitting value at ``path``, or leave out what may be absent; whether that is a hole."""
    parent = value
    for step in path[:-1]:
        try:
            parent = parent[step]
        except (KeyError, IndexError, TypeError):
            return False  # it went with a flaw further up
    last = path[-1]
    around = schema_at(schema, path[:-1])
    optional = "properties" in around and last not in around.get("required", ())
    if isinstance(parent, dict) and isinstance(last, str):
        parent.pop(last, None)
        if flaw is Flaw.VALUE and not optional:
            parent[last] = _filler(schema_at(schema, path), schema)
    elif isinstance(parent, list) and isinstance(last, int):
        parent[last] = _filler(schema_at(schema, path), schema)
    return flaw is Flaw.VALUE


def _filler(node: dict[str, Any], schema: dict[str, Any]) -> Any:
    """Any value that fits a node of the JSON Schema; nobody gets to see it."""
    examples = [each for each in node.get("examples", ()) if "…" not in str(each)]
    kind = node.get("type")
    if kind == "object":
        fields = node.get("required", ())
        return {name: _filler(schema_at(schema, (name,), node), schema) for name in fields}
    if kind == "array":
        item = schema_at(schema, (0,), node)
        return [_filler(item, schema) for _ in range(node.get("minItems", 0))]
    if kind == "boolean":
        return False
    if kind == "integer":
        return node.get("minimum", 1)
    return next(iter([*node.get("enum", ()), *examples]), _ANY_TEXT)


def _punch(made: Model, path: Path) -> None:
    """Take the attribute at ``path`` away, or the nearest above it that is one."""
    owner, name = made, str(path[0])
    value: Any = made
    for step in path:
        if isinstance(value, Model):
            owner, name = value, str(step)
            value = value.__dict__.get(name)
        elif isinstance(value, dict | list):
            value = value[step]  # type: ignore[index]
    if isinstance(value, Model) and isinstance(owner.__dict__.get(name), dict):
        value.__dict__.clear()  # one entry of a map: its neighbours are as good as before
    else:
        owner.__dict__.pop(name, None)
