"""Lays two values out alike, so that comparing them field by field finds what differs in meaning.

Lists become maps, by the keys of their items or by index; texts that hold data become that data;
what is equal on both sides is left out. Comparing is left to others.
"""

import json
import marshal
from collections.abc import Callable, Mapping
from typing import Any

from components.effects.vocabulary import Path
from preview.differences.fields.embedded import Documents, documents
from preview.differences.fields.kinds import NOTHING, Field, field_of
from preview.differences.fields.known import document_field
from preview.differences.fields.listkeys import items_by_key, matching
from schemas.kubernetes.quantities import quantity

MAX_NESTED = 3
"""Greatest depth of texts with data inside data that itself was in a text."""

Laid = tuple[Any, Any] | None
"""Both sides, laid out alike; None where they mean the same."""


class Slot(str):
    """The place of an item in a list that has an order: ``=`` with its index on both sides, or the
    index where one side alone has it, the first (``-``) or the second (``+``)."""

    __slots__ = ()

    @property
    def at(self) -> int:
        """The index."""
        return int(self[1:])


def same(before: Any, after: Any) -> bool:
    """True if two values are equal, down to types of numbers and the order of maps; False may mean
    no more than that a closer look is needed."""
    if type(before) is not type(after) or before != after:
        return False
    if not isinstance(before, dict | list):
        return True
    try:
        return marshal.dumps(before, 2) == marshal.dumps(after, 2)
    except ValueError:
        return False  # of a type that JSON does not have


def differing(before: dict[str, Any], after: dict[str, Any]) -> tuple[Any, Any]:
    """Two objects, each without the parts that both have: all that a comparison looks at. What
    says their kinds stays."""
    old, new = {**before}, {**after}
    for key in before.keys() & after.keys() - {"apiVersion", "kind"}:
        left, right = before[key], after[key]
        if same(left, right):
            del old[key], new[key]
        elif isinstance(left, dict) and isinstance(right, dict):
            old[key], new[key] = differing(left, right)
    return old, new


class Pairing:
    """Pairs the parts of two values; ``reordered`` are lists with keys in another order there."""

    def __init__(self) -> None:
        self.reordered: list[Path] = []
        self._path: list[str | int] = []
        self._nested = 0

    def lay_out(self, before: Any, after: Any, field: Field) -> Laid:
        """Both values, laid out alike."""
        if same(before, after):
            return None
        if isinstance(before, dict) and isinstance(after, dict):
            return self._maps(before, after, field.child)
        if isinstance(before, list) and isinstance(after, list):
            return self._lists(before, after, field)
        if field.is_quantity and quantity(before) is not None:
            return (before, after) if quantity(before) != quantity(after) else None
        if field.texts == () and isinstance(before, str) and isinstance(after, str):
            return self._texts(before, after)
        return before, after

    def _maps(
        self, before: Mapping[str, Any], after: Mapping[str, Any], child: Callable[[str], Field]
    ) -> Laid:
        left: dict[str, Any] = {}
        right: dict[str, Any] = {}
        for key, value in before.items():
            if key not in after:
                left[key] = value
            elif pair := self._step(key, value, after[key], child(key)):
                left[key], right[key] = pair
        right |= {key: value for key, value in after.items() if key not in before}
        return (left, right) if left or right else None

    def _step(self, step: str | int, before: Any, after: Any, field: Field) -> Laid:
        self._path.append(step)
        pair = self.lay_out(before, after, field)
        self._path.pop()
        return pair

    def _lists(self, before: list[Any], after: list[Any], field: Field) -> Laid:
        items = items_by_key(before, after, field)
        if items is None:
            return self._sequences(before, after, field.item)
        left, right = items
        if [key for key in left if key in right] != [key for key in right if key in left]:
            self.reordered.append(tuple(self._path))
        return self._maps(left, right, lambda _: field.item)

    def _sequences(self, before: list[Any], after: list[Any], field: Field) -> Laid:
        """Lists whose order counts: what stands between equal items is paired by index."""
        texts = [[canonical(item, field) for item in items] for items in (before, after)]
        left: dict[str, Any] = {}
        right: dict[str, Any] = {}
        i = j = 0
        for i_equal, j_equal, size in matching(*texts):
            gone, new = range(i, i_equal), range(j, j_equal)
            for index in sorted({*gone, *new}):
                both = index in gone and index in new
                if both and (gone == new or _alike(before[index], after[index])):
                    if pair := self._step(index, before[index], after[index], field):
                        left[Slot(f"={index}")], right[Slot(f"={index}")] = pair
                    continue
                if index in gone:
                    left[Slot(f"-{index}")] = before[index]
                if index in new:
                    right[Slot(f"+{index}")] = after[index]
            i, j = i_equal + size, j_equal + size
            for back in range(size, 0, -1):
                # Equal in meaning, but an order inside may differ.
                self._step(i - back, before[i - back], after[j - back], field)
        return (left, right) if left or right else None

    def _texts(self, before: str, after: str) -> Laid:
        """Texts as the data that they hold; if that is the same, the texts themselves differ."""
        key = str(self._path[-1])
        left, right = documents(before, key), documents(after, key)
        if left is None or right is None or self._nested == MAX_NESTED:
            return before, after
        self._nested += 1
        pair = self._documents(left, right)
        self._nested -= 1
        return pair if pair and type(pair[0]) is type(pair[1]) is dict else (before, after)

    def _documents(self, before: Documents, after: Documents) -> Laid:
        if before.one is not None and after.one is not None:
            return self.lay_out(before.one, after.one, document_field(before.one, after.one))
        left, right = before.by_name, after.by_name
        if left is not None and right is not None:
            return self._maps(left, right, lambda key: field_of(left[key], right[key]))
        return self._sequences(before.values, after.values, NOTHING)


def _alike(before: Any, after: Any) -> bool:
    """True if two items of a list look like one that has changed: half of their fields agree."""
    if not isinstance(before, dict) or not isinstance(after, dict):
        return False
    agreeing = sum(key in after and same(value, after[key]) for key, value in before.items())
    return 2 * agreeing >= len(before.keys() | after.keys())


def canonical(value: Any, field: Field) -> str:
    """A text that values have in common if they mean the same, and else not."""
    return json.dumps(_plain(value, field), sort_keys=True, default=repr)


def _plain(value: Any, field: Field) -> Any:
    if isinstance(value, dict):
        return {key: _plain(item, field.child(key)) for key, item in value.items()}
    if isinstance(value, list):
        if items_by_key(value, value, field) is None:
            return [_plain(item, field.item) for item in value]
        return ["by key", *sorted(canonical(item, field.item) for item in value)]
    amount = quantity(value) if field.is_quantity else None
    return value if amount is None else {"quantity": str(amount)}
