"""Checks objects against the strict schemas, fast: one compiled validator a kind."""

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from enum import Enum
from functools import cache
from typing import Any

import jsonschema_rs
from jsonschema_rs import ValidationErrorKind as Error

from schemas.kubernetes.masking import shorten
from schemas.kubernetes.objects import store, strict
from schemas.kubernetes.objects.dialect import LIST_KEYS, Schema

PLAIN = (str, int, float, bool)
Path = tuple[str | int, ...]
"""Where in an object: keys of maps, indexes of lists. A missing or unknown field is named too."""


@dataclass(frozen=True, slots=True)
class Fault:
    """A part of an object that a server would refuse or drop: its place, and the reason."""

    path: Path
    message: str


def check_object(obj: Any, brought: Mapping[str, store.Kind] = {}) -> list[Fault]:
    """Every fault of one object, sorted by path; empty if it fits its schema.

    ``brought`` are kinds besides the known ones (``brought_kinds``).

    Strict: unknown fields are faults, and so are an unknown kind and null in a custom resource
    where it is not nullable (a server would drop it). Metadata is checked by Kubernetes' own schema
    and naming rules; a namespaced object names its namespace. Lists that are maps or sets hold no
    duplicates.

    Not checked here, because only a server can: CEL rules (``x-kubernetes-validations``), webhooks,
    and the rules that Kubernetes has in code, such as the values of enums of its own kinds.
    """
    if not isinstance(obj, dict):
        return [Fault((), f"must be object, not {_show(obj)}")]
    name = "/".join(str(obj.get(key)) for key in ("apiVersion", "kind"))
    own = brought.get(name) if name not in store.kinds() else None
    if own is None and name not in store.kinds():
        return _unknown(obj, name)
    try:
        if own is None and _fits(name, obj):
            return []
        schema = strict.build(own) if own else strict_schema(*name.rsplit("/", 1))
        validator = _compiled(schema) if own else _validator(name)
        errors = list(validator.iter_errors(obj))
    except (ValueError, TypeError, RecursionError) as error:
        wrong = f"the schema of {shorten(name)} cannot be used: {error}"
        usual = wrong if own else "cannot be written as JSON"
        return list(_not_json(obj, ())) or [Fault((), shorten(usual, 200))]
    faults = {fault for error in errors for fault in _faults(error, schema)}
    # Indexes as numbers, and keys as texts.
    steps = {f: [(p, "") if isinstance(p, int) else (-1, p) for p in f.path] for f in faults}
    return sorted(faults, key=lambda fault: (steps[fault], fault.message))


def check_objects(objs: Iterable[dict[str, Any]]) -> list[tuple[int, Fault]]:
    """The faults of many objects, each with the index of its object."""
    return [(index, fault) for index, obj in enumerate(objs) for fault in check_object(obj)]


@cache
def strict_schema(api_version: str, kind: str) -> Schema:
    """The JSON Schema (draft 4) for objects of a kind, with ``x-kubernetes-list-map-keys`` as
    :func:`misfits` reads it. Never change it. Raises KeyError for a kind without a schema."""
    return strict.build(store.kinds()[f"{api_version}/{kind}"])


def misfits(items: Any, keys: list[list[Any]]) -> list[int]:
    """Indexes of items that are null or have an earlier item's keys, as in server-side apply."""
    if not isinstance(items, list):
        return []
    seen: set[str] = set()
    found = []
    for index, item in enumerate(items):
        if isinstance(item, dict):
            identity = repr([item.get(name, default) for name, default in keys])
            if identity in seen:
                found.append(index)
            seen.add(identity)
        elif item is None:
            found.append(index)
    return found


class _ListKeys:
    """The keyword ``x-kubernetes-list-map-keys`` of a strict schema, for jsonschema-rs."""

    # jsonschema-rs calls it with these three.
    def __init__(self, _parent: Schema, value: Any, _path: list[str | int]) -> None:
        self._keys = value

    def validate(self, instance: Any) -> None:
        for error in self.iter_errors(instance):
            raise error

    def iter_errors(self, instance: Any) -> Iterator[ValueError]:
        # an error can carry nothing but a text: the index
        yield from (ValueError(str(index)) for index in misfits(instance, self._keys))


def _fits(name: str, obj: Any) -> bool:
    """True if an object of a known kind fits its schema, of which a part is compiled, in a tenth of
    the time. What the part takes the whole takes; what is wrong with an object the whole tells."""
    keys, number, validator = _parts.get(name, (frozenset[str](), 0, None))
    if validator is not None and validator.is_valid(obj):
        return True
    try:
        wanted = {*_keys(obj)}
    except RecursionError:
        return _validator(name).is_valid(obj)  # says that it is no JSON
    if validator is not None and wanted <= keys:
        return False
    if number == _OFTEN:
        return _validator(name).is_valid(obj)
    keys |= wanted
    validator = _compiled(strict.build(store.kinds()[name], keys))
    _parts[name] = (keys, number + 1, validator)
    return validator.is_valid(obj)


def _keys(value: Any) -> Iterator[str]:
    """Every key of a value, at any depth."""
    for item in value.values() if isinstance(value, dict) else value:
        if item and isinstance(item, dict | list | tuple):
            yield from _keys(item)
    if isinstance(value, dict):
        yield from value


_OFTEN = 8
"""Times that objects of a kind may have new keys, until the whole schema is cheaper."""
_parts: dict[str, tuple[frozenset[str], int, jsonschema_rs.Draft4Validator | None]] = {}
"""For each kind the keys of objects so far, how often there were more, and what judges them."""


@cache
def _validator(name: str) -> jsonschema_rs.Draft4Validator:
    """The compiled validator of a known ``apiVersion/kind``."""
    return _compiled(strict_schema(*name.rsplit("/", 1)))


def _compiled(schema: Schema) -> jsonschema_rs.Draft4Validator:
    return jsonschema_rs.Draft4Validator(
        schema,
        keywords={LIST_KEYS: _ListKeys},
        # like the server's own engine: linear time, no look-around
        pattern_options=jsonschema_rs.RegexOptions(),
    )


def _faults(error: jsonschema_rs.ValidationError, schema: Schema) -> Iterator[Fault]:
    """One error of the library as faults: a fault for each unknown field."""
    path: Path = tuple(error.instance_path)
    match error.kind:
        case Error.AdditionalProperties(unexpected):
            parent: Any = schema
            for step in error.schema_path[:-1]:
                parent = parent[step]
            for name in unexpected:
                hint = _nearest(name, list(parent.get("properties", ())))
                message = f"is an unknown field{hint}"
                if "patternProperties" in parent:
                    message = "is not a valid key of a label or an annotation"
                yield Fault((*path, name), message)
        case Error.Required(name):
            yield Fault((*path, str(name)), "is required, but missing")
        case Error.Type(types):
            yield Fault(path, f"must be {' or '.join(types)}, not {_show(error.instance)}")
        case Error.Enum(options):
            hint = _nearest(str(error.instance), [str(option) for option in options])
            choice = ", ".join(str(option) for option in options)
            yield Fault(path, f"must be one of {choice}, not {_show(error.instance)}{hint}")
        case Error.Pattern(pattern):
            yield Fault(path, f"{_show(error.instance)} does not match {pattern}")
        case Error.Custom(_, index):
            message = "is null or has the same keys as an earlier item of its list"
            yield Fault((*path, int(index)), message)
        case _:
            yield Fault(path, shorten(error.message, 200))


def _show(value: object) -> str:
    return shorten(json.dumps(value, ensure_ascii=False, default=repr))


def _nearest(name: str, known: list[str]) -> str:
    """A hint at the known name that looks most like this one, if one does."""
    import difflib  # only needed for faults

    match = difflib.get_close_matches(name, known, n=1)
    return f"; did you mean {match[0]}?" if match else ""


def _unknown(obj: dict[str, Any], name: str) -> list[Fault]:
    """The reasons why an object has no schema."""
    missing = [key for key in ("apiVersion", "kind") if not isinstance(obj.get(key), str)]
    if missing:
        return [Fault((key,), "is required and must be a string") for key in missing]
    known = list(store.kinds())
    same_kind = [other for other in known if other.endswith(f"/{obj['kind']}")]
    hint = _nearest(name, same_kind or known)
    path = "apiVersion" if same_kind else "kind"
    return [Fault((path,), f"there is no schema of {shorten(name)}{hint}")]


def _not_json(node: Any, path: Path) -> Iterator[Fault]:
    """The values that are not plain JSON: sets, dates, bytes, subclasses of str or int."""
    if isinstance(node, dict):
        for key, value in node.items():
            if type(key) is str:
                yield from _not_json(value, (*path, key))
            else:
                yield Fault(path, f"has a key that is not a string: {shorten(key)}")
    elif isinstance(node, list | tuple):
        for index, value in enumerate(node):
            yield from _not_json(value, (*path, index))
    elif node is not None and type(node) not in PLAIN and not isinstance(node, Enum):
        yield Fault(path, f"is {type(node).__name__}, which JSON does not have")
    elif type(node) is str and re.search("[\ud800-\udfff]", node):
        yield Fault(path, "is not valid Unicode")
