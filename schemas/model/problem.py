"""One kind of problem for every fault a user can make, with the place, the way out, and its order;
how they are shown belongs to the command line."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from schemas.kubernetes.masking import mask, shorten
from schemas.model.codes import Code
from schemas.model.texts import Words

SHOWN = 8
"""Other places of a problem that are shown."""


@dataclass(frozen=True, slots=True, order=True)
class Problem:
    """A fault at a place.

    ``file`` is relative to the repository; ``line`` and ``column`` count from 1 (0: the file as a
    whole); ``path`` is where in the data (``pools.v100.rollout``), empty where there is none;
    ``value`` is what was written there, shortened; ``message`` says what is wrong and ``fix`` what
    to write instead. Why it hurts follows from the code, or is a ``reason`` of its own, as where
    one code stands for many rules. ``stands_for``: how many problems this one is in place of.
    ``also``: the other places of a rule over several lines.
    """

    file: str
    line: int
    column: int
    code: Code
    path: str
    value: str
    message: str
    fix: str
    reason: str = ""
    also: tuple[str, ...] = ()
    stands_for: int = 1

    def __post_init__(self) -> None:
        # Whoever words a problem need not think of keys: here is where none gets through.
        for name in ("file", "path", "value", "message", "fix", "reason"):
            said = getattr(self, name)
            shown = mask(said)
            if shown != said:
                object.__setattr__(self, name, shown)

    @property
    def why(self) -> str:
        """The effect of the fault on a site."""
        return self.reason or self.code.why

    def __str__(self) -> str:
        """The problem for a person: the place, what is wrong, why it hurts, what to write."""
        place = self.file + (f":{self.line}:{self.column}" if self.line else "")
        at = f" {self.path}" if self.path else ""
        more = f" and {len(self.also) - SHOWN} more" if len(self.also) > SHOWN else ""
        also = f"  also: {', '.join(self.also[:SHOWN])}{more}\n" if self.also else ""
        said = f"{place}: {self.code.value}{at}\n  {self.message}\n{also}"
        return f"{said}  why: {self.why}\n  fix: {self.fix}"

    def as_dict(self) -> dict[str, str | int | list[str]]:
        """The problem as plain data for ``--format json``; ``also`` where there is any."""
        names = ("file", "line", "column", "code", "path", "value", "message", "why", "fix")
        found = {name: getattr(self, name) for name in names} | {"code": self.code.value}
        return {**found, "also": list(self.also)} if self.also else found


def problem_at(
    file: str, at: tuple[int, int], said: Words, path: str = "", value: str = ""
) -> Problem:
    """A problem in the words of a row, at a line and a column; the value is shortened."""
    return Problem(file, *at, said.code, path, shorten(value), said.message, said.fix)


def whole_file(file: str, code: Code, message: str, fix: str) -> Problem:
    """A problem of a file as a whole."""
    return problem_at(file, (0, 0), Words(code, message, fix))


MAX_PROBLEMS = 100
"""Problems of a site, and of a command, that are shown; the others are counted."""
MAX_FINDINGS = 500
"""Findings of a site that are placed in its files, as placing takes time; others are counted."""


def first_problems(
    problems: Sequence[Problem], unshown: int = 0, most: int = MAX_PROBLEMS
) -> list[Problem]:
    """The first problems; one more stands for all others, and for ``unshown`` ones."""
    left = problems[most:]
    more = unshown + number_of(left)
    if not more:
        return list(problems)
    at = (left or problems)[0 if left else -1]
    message = f"{more:,} more problem{'s are' if more > 1 else ' is'} not shown"
    fix = "correct those that are shown, and check again"
    rest = Problem(
        at.file, at.line, at.column, Code.MORE_PROBLEMS, "", "", message, fix, stands_for=more
    )
    return [*problems[:most], rest]


def number_of(problems: Iterable[Problem]) -> int:
    """How many problems there are, with those that are not shown."""
    return sum(each.stands_for for each in problems)
