"""What was found out about an object once: dozens of rules ask the same of it.

Objects are found again by identity, as comparing them would take longer than looking again; so
nobody may change an object between two questions.
"""

import json
from collections.abc import Callable
from functools import wraps
from typing import TypeVar

from policies.rule import Json
from schemas.kubernetes.outline import Blank, Leaf, LeafRead

Found = TypeVar("Found")
MOST = 8192
"""Objects that are remembered; the largest site has a tenth."""


def remembered(ask: Callable[[Json], Found]) -> Callable[[Json], Found]:
    """A function of an object that looks at each object once."""
    # The object is kept beside the answer: as long as it is, no other has its identity.
    answers: dict[int, tuple[Json, Found]] = {}

    @wraps(ask)
    def answer(body: Json) -> Found:
        known = answers.get(id(body))
        if known is not None:
            return known[1]
        if len(answers) >= MOST:
            answers.clear()
        found = ask(body)
        answers[id(body)] = (body, found)
        return found

    return answer


def as_json(body: Json) -> str:
    """An object as JSON, which is how an API server gets it."""
    if isinstance(body, Blank):
        raise LeafRead
    return words(body)


@remembered
def words(body: Json) -> str:
    """An object as JSON, without leaves of a blank one. To look for a key or for ``apiVersion`` in
    it, which no leaf has, is the fastest way to leave out objects that a rule is not about."""
    return json.dumps(body, separators=(",", ":"), ensure_ascii=False, default=_other)


def _other(value: object) -> str:
    # Whatever else a program's own objects hold is no JSON, and is taken as it is written.
    return "" if type(value) is Leaf else str(value)
