"""The two halves of what ``compare_fields`` finds."""

from components.effects.vocabulary import FieldChange, Path
from components.making.manifest import Json
from preview.differences.fields import compare_fields


def field_changes(before: Json, after: Json) -> tuple[FieldChange, ...]:
    """The fields that differ."""
    return compare_fields(before, after)[0]


def reordered_lists(before: Json, after: Json) -> tuple[Path, ...]:
    """The lists whose items come in another order."""
    return compare_fields(before, after)[1]
