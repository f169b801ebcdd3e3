"""A memo of facts on an object: dozens of rules ask the same of it. Objects are found by identity,
as comparing takes longer than looking again; so nobody may change one between two questions."""

import json
from collections.abc import Callable
from functools import wraps
from typing import TypeVar

from policies.rule import Json
from schemas.kubernetes.outline import LONGEST, Blank, Leaf, blank, outline

Found = TypeVar("Found")
MOST = 8192
"""Objects that are remembered; the largest site has a tenth."""


def memoize(ask: Callable[[Json], Found]) -> Callable[[Json], Found]:
    """A function of an object that looks at each object once; at those of one outline together
    where it finds nothing in a blank one and reads no leaf."""
    # The object is kept beside the answer: as long as it is, no other has its identity.
    answers: dict[int, tuple[Json, Found]] = {}
    nothing: dict[bytes, Found | None] = {}

    @wraps(ask)
    def answer(body: Json) -> Found:
        known = answers.get(id(body))
        if known is not None:
            return known[1]
        if len(answers) >= MOST:
            answers.clear()
            nothing.clear()
        alike = outline(body)
        if alike and alike.key not in nothing:
            found_in_blank = ask_blank(lambda: ask(blank(body)))
            nothing[alike.key] = None if found_in_blank else found_in_blank
        shared = nothing[alike.key] if alike else None
        found = ask(body) if shared is None else shared
        answers[id(body)] = (body, found)
        return found

    return answer


def ask_blank(ask: Callable[[], Found]) -> Found | None:
    """The answer to a question on a blank object; None where it needs a leaf."""
    try:
        return ask()
    except Exception:  # noqa: BLE001  a leaf was read, or is no text to what takes texts
        return None


def may_have(body: Json, key: str) -> bool:
    """True if a map of the object may have a key: the fastest way to leave out objects that a rule
    is not about. A colon follows a key and no value, so a leaf does not matter."""
    return f'"{key}":' in _text(body)


def may_embed(body: Json) -> bool:
    """True if texts of the object may hold other objects: one API version is its own, and no leaf
    names one (schemas/kubernetes/outline.py)."""
    return _text(body).count("apiVersion") > 1


def size(body: Json) -> int:
    """Bytes of an object as JSON; of a blank one with the longest leaves."""
    return length(_text(body)) + (LONGEST if isinstance(body, Blank) else 0)


def length(value: str) -> int:
    """Bytes of a text in UTF-8; half of a pair of UTF-16, which JSON can hold, counts as well."""
    return len(value) if value.isascii() else len(value.encode(errors="surrogatepass"))


@memoize
def _text(body: Json) -> str:
    """An object as JSON, without the leaves of a blank one: only for questions of this module."""
    return json.dumps(body, separators=(",", ":"), ensure_ascii=False, default=_other)


def _other(value: object) -> str:
    # Whatever else a program's own objects hold is no JSON, and is taken as it is written.
    return "" if type(value) is Leaf else str(value)
