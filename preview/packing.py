"""Many named tuples as columns, so that another process sends and reads them fast."""

from typing import Any, NamedTuple


class _Columns(NamedTuple):
    """Many named tuples of one kind, field by field: so pickle calls nothing for each of them."""

    kind: type[Any]
    columns: tuple[Any, ...]


def pack(value: Any) -> Any:
    """A value as it is sent: a tuple of named tuples of one kind as its columns."""
    kinds = set(map(type, value)) if type(value) is tuple else set()
    if len(kinds) != 1 or not hasattr(kind := kinds.pop(), "_fields"):
        return value
    return _Columns(kind, tuple(map(pack, zip(*value, strict=True))))


def unpack(value: Any) -> Any:
    """The value that was packed."""
    if not isinstance(value, _Columns):
        return value
    return tuple(map(value.kind._make, zip(*map(unpack, value.columns), strict=True)))
