"""The verdict at the top of every report, and the table of its figures."""

from collections.abc import Sequence

from components.effects.vocabulary import Impact
from preview.report.blocks import Head, Row, Table
from preview.report.findings import Finding, findings
from preview.report.phrase import Phrase, join_phrases, plain
from preview.report.words import count, list_names, members, sum_doings
from preview.result import Preview, SitePreview, State

NOTHING = "nothing happens to any machine"
NOTHING_ELSE = "nothing else happens to any machine"
LONGEST = 120
"""Characters of a headline."""


def headline(preview: Preview) -> Phrase:
    """The verdict in one sentence of at most LONGEST characters."""
    return join_phrases(clauses(preview), "; ")


def clauses(preview: Preview) -> tuple[Phrase, ...]:
    """The parts of the sentence, the worst first, which semicolons join.

    What does not fit is counted; the table has all of it. That nothing happens is only said where
    everything is known.
    """
    forms: list[_Forms] = [(each.forms, each.short) for each in findings(preview) if each.forms]
    known = [s for e in preview.entries for s in members(e) if s.state is not State.INVALID]
    alive = [site for site in known if site.state not in (State.REMOVED, State.VANISHED)]
    found = _fit(forms or [_nothing(known)])
    used = len(plain(join_phrases(found, "; ")))
    if forms and alive and not sum_doings(known) and used + len(NOTHING_ELSE) + 3 <= LONGEST:
        found.append((NOTHING_ELSE,))
    start = plain(found[0][:1])  # words of ours: each clause starts with some
    found[0] = (start[0].upper() + start[1:], *found[0][1:])
    found[-1] = (*found[-1], ".")
    return tuple(found)


_Forms = tuple[Sequence[Phrase], Sequence[Phrase]]
"""The forms of a clause, and those that say less."""


def _fit(every: Sequence[_Forms]) -> list[Phrase]:
    """As many clauses as fit, each in its longest form that leaves room for the next; the rest as a
    number."""
    found: list[Phrase] = []
    room = LONGEST - 1  # the full stop
    for index, (forms, short) in enumerate(every):
        left = len(every) - index - 1
        rest = _size((_more(left),)) if left else 0
        following = _size(every[index + 1][0][0]) + rest if left else 0
        start = 0 if found else -2
        fitting = [form for form in (*forms, *short) if _size(form) + start + rest <= room]
        roomy = [form for form in forms if _size(form) + start + following <= room]
        if not fitting:
            return [*found, (_more(left + 1),)]
        found.append((roomy or fitting)[0])
        room -= _size(found[-1]) + start
    return found


def _size(clause: Phrase) -> int:
    """The characters of a clause and of what joins it to another."""
    return len(plain(clause)) + 2


def _more(number: int) -> str:
    return f"{number} more below"


def _nothing(sites: Sequence[SitePreview]) -> _Forms:
    objects = sum(len(site.objects) for site in sites)
    differ = f"{NOTHING}: {count(objects, 'object')} differ{'s' if objects == 1 else ''} in "
    names = list_names([site.name for site in sites], "site")
    if not objects:
        return [(NOTHING,)], []
    return [(differ, *names)], [(differ, count(len(sites), "site"))]


_HEADS = (Head("effect"), Head("figure"), Head("where"))


def figures(preview: Preview) -> Table | None:
    """Every finding with its figures, worst first; None where there is none."""
    found = findings(preview)
    return Table(_HEADS, tuple(map(_row, found))) if found else None


def _row(each: Finding) -> Row:
    return Row((each.what, each.figure, each.where), each.tone or Impact.NONE)
