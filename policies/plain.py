"""Values of plain objects, which may be malformed: every function takes any JSON."""

from collections.abc import Collection, Iterator

from policies.embedded import embedded_objects
from policies.rule import Json, Object


def bodies(each: Object, kinds: Collection[str]) -> Iterator[tuple[str, Json]]:
    """An object if it is of one of some kinds, and those of these kinds that are text in it, each
    with what its paths start with."""
    if each.kind in kinds:
        yield "", each.body
    for place, body in embedded_objects(each.body):
        if body["kind"] in kinds:
            yield f"{place}.", body


def text(value: object) -> str:
    """A text; empty where it is none."""
    return value if isinstance(value, str) else ""


def texts(value: object) -> list[str]:
    """The texts of a list; nothing where it is none."""
    return [each for each in value if isinstance(each, str)] if isinstance(value, list) else []
