"""A memo of facts on an object: dozens of rules ask the same of it.

Objects are found again by identity, as comparing them would take longer than looking again; so
nobody may change an object between two questions.
"""

import json
from collections.abc import Callable
from functools import wraps
from typing import TypeVar

from policies.rule import Json

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


@remembered
def as_json(body: Json) -> str:
    """An object as JSON, which is how an API server gets it. To look for a word in it is the
    fastest way to leave out objects that a rule is not about."""
    # Whatever else a program's own objects hold is no JSON, and is taken as it is written.
    return json.dumps(body, separators=(",", ":"), ensure_ascii=False, default=str)
