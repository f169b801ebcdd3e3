"""Fields that a run set on an object, and that the site does not have any more.

``pulumi refresh`` does not see them: it looks only at fields that the state has (provider 4.25,
``pruneLiveState`` in provider.go). A change that was killed halfway and then taken back in Git
would stay in the cluster. The API server keeps account of who owns a field: so they are found.
"""

import json
from collections.abc import Iterator
from copy import deepcopy
from functools import reduce
from operator import getitem
from typing import Any, NamedTuple

from components.making.manifest import FIELD_MANAGER, Json

_ALWAYS = {"apiVersion", "kind"}


class Leftover(NamedTuple):
    """A field of ours without a place in the site: where it is, and what it says now.

    A step of ``path`` is a key; a field within a list is told by the list, whole.
    """

    path: tuple[str, ...]
    value: Any

    def __str__(self) -> str:
        return ".".join(self.path)


def leftovers(live: Json, wanted: Json) -> list[Leftover]:
    """The parts of a live object that are ours and not wanted."""
    found: dict[tuple[str, ...], Leftover] = {}
    for entry in live["metadata"].get("managedFields", ()):
        if entry.get("manager") == FIELD_MANAGER and entry.get("operation") == "Apply":
            for path in _unwanted_paths(entry.get("fieldsV1") or {}, wanted, ()):
                found.setdefault(path, Leftover(path, reduce(getitem, path, live)))
    return list(found.values())


def restore_fields(inputs: Json, found: list[Leftover]) -> Json:
    """The inputs of a state with fields that the cluster has: the next ``up`` takes them away."""
    body = deepcopy(inputs)
    for each in found:
        into = body
        for key in each.path[:-1]:
            into = into.setdefault(key, {})
        into[each.path[-1]] = deepcopy(each.value)
    return body


def _unwanted_paths(fields: Json, wanted: Any, path: tuple[str, ...]) -> Iterator[tuple[str, ...]]:
    """Paths of the fields of a FieldsV1 that ``wanted`` lacks (kubernetes 1.34, structured-merge-
    diff v6, fieldpath/serialize-pe.go: ``f:`` a key, ``k:`` an item by its keys, ``v:`` by its
    value)."""
    for step, below in fields.items():
        kind, _, name = step.partition(":")
        if kind == "f" and not (not path and name in _ALWAYS):
            if not isinstance(wanted, dict) or name not in wanted:
                yield (*path, name)
            else:
                yield from _unwanted_paths(below, wanted[name], (*path, name))
        elif kind in ("k", "v") and isinstance(wanted, list):
            item = _item(kind, json.loads(name), wanted)
            if item is None:
                yield path
            elif any(True for _ in _unwanted_paths(below, item, ())):
                yield path  # the list as a whole


def _item(kind: str, sought: Any, wanted: list[Any]) -> Any:
    """The item of a list that a step means; None where there is none. Keys that an item leaves out
    are defaults, such as a port's protocol."""
    if kind == "v":
        return {} if sought in wanted else None
    for each in wanted:
        if isinstance(each, dict) and all(each.get(k, v) == v for k, v in sought.items()):
            return each
    return None
