"""The parts of a report, whatever its format: lines, tables, texts and sections of them."""

from collections.abc import Callable, Sequence
from typing import NamedTuple, TypeVar

from components.effects.vocabulary import Impact
from preview.forge import NO_FORGE, Forge
from preview.report.phrase import Phrase, join_phrases
from preview.report.scenes import Scene
from preview.report.words import count, first_few

T = TypeVar("T")


class Code(NamedTuple):
    """Lines of a compared text, each with its ``+``, ``-`` or blank in front."""

    lines: tuple[str, ...]


class Line(NamedTuple):
    """A line and what belongs to it; ``tone`` is the impact that it speaks of."""

    phrase: Phrase
    below: tuple["Line | Code", ...] = ()
    tone: Impact | None = None


def first_lines(
    items: Sequence[T], limit: int, noun: str, line: Callable[[T], Line]
) -> tuple[Line, ...]:
    """The lines of the first items, and one that counts the others."""
    some, more = first_few(items, limit)
    rest = (Line((f"and {count(more, f'more {noun}')}",)),) if more else ()
    return (*map(line, some), *rest)


class Head(NamedTuple):
    """A column's heading; ``number``: its cells are read from the right."""

    text: str
    number: bool = False


def heads(*texts: str) -> tuple[Head, ...]:
    """Headings; one that ends with ``:`` is of numbers."""
    return tuple(Head(text.removesuffix(":"), text.endswith(":")) for text in texts)


class Row(NamedTuple):
    """A table's row, a phrase a column."""

    cells: tuple[Phrase, ...]
    tone: Impact | None = None


class Table(NamedTuple):
    """Rows under headings."""

    heads: tuple[Head, ...]
    rows: tuple[Row, ...]


class Names(NamedTuple):
    """Every one of many names, for a reader who looks for one."""

    title: Phrase
    names: tuple[str, ...]
    tone: Impact | None = None


Block = Line | Table | Names


class Section(NamedTuple):
    """Blocks under a title; ``kind`` says which section it is."""

    kind: str
    title: Phrase
    blocks: tuple[Block, ...]


class Part(NamedTuple):
    """The effect of the change on an entry's sites; ``folded`` is for fewer readers. ``scene`` has
    the pictures of the site whose figures are shown; None where there is no room."""

    title: Phrase
    says: Phrase
    tone: Impact
    intro: tuple[Line, ...]
    sections: tuple[Section, ...]
    folded: tuple[Section, ...]
    scene: Scene | None


class Alert(NamedTuple):
    """Something to see to before anything else."""

    title: Phrase
    lines: tuple[Line, ...]


class Report(NamedTuple):
    """A whole report, worst first. ``headline`` is one sentence, in clauses that semicolons join;
    ``figures`` has all that it says and what it has no room for; ``table`` has a row for each part
    where there are several; ``checked`` says at the end what was checked and what was not."""

    headline: tuple[Phrase, ...]
    tone: Impact
    figures: Table | None
    facts: tuple[Line, ...]
    alerts: tuple[Alert, ...]
    table: Table | None
    parts: tuple[Part, ...]
    checked: Line

    @property
    def sentence(self) -> Phrase:
        """The headline in one piece."""
        return join_phrases(self.headline, "; ")


class Room(NamedTuple):
    """How much of each thing a format shows."""

    groups: int
    """Reasons, and objects that change alike, of an entry."""
    fields: int
    """Changed fields of an object."""
    lines: int
    """Lines of a compared text."""
    ranges: int
    """Ranges of names in a line."""
    rows: int
    """Rows of the table of all entries."""
    every_host: bool = False
    sources: bool = False
    pictures: int = 0
    """Entries whose pictures are drawn, the worst ones."""
    forge: Forge = NO_FORGE
