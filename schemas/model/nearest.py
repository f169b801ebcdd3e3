"""The known name that a misspelt one was probably meant to be."""

import functools
from collections.abc import Iterable

_LONGEST = 64
"""Longer words are no misspelt names, and comparing them takes time."""


def nearest(word: str, known: Iterable[str], likeness: float = 0.6) -> str | None:
    """The name of ``known`` that ``word`` most resembles; None where none is as close (up to 1)."""
    return _nearest(word, tuple(known), likeness)


@functools.lru_cache(maxsize=4096)
def _nearest(word: str, known: tuple[str, ...], likeness: float) -> str | None:
    import difflib  # what has no fault need not wait for it

    if len(word) > _LONGEST:
        return None
    same = (name for name in known if name.casefold() == word.casefold())
    return next(same, None) or next(iter(difflib.get_close_matches(word, known, 1, likeness)), None)
