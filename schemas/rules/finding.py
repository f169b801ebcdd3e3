"""The finding of a rule: a fault at a place in the data, in the words of a row; and its scope.

Where a place is in a file, the loader knows. A row (schemas/model/texts.py) has ``key`` where its
place is that of a key.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import NamedTuple, TypeVar

from schemas.facts.site import Site
from schemas.model.codes import Code
from schemas.model.site_file import Pool, Zone
from schemas.model.texts import nearest, rows, words

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
    site has any; else an AttributeError is a fault of the rule."""
    try:
        yield from items
    except AttributeError:
        if not holes:
            raise


def say(
    row: str,
    place: Path | HostCell | TextPlace,
    /,
    *values: object,
    also: tuple[Path, ...] = (),
    key: bool = False,
) -> Finding:
    """The finding of a row with its values at a place, and ``also`` at others; ``key``: its key."""
    code, message, fix = words(row, *values)
    return Finding(code, place, message, fix, key or rows()[row].get("key", False), also)


def advise(name: str, known: Iterable[str], otherwise: str = "") -> str:
    """What to write for an unknown name: the nearest known one, else ``otherwise``."""
    names = [*known]
    near = nearest(name, names)
    return f"write {near}" if near else otherwise or f"write one of {', '.join(names)}"


class InPool(NamedTuple):
    """A pool in its site."""

    site: Site
    number: int
    pool: Pool

    def path(self, *steps: str | int) -> Path:
        """The place of a field of the pool."""
        return ("pools", self.number, *steps)

    def kubelet_path(self, *steps: str | int) -> Path:
        """The place of a setting of the pool's kubelet: the site's, where it alone has some."""
        own = self.pool.kubelet is not None or "kubelet" not in self.site.file.model_fields_set
        return self.path("kubelet", *steps) if own else ("kubelet", *steps)


class InZone(NamedTuple):
    """A zone in its site."""

    site: Site
    number: int
    zone: Zone

    def path(self, *steps: str | int) -> Path:
        """The place of a field of the zone."""
        return ("zones", self.number, *steps)
