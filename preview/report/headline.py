"""The verdict at the top of every report, and the table of its figures."""

from collections.abc import Mapping, Sequence

from components.effects.vocabulary import Impact
from preview.report.blocks import Row, Table, heads
from preview.report.findings import MOVED, Finding, findings
from preview.report.phrase import Phrase, join_phrases, plain
from preview.report.words import count, list_names, sum_doings
from preview.result import Preview, SitePreview, State

NOTHING = "nothing happens to any machine"
NOTHING_ELSE = "nothing else happens to any machine"
LONGEST = 120
"""Characters of a headline."""


def headline(preview: Preview) -> Phrase:
    """The verdict in one sentence of at most LONGEST characters."""
    return join_phrases(clauses(preview), "; ")


def clauses(preview: Preview) -> tuple[Phrase, ...]:
    """The parts of the sentence, the worst first, which semicolons join. What does not fit is
    counted; the table has all of it. That nothing happens is only said where everything is
    known."""
    told = [each for each in findings(preview) if each.forms]
    known = [site for site in preview.sites if site.state is not State.INVALID]
    alive = [site for site in known if site.state not in (State.REMOVED, State.VANISHED)]
    found = _fit(told) if told else [_nothing(known)]
    used = len(plain(join_phrases(found, "; ")))
    if told and alive and not sum_doings(known) and used + len(NOTHING_ELSE) + 3 <= LONGEST:
        found.append((NOTHING_ELSE,))
    start = plain(found[0][:1])  # words of ours: each clause starts with some
    found[0] = (start[0].upper() + start[1:], *found[0][1:])
    found[-1] = (*found[-1], ".")
    return tuple(found)


def _fit(told: Sequence[Finding]) -> list[Phrase]:
    """As many findings as fit, and the number of the others. All that concerns hosts gets room for
    its shortest form first, the worst before others. What is left lengthens them from the worst on.
    What harms nobody yet takes what then is left."""
    found: dict[int, Phrase] = {}
    full = False
    weighty = [index for index, each in enumerate(told) if each.hosts or each.rank > MOVED]
    for index in sorted(weighty, key=lambda index: not told[index].hosts):
        # A lesser effect on hosts never takes the room of a worse one.
        if full and told[index].hosts:
            continue
        said = {plain(form) for form in found.values()}
        forms = [form for form in told[index].forms if plain(form) not in said]
        least = [*sorted(forms, key=_size)[:1], *told[index].vague]
        tried = ({**found, index: form} for form in least if plain(form) not in said)
        found = next((each for each in tried if _fits(each, len(told))), found)
        full |= told[index].hosts and index not in found
    for index in (*sorted(found), *(each for each in range(len(told)) if each not in weighty)):
        longer = ({**found, index: form} for form in told[index].forms)
        found = next((each for each in longer if _fits(each, len(told))), found)
    return _join(found, len(told))


def _join(found: Mapping[int, Phrase], number: int) -> list[Phrase]:
    left = number - len(found)
    return [*(found[index] for index in sorted(found)), *([(f"{left} more below",)] * (left > 0))]


def _fits(found: Mapping[int, Phrase], number: int) -> bool:
    return len(plain(join_phrases(_join(found, number), "; "))) < LONGEST  # and the full stop


def _size(clause: Phrase) -> int:
    return len(plain(clause))


def _nothing(sites: Sequence[SitePreview]) -> Phrase:
    objects = sum(len(site.objects) for site in sites)
    differ = f"{NOTHING}: {count(objects, 'object')} differ{'s' if objects == 1 else ''} in "
    named = (differ, *list_names([site.name for site in sites], "site"))
    if not objects:
        return (NOTHING,)
    return named if _size(named) < LONGEST else (differ, count(len(sites), "site"))


_HEADS = heads("effect", "figure", "where")


def figures(preview: Preview) -> Table | None:
    """Every finding with its figures, worst first; None where there is none."""
    found = findings(preview)
    rows = [Row((e.what, e.figure, e.where), e.tone or Impact.NONE) for e in found]
    return Table(_HEADS, tuple(rows)) if rows else None
