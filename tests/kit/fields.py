"""The two halves of what ``compare_fields`` finds, and fields that no rule judges."""

from collections.abc import Iterator
from typing import Any

from components.effects.rules import Rules, find, find_whole
from components.effects.vocabulary import FieldChange, Path
from components.making.manifest import Json, Manifest
from preview.differences.fields import compare_fields


def field_changes(before: Json, after: Json) -> tuple[FieldChange, ...]:
    """The fields that differ."""
    return compare_fields(before, after)[0]


def reordered_lists(before: Json, after: Json) -> tuple[Path, ...]:
    """The lists whose items come in another order."""
    return compare_fields(before, after)[1]


def _leaves(value: Any, path: Path = ()) -> Iterator[Path]:
    if isinstance(value, dict):
        for key, item in value.items():
            yield from _leaves(item, (*path, key))
    else:
        yield path


def unruled(rules: Rules, manifest: Manifest) -> set[tuple[str, Path]]:
    """The fields of an object, with its kind, that no rule fits; one fits it as a whole."""
    assert find_whole(rules, manifest.group_kind)
    return {
        (manifest.kind, path)
        for path in _leaves(manifest.body)
        if path not in {("apiVersion",), ("kind",)}
        and find(rules, manifest.group_kind, path) is None
    }
