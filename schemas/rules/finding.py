"""The finding of a rule: a fault at a place in the data. Where that is in a file, the loader
knows."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import NamedTuple, TypeVar

from schemas.model.codes import Code

Path = tuple[str | int, ...]
T = TypeVar("T")


class HostCell(NamedTuple):
    """A place in the host list: a line, counting from 1, and the name of a column."""

    line: int
    column: str


class TextPlace(NamedTuple):
    """A place in a file that the site names at ``named``; line and column count from 1."""

    file: str
    line: int
    column: int
    named: Path


@dataclass(frozen=True, slots=True)
class Finding:
    """A fault: its code, where it is (a path in the site file, a cell of the host list, or a place
    in a file that the site names), what is wrong, and what to write instead. ``key`` says that the
    path leads to a key, not to its value. ``also`` are the other lines of a rule over several, such
    as those of a sum."""

    code: Code
    place: Path | HostCell | TextPlace
    message: str
    fix: str
    key: bool = False
    also: tuple[Path, ...] = ()


def attempt(items: Iterable[T], *, holes: bool) -> Iterator[T]:
    """The findings of a rule until it looks into a hole (schemas/reading/partial.py), where the
    site has any.

    A site without holes hides nothing: an AttributeError is then a fault of the rule.
    """
    try:
        yield from items
    except AttributeError:
        if not holes:
            raise
