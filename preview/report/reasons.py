"""Reasons that belong together: by what happens, and by the edits behind it.

A new version is a reason for each pool and each of its templates, and one edit; a renamed rack is
one for each of its hosts. A reader wants the edit, what it does, and the sentences in which the
reasons differ.
"""

import re
from collections.abc import Iterable, Sequence
from typing import NamedTuple, TypeVar

from components.effects.vocabulary import Action, Impact
from preview.differences.fields import show_path
from preview.result import Cause, Reason, SitePreview
from schemas.kubernetes.grouping import group_by_key

T = TypeVar("T")
_NAME = re.compile(r"[0-9/]")
"""Characters of words that name one of many: numbers, versions, paths."""
GAP = "…"
LONGEST = 2_000
"""Characters of a sentence that are looked at; more than any report shows."""


class Why(NamedTuple):
    """A sentence, and all that it is said of. ``objects`` are for a person; ``fields`` are empty
    where whole objects come or go."""

    sentence: str
    objects: tuple[str, ...]
    fields: tuple[str, ...]


class Because(NamedTuple):
    """The effect on some hosts because of the same edits; ``sources`` are the rules' own, ``ways``
    what to write for a smaller effect."""

    impact: Impact
    refused: bool
    at_most: int | None
    hosts: tuple[str, ...]
    causes: tuple[Cause, ...]
    whys: tuple[Why, ...]
    sources: tuple[str, ...]
    ways: tuple[str, ...] = ()


def group_reasons(site: SitePreview) -> list[Because]:
    """A site's reasons, worst first."""
    alike = group_by_key((_likeness(reason), reason) for reason in _telling(site.reasons))
    same = group_by_key(((_what(each[0]), _causes(each)), each) for each in alike.values())
    found = map(_because, same.values())
    return sorted(found, key=lambda each: (-each.impact.rank, not each.refused))


def _likeness(reason: Reason) -> object:
    """The common part of reasons whose sentences differ in names only."""
    words = _sentence(reason).split()
    shape = tuple(GAP if _NAME.search(word) else word for word in words)
    return _what(reason), reason.object.partition(" ")[0], shape


def _telling(reasons: Sequence[Reason]) -> Iterable[Reason]:
    """The reasons without those of single fields of an object that is replaced as a whole."""
    replaced = {r.effect.name for r in reasons if r.effect.action is Action.REPLACED}
    for each in reasons:
        effect = each.effect
        if effect.action or effect.impact is not Impact.NONE or effect.name not in replaced:
            yield each


def _what(reason: Reason) -> tuple[object, ...]:
    effect = reason.effect
    # Of those hosts only so many are concerned, for each object apart.
    own = (effect.name, effect.at_most, effect.hosts) if effect.at_most is not None else None
    return (effect.impact, effect.action is Action.REFUSED, own)


def _sentence(reason: Reason) -> str:
    return reason.effect.why[:LONGEST]


def _because(groups: Sequence[Sequence[Reason]]) -> Because:
    reasons = [reason for group in groups for reason in group]
    effect = reasons[0].effect
    return Because(
        effect.impact,
        effect.action is Action.REFUSED,
        effect.at_most,
        _each_once(host for reason in reasons for host in reason.effect.hosts),
        _causes(reasons),
        tuple(_whys(groups)),
        _each_once(reason.effect.source for reason in reasons if reason.effect.source),
        _each_once(reason.effect.way for reason in reasons if reason.effect.way),
    )


def _whys(groups: Iterable[Sequence[Reason]]) -> Iterable[Why]:
    """Each sentence once, with all objects and fields that it is said of."""
    sentences = ((_merge_sentences(group), group) for group in groups)
    said = group_by_key((sentence, reason) for sentence, group in sentences for reason in group)
    for sentence, reasons in said.items():
        paths = (reason.effect.path for reason in reasons)
        fields = _each_once(show_path(path) for path in paths if path)
        yield Why(sentence, _each_once(reason.object for reason in reasons), fields)


def _merge_sentences(reasons: Iterable[Reason]) -> str:
    """One sentence of several of one shape: the differing words are left open."""
    first, *others = _each_once(map(_sentence, reasons))
    if not others:
        return first
    columns = zip(*(sentence.split() for sentence in (first, *others)), strict=True)
    return " ".join(words[0] if len(set(words)) == 1 else GAP for words in columns)


def _causes(reasons: Iterable[Reason]) -> tuple[Cause, ...]:
    return _each_once(cause for reason in reasons for cause in reason.causes)


def _each_once(items: Iterable[T]) -> tuple[T, ...]:
    return tuple(dict.fromkeys(items))
