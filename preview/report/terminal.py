"""The report for a terminal: plain lines and aligned columns, the worst first."""

from collections.abc import Iterable, Iterator

from components.effects.vocabulary import Impact
from preview.report.blocks import Block, Code, Line, Names, Part, Report, Room, Section, Table
from preview.report.overview import report
from preview.report.phrase import Phrase, Strong, plain
from preview.result import Preview

ROOM = Room(groups=200, fields=40, lines=40, ranges=8, rows=60)
LONG = 50
"""Lines after which the headline has left the screen, so that it is said once more."""

_COLOURS = {
    Impact.REMOVE: "1;31",
    Impact.UNKNOWN: "1;35",
    Impact.REIMAGE: "1;31",
    Impact.REBOOT: "1;33",
    Impact.DRAIN: "33",
    Impact.POD_RESTART: "36",
    Impact.ADD: "32",
    Impact.NONE: "2",
}
_BOLD = "1"


def render(preview: Preview, colour: bool) -> str:
    """The report as text; ``colour`` with the escapes that a terminal knows."""
    return "\n".join(_Terminal(colour).lines(report(preview, ROOM))) + "\n"


class _Terminal:
    """Lines of text, with or without colours."""

    def __init__(self, colour: bool) -> None:
        self._colour = colour

    def lines(self, found: Report) -> Iterator[str]:
        """Every line of the report."""
        lines = [*self._top(found)]
        for part in found.parts:
            lines += ["", *self._part(part)]
        for part in found.parts:
            for section in part.folded:
                lines += ["", *self._fold(part, section, len(found.parts) > 1)]
        yield from (*lines, "", self._dim(plain(found.checked.phrase)))
        if len(lines) > LONG:
            yield from ("", self._paint(plain(found.sentence), found.tone))

    def _top(self, found: Report) -> Iterator[str]:
        yield self._paint(plain(found.sentence), found.tone)
        for line in found.facts:
            yield f"  {self._phrase(line.phrase)}"
        if found.figures:
            yield ""
            yield from self._table(found.figures, "  ")
        for alert in found.alerts:
            yield from ("", self._paint(plain(alert.title), Impact.REMOVE))
            for line in alert.lines:
                yield from self._line(line, "  ")
        if found.table:
            yield ""
            yield from self._table(found.table, "")

    def _part(self, part: Part) -> Iterator[str]:
        yield self._paint(plain((*part.title, ": ", *part.says)), part.tone)
        for line in part.intro:
            yield from self._line(line, "  ")
        for section in part.sections:
            yield ""
            yield f"  {self._bold(plain(section.title))}"
            yield from self._blocks(section.blocks, "    ")

    def _fold(self, part: Part, section: Section, several: bool) -> Iterator[str]:
        of = f", {plain(part.title)}" if several else ""
        yield self._bold(plain(section.title) + of)
        yield from self._blocks(section.blocks, "  ")

    def _blocks(self, blocks: Iterable[Block], indent: str) -> Iterator[str]:
        for block in blocks:
            if isinstance(block, Table):
                yield from self._table(block, indent)
            elif isinstance(block, Names):
                yield f"{indent}{plain(block.title)}: {' '.join(block.names)}"
            else:
                yield from self._line(block, indent)

    def _line(self, line: Line, indent: str) -> Iterator[str]:
        yield indent + self._phrase(line.phrase, line.tone)
        for below in line.below:
            if isinstance(below, Code):
                yield from (f"{indent}    {text}" for text in below.lines)
            else:
                yield from self._line(below, indent + "  ")

    def _table(self, table: Table, indent: str) -> Iterator[str]:
        """The columns as wide as their widest cell, numbers to the right."""
        heads = [head.text for head in table.heads]
        cells = [[plain(cell) for cell in row.cells] for row in table.rows]
        widths = [max(map(len, column)) for column in zip(heads, *cells, strict=True)]

        def align(texts: Iterable[str]) -> str:
            columns = zip(texts, widths, table.heads, strict=True)
            padded = (t.rjust(w) if head.number else t.ljust(w) for t, w, head in columns)
            return (indent + "  ".join(padded)).rstrip()

        yield self._dim(align(heads))
        for row, texts in zip(table.rows, cells, strict=True):
            yield self._paint(align(texts), row.tone)

    def _phrase(self, phrase: Phrase, tone: Impact | None = None) -> str:
        return "".join(
            self._paint(piece.text, tone, _BOLD) if isinstance(piece, Strong) else plain((piece,))
            for piece in phrase
        )

    def _paint(self, text: str, tone: Impact | None, otherwise: str = "") -> str:
        return self._escape(text, _COLOURS[tone] if tone else otherwise)

    def _bold(self, text: str) -> str:
        return self._escape(text, _BOLD)

    def _dim(self, text: str) -> str:
        return self._escape(text, _COLOURS[Impact.NONE])

    def _escape(self, text: str, code: str) -> str:
        return f"\033[{code}m{text}\033[0m" if self._colour and code else text
