"""How the items of two lists are matched: by their keys, as members of a set, or in their order."""

import difflib
import json
from collections.abc import Iterator, Sequence
from typing import Any

from preview.kinds import Field

MAX_PAIRS = 1_000_000
"""Of two longer lists that differ, only what both begin and end with is matched."""


class Item(str):
    """The step of a path that names an item of a list by its key, not a field.

    It equals the plain text, so that rules need not know of it.
    """

    __slots__ = ()


def keyed(
    before: list[Any], after: list[Any], field: Field
) -> tuple[dict[str, Any], dict[str, Any]] | None:
    """The items of both lists by their keys; None where there are none, or not one for each item.

    Where an item is nothing but its keys, its first key alone tells whether it has changed or gone,
    as long as that one is unique (Kubernetes lists ``value`` among the keys of an argument).
    """
    keys = field.keys
    if not keys and not field.is_set:
        return None
    choices = [dict([*keys.items()][:1])] if len(keys) > 1 and field.whole_keys else []
    for choice in [*choices, keys]:
        found = [_by_key(items, choice) for items in (before, after)]
        if found[0] is not None and found[1] is not None:
            return found[0], found[1]
    return None


def _by_key(items: list[Any], keys: dict[str, Any]) -> dict[str, Any] | None:
    """The items by key, or by themselves if there are no keys; None if that is not unique."""
    found: dict[str, Any] = {}
    for item in items:
        key = _key(item, keys)
        if key is None or key in found:
            return None
        found[key] = item
    return found


def _key(item: Any, keys: dict[str, Any]) -> Item | None:
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


def differing(
    before: Sequence[str], after: Sequence[str]
) -> Iterator[tuple[range, range]]:
    """The stretches in which two sequences differ: the indexes on each side, in order.

    Swapped sequences give the same stretches, swapped: difflib alone does not promise that.
    """
    start = _common(before, after)
    end = _common(before[start:][::-1], after[start:][::-1])
    left, right = before[start : len(before) - end], after[start : len(after) - end]
    if len(left) * len(right) > MAX_PAIRS:
        yield _ranges(start, 0, len(left), 0, len(right))
        return
    swapped = list(left) > list(right)
    if swapped:
        left, right = right, left
    matcher = difflib.SequenceMatcher(None, left, right, autojunk=False)
    for tag, *places in matcher.get_opcodes():
        if tag != "equal":
            stretch = _ranges(start, *places)
            yield stretch[::-1] if swapped else stretch


def _common(left: Sequence[str], right: Sequence[str]) -> int:
    """How many items both begin with."""
    pairs = zip(left, right, strict=False)
    return next((i for i, (a, b) in enumerate(pairs) if a != b), min(len(left), len(right)))


def _ranges(start: int, i: int, i_end: int, j: int, j_end: int) -> tuple[range, range]:
    return range(start + i, start + i_end), range(start + j, start + j_end)
