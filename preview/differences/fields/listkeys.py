"""How the items of two lists are matched: by their keys, as members of a set, or in their order."""

import difflib
import json
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from preview.differences.fields.kinds import Field

MAX_PAIRS = 1_000_000
"""Of two longer lists that differ, only what both begin and end with is matched."""


class Item(str):
    """The step of a path that names an item of a list by its key, not a field; equal to the plain
    text, so that rules need not know of it."""

    __slots__ = ()


def items_by_key(
    before: list[Any], after: list[Any], field: Field
) -> tuple[dict[str, Any], dict[str, Any]] | None:
    """The items of both lists by their keys; None where there are none, or not one for each item.
    Where an item is nothing but its keys, its first key alone tells whether it has changed or gone,
    as long as that one is unique (Kubernetes lists ``value`` among the keys of an argument)."""
    if paths := field.key_paths:
        left, right = (_by(items, partial(_path_key, paths=paths)) for items in (before, after))
        return None if left is None or right is None else (left, right)
    keys = field.keys
    if not keys and not field.is_set:
        return None
    choices = [dict([*keys.items()][:1])] if len(keys) > 1 and field.whole_keys else []
    for choice in [*choices, keys]:
        found = [_by(items, partial(_key, keys=choice)) for items in (before, after)]
        if found[0] is not None and found[1] is not None:
            return found[0], found[1]
    return None


def _by(items: list[Any], key: Callable[[Any], Item | None]) -> dict[str, Any] | None:
    """The items by their keys; None if one has none, or they are not unique."""
    found: dict[str, Any] = {}
    for item in items:
        name = key(item)
        if name is None or name in found:
            return None
        found[name] = item
    return found


def _path_key(item: Any, paths: tuple[tuple[str, ...], ...]) -> Item | None:
    """The texts at the paths; None where there are none."""
    steps = [_inside(item, path) for path in paths]
    return Item("/".join(filter(None, steps))) if any(steps) else None


def _inside(item: Any, path: tuple[str, ...]) -> str:
    for step in path:
        item = item.get(step) if isinstance(item, dict) else None
    return item if isinstance(item, str) else ""


def _key(item: Any, keys: dict[str, Any]) -> Item | None:
    """The values of an item at the keys; itself if there are no keys."""
    if not keys:
        return None if isinstance(item, dict | list) else Item(_text(item))
    if not isinstance(item, dict) or not item.keys() & keys.keys():
        return None
    values = [item.get(name, default) for name, default in keys.items()]
    if any(isinstance(value, dict | list) for value in values):
        return None
    return Item("/".join("" if value is None else _text(value) for value in values))


def _text(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value)


def matching(before: Sequence[str], after: Sequence[str]) -> list[tuple[int, int, int]]:
    """The runs of items that both sequences have in this order, as their indexes and length. The
    last one, which may be empty, is where both end. Where as many items are equal at their index as
    in any order, they stay there. Swapped sequences have the same runs, swapped."""
    start = _common(before, after)
    end = _common(before[start:][::-1], after[start:][::-1])
    left, right = before[start : len(before) - end], after[start : len(after) - end]
    pairs = enumerate(zip(left, right, strict=False))
    runs = [(index, index, 1) for index, (one, other) in pairs if one == other]
    if len(left) * len(right) <= MAX_PAIRS:
        shifted = _matching_runs(left, right)
        if sum(size for *_, size in shifted) > len(runs):
            runs = shifted
    between = [(start + i, start + j, size) for i, j, size in runs]
    return [(0, 0, start), *between, (len(before) - end, len(after) - end, end)]


def _matching_runs(left: Sequence[str], right: Sequence[str]) -> list[tuple[int, int, int]]:
    """The runs that difflib finds, made the same in the other direction too."""
    if list(left) > list(right):
        return [(i, j, size) for j, i, size in _matching_runs(right, left)]
    matcher = difflib.SequenceMatcher(None, left, right, autojunk=False)
    return [(i, j, size) for i, j, size in matcher.get_matching_blocks() if size]


def _common(left: Sequence[str], right: Sequence[str]) -> int:
    """How many items both begin with."""
    pairs = zip(left, right, strict=False)
    return next((i for i, (a, b) in enumerate(pairs) if a != b), min(len(left), len(right)))
