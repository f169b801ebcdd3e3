"""Text for a terminal of a certain width: lines with a hanging indent, and columns that fit.

A word is never lost: one that is longer than the room goes on in the next line. Without a width
nothing is wrapped, so a pipe gets the same bytes whatever terminal started it.
"""

import re
import shutil
import sys
import unicodedata
from collections.abc import Iterable, Sequence

Styled = tuple[str, str]
"""A text, and the name of how it is shown; what that means is the caller's."""

NARROWEST = 40
"""Columns that are used, also of a terminal that has fewer."""
LEAST = 6
"""Columns that a column of a table keeps while that is possible; fewer hold no word."""
GAP = 2
"""Columns between those of a table."""
HANG = 4
"""Columns by which a line's continuation is indented: more than what belongs to the line."""
_PARTS = re.compile(r"\s+|\S+")


def terminal_width() -> int | None:
    """The columns of the terminal that is written to (or COLUMNS); None where it is none."""
    if sys.stdout is None or not sys.stdout.isatty():  # None where it is closed
        return None
    return max(NARROWEST, shutil.get_terminal_size().columns)


def size(text: str) -> int:
    """The columns that a text takes; wide characters take two."""
    if text.isascii():
        return len(text)
    return sum(1 + (unicodedata.east_asian_width(each) in "WF") for each in text)


def wrap(pieces: Iterable[Styled], room: int | None) -> list[list[Styled]]:
    """The lines of a text, each of at most ``room`` columns."""
    pieces = list(pieces)
    if room is None or size("".join(text for text, _ in pieces)) <= room:
        return [pieces]
    lines: list[list[Styled]] = [[]]
    used = 0
    for word in _words(pieces):
        need = sum(size(text) for text, _ in word)
        if used and used + 1 + need > room:
            lines.append([])
            used = 0
        if used:
            lines[-1].append((" ", ""))
            used += 1
        for text, style in word:
            for part in cut(text, room, room - used):
                if used + size(part) > room:
                    lines.append([])
                    used = 0
                lines[-1].append((part, style))
                used += size(part)
    return lines


def _words(pieces: Iterable[Styled]) -> Iterable[list[Styled]]:
    """The words of a text; a word may be of several styles."""
    word: list[Styled] = []
    for text, style in pieces:
        for part in _PARTS.findall(text):
            if not part.isspace():
                word.append((part, style))
            elif word:
                yield word
                word = []
    if word:
        yield word


def cut(text: str, room: int, first: int) -> Iterable[str]:
    """A text in parts of at most ``room`` columns, the first one of at most ``first``."""
    left = first if size(text) > room else room
    part, used = "", 0
    for character in text:
        if part and used + size(character) > left:
            yield part
            part, used, left = "", 0, room
        part, used = part + character, used + size(character)
    yield part


def fold(text: str, width: int | None) -> str:
    """A text whose lines are at most ``width`` columns wide; each keeps its indent."""
    found = []
    for line in text.split("\n"):
        if width is None or size(line) <= width:
            found.append(line)
            continue
        indent = len(line) - len(line.lstrip(" "))
        first, *rest = wrap([(line[indent:], "")], width - indent - HANG)
        found.append(" " * indent + "".join(part for part, _ in first))
        found += (" " * (indent + HANG) + "".join(part for part, _ in each) for each in rest)
    return "\n".join(found)


def fit_columns(widths: Sequence[int], least: Sequence[int], room: int | None) -> list[int]:
    """Widths of a table's columns that fit into ``room``: the widest ones give way first, none
    below its ``least`` width as long as another can."""
    found = list(widths)
    excess = 0 if room is None else sum(found) + GAP * (len(found) - 1) - room
    for floors in ([max(LEAST, each) for each in least], [1] * len(found)):
        while excess > 0:
            able = [n for n, width in enumerate(found) if width > floors[n]]
            if not able:
                break
            found[max(able, key=found.__getitem__)] -= 1
            excess -= 1
    return found
