"""The data of a file with the place of each part, some of which another file may say."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple, TypeAlias

from schemas.reading.yaml_text import locate

Json: TypeAlias = "dict[str, Json] | list[Json] | str | int | float | bool | None"
Path: TypeAlias = tuple[str | int, ...]


class Branch(NamedTuple):
    """The start of a collection, and its keys and values; a scalar's place is its index alone."""

    start: int
    keys: dict[str | int, int]
    values: "dict[str | int, Place]"


Place: TypeAlias = int | Branch


class Given(NamedTuple):
    """A part of a document that another one says."""

    document: "Document"
    path: Path


@dataclass(frozen=True, slots=True, eq=False)
class Document:
    """The data of one file, with places; equal to itself alone. ``given``: parts that another file
    says, ``replaced``: what that would say of parts here (schemas/reading/regions.py)."""

    file: str
    value: Json
    _text: str = field(repr=False)
    _root: Place = field(repr=False)
    given: Mapping[Path, Given] = field(default_factory=dict)
    replaced: Mapping[Path, Given] = field(default_factory=dict)

    def source(self, path: Path) -> Given:
        """The document that says the value at ``path``, and its path there."""
        for size in range(1, len(path) + 1) if self.given else ():
            if path[:size] in self.given:
                document, start = self.given[path[:size]]
                return Given(document, (*start, *path[size:]))
        return Given(self, path)

    def origin(self, path: Path) -> Given:
        """As ``source``; for a section that this file lacks, the document that says parts of it."""
        found = self.source(path)
        if found.document is self and len(path) == 1 and self.given:
            written = self._root.values if isinstance(self._root, Branch) else {}
            if path[0] not in written:
                below = (each for key, each in self.given.items() if key[0] == path[0])
                return next((Given(each.document, path) for each in below), found)
        return found

    def place(self, path: Path, *, key: bool = False) -> tuple[str, int, int]:
        """The file that says the value at ``path``, and the ``position`` there."""
        document, at = self.origin(path)
        return document.file, *document.position(at, key=key)

    def position(self, path: Path, *, key: bool = False) -> tuple[int, int]:
        """Line and column, from 1, of the value at ``path``, or with ``key`` of its key, if it has
        one; where the path does not exist, of the nearest parent that does."""
        place = self._root
        start = start_of(place)
        for step in path:
            if isinstance(place, int) or step not in place.values:
                break
            keys, place = place.keys, place.values[step]
            start = keys.get(step, start_of(place)) if key else start_of(place)
        return locate(self._text, start)


def start_of(place: Place) -> int:
    """The index in the text where a part begins."""
    return place if isinstance(place, int) else place.start
