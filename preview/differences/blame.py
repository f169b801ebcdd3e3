"""The edit behind a problem: many rules are over several lines, and only some of them were changed.

Found as in causes.py: each edit is undone alone, and whose end is the problem's end is behind it.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

from preview.differences.causes import TRIED, groups
from preview.differences.edits import Input, edits
from preview.differences.edits.edit import Edit
from preview.result import Cause
from schemas.facts.site import Site
from schemas.model.codes import Code
from schemas.model.problem import Problem
from schemas.rules import site_findings


def at_edits(problems: Sequence[Problem], before: Input, after: Input) -> tuple[Problem, ...]:
    """The problems of a later side, each at a line that was edited where one is behind it."""
    every = edits(before, after)
    lines = {(each.cause.file, each.cause.line) for each in every}
    if all((each.file, each.line) in lines for each in problems):
        return tuple(problems)
    together, now = groups(every), _codes(after.site)
    behind: dict[Code, Cause] = {}
    for group in together if len(together) <= TRIED else []:
        then = Counter() if len(together) == 1 else _codes_without(after.site, group, now)
        for code in now:
            if then[code] < now[code]:
                behind.setdefault(code, group[0].cause)
    return tuple(
        each if (each.file, each.line) in lines or each.code not in behind
        else _moved(each, behind[each.code])
        for each in problems
    )  # fmt: skip


def _codes(site: Site) -> Counter[Code]:
    return Counter(each.code for each in site_findings(site))


def _codes_without(site: Site, group: Sequence[Edit], now: Counter[Code]) -> Counter[Code]:
    """The findings on a site with some edits undone; those of before where that is no site."""
    try:
        for edit in group:
            site = edit.apply(site, False)
        return _codes(site)
    except (ValueError, TypeError, LookupError, AttributeError, StopIteration):
        return now


def _moved(problem: Problem, cause: Cause) -> Problem:
    """A problem at the line of an edit; the line that it was at is one of the others."""
    was = f"{problem.file}:{problem.line}:{problem.column} {problem.path}"
    more = " (a line that is gone)" if cause.gone else ""
    return replace(
        problem,
        file=cause.file,
        line=cause.line,
        column=cause.column,
        path=cause.path,
        value=cause.after,
        message=f"{problem.message}{more}",
        also=tuple(dict.fromkeys((was, *problem.also))),
    )
