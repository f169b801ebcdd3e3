"""The report for a terminal: plain lines and aligned columns, the worst first."""

import sys
from collections.abc import Iterable, Iterator, Sequence
from itertools import zip_longest

from components.effects.vocabulary import Impact
from preview.report.blocks import Block, Code, Line, Names, Part, Report, Room, Table
from preview.report.overview import report
from preview.report.phrase import Phrase, Strong, plain
from preview.report.words import by_impact
from preview.result import Preview
from preview.wrapping import GAP, HANG, Styled, cut, fit_columns, size, wrap

ROOM = Room(groups=200, fields=40, lines=40, ranges=8, rows=60)
LONG = 50
"""Lines after which the headline has left the screen, so that it is said once more."""

_CODES = by_impact("colour")
_BOLD = "1"


def render(preview: Preview, colour: bool, width: int | None) -> str:
    """The report as text, wrapped to ``width``; ``colour`` with the escapes a terminal knows."""
    return "\n".join(_Terminal(colour, width).lines(report(preview, ROOM))) + "\n"


class _Terminal:
    """Lines of text, with or without colours, as wide as the terminal."""

    def __init__(self, colour: bool, width: int | None) -> None:
        self._colour = colour
        self._width = sys.maxsize if width is None else width

    def lines(self, found: Report) -> Iterator[str]:
        """Every line of the report."""
        lines = [*self._top(found)]
        for part in found.parts:
            lines += ["", *self._part(part)]
        for part in found.parts:
            for section in part.folded:
                of = f", {plain(part.title)}" if len(found.parts) > 1 else ""
                lines += ["", *self._text((plain(section.title) + of,), "", _BOLD)]
                lines += self._blocks(section.blocks, "  ")
        yield from (*lines, "", *self._text(found.checked.phrase, "", _CODES[Impact.NONE]))
        if len(lines) > LONG:
            yield from ("", *self._text(found.sentence, "", _CODES[found.tone]))

    def _top(self, found: Report) -> Iterator[str]:
        yield from self._text(found.sentence, "", _CODES[found.tone])
        for line in found.facts:
            yield from self._text(line.phrase, "  ")
        if found.figures:
            yield ""
            yield from self._table(found.figures, "  ")
        for alert in found.alerts:
            yield from ("", *self._text(alert.title, "", _CODES[Impact.REMOVE]))
            for line in alert.lines:
                yield from self._line(line, "  ")
        if found.table:
            yield ""
            yield from self._table(found.table, "")

    def _part(self, part: Part) -> Iterator[str]:
        yield from self._text((*part.title, ": ", *part.says), "", _CODES[part.tone])
        for line in part.intro:
            yield from self._line(line, "  ")
        for section in part.sections:
            yield ""
            yield from self._text(section.title, "  ", _BOLD)
            yield from self._blocks(section.blocks, "    ")

    def _blocks(self, blocks: Iterable[Block], indent: str) -> Iterator[str]:
        for block in blocks:
            if isinstance(block, Table):
                yield from self._table(block, indent)
            elif isinstance(block, Names):
                yield from self._text((plain(block.title), ": ", " ".join(block.names)), indent)
            else:
                yield from self._line(block, indent)

    def _line(self, line: Line, indent: str) -> Iterator[str]:
        yield from self._text(line.phrase, indent, strong=_CODES[line.tone] if line.tone else _BOLD)
        for below in line.below:
            if isinstance(below, Code):
                for text in below.lines:
                    yield from self._code(text, f"{indent}    ")
            else:
                yield from self._line(below, indent + "  ")

    def _code(self, text: str, indent: str) -> Iterator[str]:
        """A line of a compared text, whose blanks count."""
        room = max(1, self._width - len(indent))
        yield from (indent + part for part in cut(text, room, room))

    def _text(
        self, phrase: Phrase, indent: str, code: str = "", strong: str = _BOLD
    ) -> Iterator[str]:
        """A phrase with a hanging indent, all in ``code``, or what stands out in ``strong``."""
        pieces = [
            (plain((each,)), code or (strong if isinstance(each, Strong) else ""))
            for each in phrase
        ]
        room = self._width - len(indent)
        room -= HANG if size(plain(phrase)) > room else 0
        first, *rest = wrap(pieces, room)
        yield indent + self._paint(first)
        yield from (f"{indent}{' ' * HANG}{self._paint(each)}" for each in rest)

    def _table(self, table: Table, indent: str) -> Iterator[str]:
        """The columns as wide as their widest cell where that fits, numbers to the right."""
        heads = [head.text for head in table.heads]
        cells = [[plain(cell) for cell in row.cells] for row in table.rows]
        widest = [max(map(size, column)) for column in zip(heads, *cells, strict=True)]
        least = [max(map(size, head.split())) for head in heads]
        widths = fit_columns(widest, least, self._width - len(indent))
        codes = [_CODES[row.tone] if row.tone else "" for row in table.rows]
        for texts, code in zip([heads, *cells], [_CODES[Impact.NONE], *codes], strict=True):
            for line in self._row(texts, table, widths):
                yield indent + self._paint([(line, code)])

    def _row(self, texts: Sequence[str], table: Table, widths: Sequence[int]) -> Iterator[str]:
        wrapped = [
            ["".join(part for part, _ in line) for line in wrap([(text, "")], width)]
            for text, width in zip(texts, widths, strict=True)
        ]
        for line in zip_longest(*wrapped, fillvalue=""):
            padded = []
            for text, width, head in zip(line, widths, table.heads, strict=True):
                blank = " " * (width - size(text))
                padded.append(blank + text if head.number else text + blank)
            yield (" " * GAP).join(padded).rstrip()

    def _paint(self, pieces: Iterable[Styled]) -> str:
        """The text with escapes around each run of one style, blanks between its words included."""
        runs: list[list[str]] = []
        for text, code in pieces:
            if runs and (code == runs[-1][1] or text.isspace()):
                runs[-1][0] += text
            else:
                runs.append([text, code])
        return "".join(
            f"\033[{code}m{text}\033[0m" if self._colour and code else text for text, code in runs
        )
