"""Pieces of a sentence, and how text that others wrote becomes safe to show.

Whatever comes out of a repository may be crafted: to move a terminal's cursor, to turn the order of
a line round, to be as long as a film. Here it becomes one line of bounded length in which every
character can be seen. Each format then quotes the pieces in its own way.
"""

import json
import re
import unicodedata
from collections.abc import Iterable
from itertools import accumulate
from os.path import commonprefix
from typing import Any, NamedTuple

from components.effects.vocabulary import ABSENT

NAME = 80
"""Characters of a name or a value that are shown."""
SENTENCE = 600
"""Characters of a message that are shown."""

_NAMED = {"\n": "\\n", "\r": "\\r", "\t": "\\t"}
_HIDDEN = {"Mn", "Me"}
"""Marks: they have no place of their own, and cover what stands beside them."""
_BLANK = frozenset("\u115f\u1160\u2800\u3164\uffa0")
"""Letters and signs that look like a space."""
_FROM_RIGHT = {"R", "AL", "AN"}
"""Unicode classes of right-to-left text, which would turn "before → after" round."""


class Value(NamedTuple):
    """A name or a value as it can be seen; ``role`` is ``before`` or ``after`` in a change.
    ``link`` is an address with no character that a format gives a meaning."""

    text: str
    role: str = ""
    link: str = ""


class Strong(NamedTuple):
    """Words of ours that stand out."""

    text: str


Piece = str | Value | Strong
Phrase = tuple[Piece, ...]
"""Plain strings are words of ours, free of every format's special characters."""


def value(content: object, limit: int = NAME, role: str = "") -> Value:
    """A name, or anything else that is shown as it is."""
    return Value(visible(str(content), limit), role)


def visible(text: str, limit: int = NAME) -> str:
    """``text`` as one line of at most ``limit`` characters, each of which can be seen."""
    if len(text) <= limit and text.isascii() and text.isprintable():
        return text
    pieces = [_show_character(character) for character in text[: limit + 1]]
    if sum(map(len, pieces)) <= limit:
        return "".join(pieces)
    sizes = accumulate(map(len, pieces), initial=1)  # of the dots
    next(sizes)
    return "".join(piece for piece, size in zip(pieces, sizes, strict=True) if size <= limit) + "…"


def _show_character(character: str) -> str:
    if character.isascii() and character.isprintable():
        return character
    hidden = (
        not character.isprintable()
        or character in _BLANK
        or unicodedata.category(character) in _HIDDEN
        or unicodedata.bidirectional(character) in _FROM_RIGHT
    )
    return _NAMED.get(character, f"\\u{ord(character):04x}") if hidden else character


# --- values of fields -----------------------------------------------------------------------------
def literal(content: Any) -> str:
    """A field's value: text as it is, unless it would pass for something else; others as JSON."""
    if not isinstance(content, str):
        return json.dumps(content, ensure_ascii=False, default=str)
    if len(content) > NAME:
        return content
    try:
        json.loads(content)
        other = True
    except ValueError:
        other = content == ""
    if other or content != content.strip():
        return json.dumps(content, ensure_ascii=False)
    return content


def change(before: Any, after: Any, limit: int = NAME) -> Phrase:
    """``before → after`` in words; of two long values the part where they part ways."""
    if before is ABSENT and after is ABSENT:
        return ("changed",)
    if before is ABSENT:
        return ("new: ", value(literal(after), limit, "after"))
    if after is ABSENT:
        return ("gone: ", value(literal(before), limit, "before"))
    return contrast(literal(before), literal(after), limit)


def contrast(old: str, new: str, limit: int = NAME) -> Phrase:
    """``old → new`` for two texts."""
    if max(len(old), len(new)) > limit:
        start = max(0, len(commonprefix((old, new))) - limit // 4)  # noqa: RUF071  no paths
        old, new = (("…" + text[start:] if start else text) for text in (old, new))
    return (value(old, limit, "before"), " → ", value(new, limit, "after"))


# --- sentences ------------------------------------------------------------------------------------
_PLAIN = re.compile(
    r"\(?(?![a-f]{7,})(?:[A-Z]?[a-z]+(?:-[a-z]+)*(?:'[a-z]{1,2})?|[A-Z]{1,6}(?:'?s)?"
    r"|[0-9]{1,6}(?:[.,][0-9]{1,3})?%?|%)\)?[.,;:!?]?"
)
"""Words and numbers that no format, and no reader of mentions, references or commits, takes for
more than that."""
_WORD = re.compile(r"(\(?`[^`]+`[.,;:)]*)(?!\S)|\S+")
"""A word, or several that a sentence quotes in backticks."""
_NUMBERED = re.compile(r"[0-9]+[.)].*")
_QUOTED = re.compile(r"(\(?)(.*?)([.,;:)]*)")


def prose(text: str, limit: int = SENTENCE) -> Phrase:
    """A sentence of someone else: what is not plainly a word is quoted, as a value is."""
    runs: list[tuple[str, bool]] = []
    for match in _WORD.finditer(visible(text, limit)):
        marked = match[1] is not None
        word = match[0].replace("`", "") if marked else match[0]
        # A number with a point at the start of a line would be an item of a list.
        start = not runs and bool(_NUMBERED.fullmatch(word))
        quoted = marked or start or not _PLAIN.fullmatch(word)
        if runs and runs[-1][1] == quoted:
            runs[-1] = (f"{runs[-1][0]} {word}", quoted)
        else:
            runs.append((word, quoted))
    return tuple(_space_runs(runs or [("nothing is said", False)]))


def _space_runs(runs: list[tuple[str, bool]]) -> Iterable[Piece]:
    """The runs with the spaces between them, and with punctuation outside of what is quoted."""
    for index, (text, quoted) in enumerate(runs):
        space = " " if index else ""
        match = _QUOTED.fullmatch(text) if quoted else None
        if match and match[2]:
            yield from (space + match[1], Value(match[2]), match[3])
        else:
            yield from (space, Value(text) if quoted else text)


def join_phrases(phrases: Iterable[Phrase], between: str = ", ") -> Phrase:
    """Several phrases as one."""
    found: list[Piece] = []
    for phrase in phrases:
        found += ([between] if found else []) + list(phrase)
    return tuple(found)


def plain(phrase: Phrase) -> str:
    """The phrase without any marks: what a person would read out."""
    return "".join(each if isinstance(each, str) else each.text for each in phrase)
