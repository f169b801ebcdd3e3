"""The report as GitHub's Markdown: a comment on a pull request, and the summary of a job.

What others wrote only ever stands in code spans and fenced code: nothing in it is Markdown, HTML, a
mention or a reference there. The text is built as a tree of whole pieces (a table's row, a list's
item, a fold), and what does not fit is left out from the end, whole pieces only.
"""

import html
import re
from collections.abc import Iterable
from functools import partial
from typing import NamedTuple

from preview.report.blocks import Alert, Block, Code, Line, Part, Report, Room, Row, Section, Table
from preview.report.overview import report
from preview.report.phrase import Phrase, Piece, Strong, Value, plain
from preview.report.sketches import sketch
from preview.result import Preview

MARKER = "<!-- foresite-preview -->"
"""The comment's first line, by which it is found again."""
COMMENT = Room(groups=20, fields=8, lines=30, ranges=4, rows=40, pictures=1)
SUMMARY = Room(groups=100, fields=40, lines=60, ranges=20, rows=200, pictures=3)
SUMMARY_LIMIT = 1_000_000
"""Bytes; GitHub takes 1 MiB for a step.
Source: docs.github.com, "Workflow commands", job summaries."""
SMALLEST = 8_000
"""Bytes in which the headline always fits."""

_TICKS = re.compile(r"`+")
_ALERT = "> [!CAUTION]\n"


class Piecewise(NamedTuple):
    """Text that may be left out piece by piece from its end, between what opens and closes it."""

    opening: str
    pieces: tuple["str | Piecewise", ...]
    closing: str = ""


# --- what fits -----------------------------------------------------------------------------------
def render(preview: Preview, room: Room, limit: int, first: str = "") -> str:
    """The report below a ``first`` line, what was checked always at its end; ValueError for a limit
    below 8,000 bytes."""
    if limit < SMALLEST:
        raise ValueError(f"a limit of {limit} bytes leaves no room for a headline")
    found = report(preview, room)
    whole, last = _pieces(found), f"\n{_inline(found.checked.phrase)}\n"
    notice = (
        "\n---\n**Left out here, as it does not fit: {:,} lines.** "
        "The full report is in the artifact of this run.\n"
    )
    left_over = limit - _size(first) - _size(last) - _size(notice.format(_lines(whole)))
    text, left = _fit(whole, left_over)
    return first + text + (notice.format(left) if left else "") + last


def _size(text: str) -> int:
    return len(text.encode())


def _fit(piece: str | Piecewise, room: int) -> tuple[str, int]:
    """The start of a piece that fits into ``room`` bytes, and the number of lines left out."""
    if isinstance(piece, str):
        return (piece, 0) if _size(piece) <= room else ("", _lines(piece))
    room -= _size(piece.opening) + _size(piece.closing)
    found: list[str] = []
    left = 0
    for each in piece.pieces:
        text, missing = ("", _lines(each)) if left else _fit(each, room)
        found.append(text)
        room -= _size(text)
        left += missing
    inner = "".join(found)
    if room < 0 or (left and not inner):
        return "", _lines(piece)
    return piece.opening + inner + piece.closing, left


def _lines(piece: str | Piecewise) -> int:
    if isinstance(piece, str):
        return piece.rstrip("\n").count("\n") + 1
    return sum(map(_lines, piece.pieces))


# --- blocks ---------------------------------------------------------------------------------------
def _pieces(found: Report) -> Piecewise:
    """The whole report: first every entry, then what is folded of each."""
    facts = "".join(f"{_inline(line.phrase)}  \n" for line in found.facts)
    top = f"## {_inline(found.sentence)}\n\n{facts}\n"
    several = len(found.parts) > 1
    figures, sites = ([_table(each)] if each else [] for each in (found.figures, found.table))
    parts = (_part(part, alone=not several) for part in found.parts)
    folds = (_fold(part, each, named=several) for part in found.parts for each in part.folded)
    return Piecewise("", (top, *figures, *map(_alert, found.alerts), *sites, *parts, *folds))


def _alert(alert: Alert) -> Piecewise:
    texts = (_bullet(line).splitlines() for line in alert.lines)
    lines = ("".join(f"> {text}\n" for text in each) for each in texts)
    return Piecewise(_ALERT, (f"> **{_bold(alert.title)}**\n>\n", *lines), "\n")


def _part(part: Part, alone: bool) -> Piecewise:
    """An entry; what happens there is in the headline where it is the only one."""
    title = f"### {_bold(part.title if alone else (*part.title, ': ', *part.says))}\n\n"
    intro = "".join(f"{_inline(line.phrase)}\n\n" for line in part.intro)
    drawn = sketch(part.scene) if part.scene else []
    pictures = [_fence_lines(drawn, "text", "") + "\n"] if drawn else []
    sections = (
        Piecewise(f"**{_bold(section.title)}**\n\n", tuple(_blocks(section.blocks)), "\n")
        for section in part.sections
    )
    return Piecewise(title + intro, (*pictures, *sections))


def _fold(part: Part, section: Section, named: bool) -> Piecewise:
    of = f", {_summary(part.title)}" if named else ""
    opening = f"<details><summary>{_summary(section.title)}{of}</summary>\n\n"
    return Piecewise(opening, tuple(_blocks(section.blocks)), "\n</details>\n\n")


def _blocks(blocks: Iterable[Block]) -> Iterable[str | Piecewise]:
    """The blocks, with a blank line before a list and before a table that follows one."""
    last: type[Block] | None = None
    for block in blocks:
        gap = "\n" if last and type(block) is not last else ""
        if isinstance(block, Table):
            yield _table(block, gap)
        elif isinstance(block, Line):
            yield gap + _bullet(block)
        last = type(block)


def _table(table: Table, gap: str = "") -> Piecewise:
    heads = " | ".join(head.text for head in table.heads)
    rules = " | ".join("--:" if head.number else "---" for head in table.heads)
    rows = tuple(map(_row, table.rows))
    return Piecewise(f"{gap}| {heads} |\n| {rules} |\n", rows, "\n")


def _row(row: Row) -> str:
    # GitHub takes a backslash before a pipe away in a table, also in code.
    cells = (_inline(cell).replace("|", "\\|") for cell in row.cells)
    return f"| {' | '.join(cells)} |\n"


def _bullet(line: Line, indent: str = "") -> str:
    inner = indent + "  "
    below = (
        _fence_lines(each.lines, "diff", inner) if isinstance(each, Code) else _bullet(each, inner)
        for each in line.below
    )
    return f"{indent}- {_inline(line.phrase)}\n{''.join(below)}"


def _fence_lines(texts: Iterable[str], language: str, indent: str) -> str:
    lines = [_unmarked(line) for line in texts]
    fence = _fence("\n".join(lines), shortest=3)
    body = (f"{indent}{line}".rstrip() + "\n" for line in lines)
    return f"{indent}{fence}{language}\n{''.join(body)}{indent}{fence}\n"


# --- phrases --------------------------------------------------------------------------------------
def _inline(phrase: Phrase) -> str:
    return "".join(map(_piece, phrase))


def _bold(phrase: Phrase) -> str:
    """A phrase that stands out as a whole."""
    return "".join(piece.text if isinstance(piece, Strong) else _piece(piece) for piece in phrase)


def _summary(phrase: Phrase) -> str:
    """A phrase inside of HTML, where Markdown means nothing."""
    return "".join(
        f"<code>{html.escape(_unmarked(each.text))}</code>"
        if isinstance(each, Value)
        else html.escape(plain((each,)))
        for each in phrase
    )


def _piece(piece: Piece) -> str:
    if isinstance(piece, Value):
        return f"[{_span(piece.text)}]({piece.link})" if piece.link else _span(piece.text)
    if isinstance(piece, Strong):
        return f"**{piece.text}**"
    return piece


def _span(text: str) -> str:
    """A code span that nothing inside can end."""
    if not text:
        return "(empty)"
    text = _unmarked(text)
    ticks = _fence(text, shortest=1)
    pad = " " if text.startswith(("`", " ")) or text.endswith(("`", " ")) else ""
    return f"{ticks}{pad}{text}{pad}{ticks}"


def _fence(text: str, shortest: int) -> str:
    """More backticks than stand together in the text."""
    longest = max(map(len, _TICKS.findall(text)), default=0)
    return "`" * max(shortest, longest + 1)


_unmarked = partial(re.compile("<(?=!--)").sub, r"\\u003c")
"""A text without the start of an HTML comment: whoever looks for the marker finds only ours."""
