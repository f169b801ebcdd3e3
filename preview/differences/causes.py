"""The edits behind each object: found by applying each edit alone and looking what differs.

True by construction for every field and component, as in components/trace.py; nobody annotates
where a value goes. An edit that makes no site alone is tried the other way round: undone. So is the
edit behind a problem found, as many rules are over several lines: whose end is the problem's end.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import TypeVar

from components.effects.vocabulary import Name, ObjectChange, Side, SiteChange
from components.making.manifest import Target
from components.site import objects_by_name
from components.source import site_of
from preview.differences import connections
from preview.differences.edits import Input, edits
from preview.differences.edits.edit import Edit
from preview.result import Cause
from schemas.facts.site import Site
from schemas.kubernetes.grouping import group_by_key
from schemas.model.codes import Code
from schemas.model.problem import Problem
from schemas.rules import site_findings

T = TypeVar("T")
TRIED = 24
"""Edits that are done one by one; each makes a site's objects once more. Edits in one host's line
count once. Beyond, an object is traced to all of them."""
NAMED = 8
"""Edits that one object is traced to, at most; it is the first ones that are named."""


def causes(site: SiteChange, edits: list[Edit]) -> Mapping[Name, tuple[Cause, ...]]:
    """The edits behind each object that differs, in the order of the files."""
    if site.before is None or site.after is None:
        file = f"sites/{site.name}.yaml"
        said = ("", "a new site") if site.before is None else ("the site", "")
        whole = Cause(file, 1, 1, "", *said, gone=site.after is None)
        return dict.fromkeys(site.changes, (whole,))
    together = groups(edits)
    contexts = [edit for edit in edits if edit.cause.path in connections.PATHS]
    if len(together) == 1:
        return dict.fromkeys((*site.changes, *_reconnected_objects(site)), _first(together[0]))
    found: dict[Name, list[Edit]] = {name: [] for name in site.changes}
    for group in together if len(together) <= TRIED else []:
        for name in _carriers(site.changes, (site.before, site.after), group):
            found[name] += group
    every = [edit for group in together for edit in group]
    lines = group_by_key((edit.host, edit) for edit in every)
    for name, mine in found.items():
        # An object of a host has the host's name.
        own = lines.get(site.changes[name].one.key[3], ())
        mine += [edit for edit in own if edit not in mine]
        if not mine and site.changes[name].one.target is Target.SITE:
            mine += contexts
    told = {name: _first(mine or every) for name, mine in found.items()}
    return {**dict.fromkeys(_reconnected_objects(site), _first(contexts)), **told}


def _reconnected_objects(site: SiteChange) -> set[Name]:
    """The objects that stand for those of a cluster that another context leads to."""
    return {effect.name for effect in connections.effects(site)}


def _first(edits: Iterable[Edit]) -> tuple[Cause, ...]:
    return tuple(edit.cause for edit in edits)[:NAMED]


def groups(edits: list[Edit]) -> list[list[Edit]]:
    """Edits that are done together: those of one host's line; of many hosts all of them."""
    hosts = {edit.host for edit in edits if edit.host}
    many = "hosts" if len(hosts) > TRIED else ""

    def key(index: int, edit: Edit) -> str | int:
        return (many or edit.host) if edit.host else index

    return list(group_by_key((key(index, edit), edit) for index, edit in enumerate(edits)).values())


def _carriers(
    changes: Mapping[Name, ObjectChange], sides: tuple[Side, Side], group: list[Edit]
) -> set[Name]:
    """The changed objects that carry a group of edits."""
    before, after = sides
    made = _with_edits(objects_by_name, site_of(before), group, forward=True)
    found = {n for n in changes if made.get(n) != before.objects.get(n)} if made else set()
    if made is None:
        made = _with_edits(objects_by_name, site_of(after), group, forward=False)
        found = {n for n in changes if made is not None and made.get(n) != after.objects.get(n)}
    # Of many lines that were edited together each host's object is traced to its own.
    hosts = {edit.host for edit in group if edit.host}
    return {name for name in found if changes[name].one.key[3] not in hosts}


def _with_edits(
    make: Callable[[Site], T], site: Site, group: Iterable[Edit], *, forward: bool
) -> T | None:
    """What is made of a site with a group of edits applied (or undone); None where it is none."""
    try:
        for edit in group:
            site = edit.apply(site, forward)
        return make(site)
    except (ValueError, TypeError, LookupError, StopIteration):
        return None


def at_edits(problems: Sequence[Problem], before: Input, after: Input) -> tuple[Problem, ...]:
    """The problems of a later side, each at a line that was edited where one is behind it."""
    every = edits(before, after)
    lines = {(each.cause.file, each.cause.line) for each in every}
    if all((each.file, each.line) in lines for each in problems):
        return tuple(problems)
    together, now = groups(every), _codes(after.site)
    behind: dict[Code, Cause] = {}
    for group in together if len(together) <= TRIED else []:
        then = _with_edits(_codes, after.site, group, forward=False)
        then = Counter() if len(together) == 1 else now if then is None else then
        for code in now:
            if then[code] < now[code]:
                behind.setdefault(code, group[0].cause)
    return tuple(
        each if (each.file, each.line) in lines or each.code not in behind
        else _moved(each, behind[each.code])
        for each in problems
    )  # fmt: skip


def _codes(site: Site) -> Counter[Code]:
    """The codes of a site's problems. Raises ValueError where too little is left of it."""
    try:
        return Counter(each.code for each in site_findings(site))
    except AttributeError as error:
        raise ValueError(str(error)) from None


def _moved(problem: Problem, cause: Cause) -> Problem:
    """A problem at the line of an edit; the line that it was at is one of the others."""
    was = f"{problem.file}:{problem.line}:{problem.column} {problem.path}"
    more = " (a line that is gone)" if cause.gone else ""
    at = {name: getattr(cause, name) for name in ("file", "line", "column", "path")}
    message, also = f"{problem.message}{more}", tuple(dict.fromkeys((was, *problem.also)))
    return replace(problem, **at, value=cause.after, message=message, also=also)
