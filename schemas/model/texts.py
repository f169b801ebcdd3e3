"""Texts of problems as data: a row for each fault, by the name of the fault. The tables of
messages/ in schemas/model, schemas/reading and schemas/rules have ``code``, ``message`` and ``fix``
of a fault with values in braces, and ``values`` with their names in order."""

from collections.abc import Iterable
from functools import cache, lru_cache
from pathlib import Path
from typing import Any, NamedTuple

from schemas.kubernetes.tables import read_table
from schemas.model.codes import Code

SCHEMAS = Path(__file__).resolve().parents[1]
TABLES = tuple(sorted(SCHEMAS.glob("*/messages/*.toml")))


class Words(NamedTuple):
    """The code of a fault, what is wrong, and what to write instead."""

    code: Code
    message: str
    fix: str


@cache
def rows() -> dict[str, dict[str, Any]]:
    """The rows of all tables, by name; what has no fault reads none."""
    return {name: row for path in TABLES for name, row in read_table(str(path)).items()}


def words(row: str, *values: object) -> Words:
    """The words of a row with its values."""
    own = rows()[row]
    filled = dict(zip(own.get("values", ()), values, strict=True))
    return Words(Code(own["code"]), own["message"].format(**filled), own["fix"].format(**filled))


_LONGEST = 64
"""Longer words are no misspelt names, and comparing them takes time."""


def nearest(word: str, known: Iterable[str], likeness: float = 0.6) -> str | None:
    """The name of ``known`` that ``word`` most resembles; None where none is as close (up to 1)."""
    return _nearest(word, tuple(known), likeness)


@lru_cache(maxsize=4096)
def _nearest(word: str, known: tuple[str, ...], likeness: float) -> str | None:
    import difflib  # what has no fault need not wait for it

    if len(word) > _LONGEST:
        return None
    same = (name for name in known if name.casefold() == word.casefold())
    return next(same, None) or next(iter(difflib.get_close_matches(word, known, 1, likeness)), None)
