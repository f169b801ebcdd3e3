"""Reasons that are alike, as one: four hundred hosts with the same change have one reason."""

from collections.abc import Iterable
from typing import NamedTuple, TypeVar

from components.impact.vocabulary import Action, Impact
from preview.fields import shown
from preview.result import Cause, Reason, SitePreview

T = TypeVar("T")


class Why(NamedTuple):
    """Reasons that differ only in their object: what happens to which hosts, and why.

    ``objects`` are for a person, ``field`` is empty where a whole object comes or goes.
    """

    impact: Impact
    refused: bool
    why: str
    source: str
    field: str
    at_most: int | None
    hosts: tuple[str, ...]
    objects: tuple[str, ...]
    causes: tuple[Cause, ...]


def grouped(site: SitePreview) -> list[Why]:
    """A site's reasons, alike ones as one, worst first."""
    groups: dict[tuple[object, ...], list[Reason]] = {}
    for reason in site.reasons:
        groups.setdefault(_likeness(reason), []).append(reason)
    found = map(_one, groups.values())
    return sorted(found, key=lambda each: (-each.impact.rank, not each.refused))


def _likeness(reason: Reason) -> tuple[object, ...]:
    effect = reason.effect
    # Of those hosts only so many are concerned, for each object apart.
    own = effect.name if effect.at_most is not None else effect.name[0]
    kind = reason.object.partition(" ")[0]
    alike = (effect.impact, effect.action, effect.why, effect.source, effect.path, effect.at_most)
    return (*alike, own, kind)


def _one(reasons: list[Reason]) -> Why:
    effect = reasons[0].effect
    return Why(
        effect.impact,
        effect.action is Action.REFUSED,
        effect.why,
        effect.source,
        shown(effect.path),
        effect.at_most,
        _each_once(host for reason in reasons for host in reason.effect.hosts),
        _each_once(reason.object for reason in reasons),
        _each_once(cause for reason in reasons for cause in reason.causes),
    )


def _each_once(items: Iterable[T]) -> tuple[T, ...]:
    return tuple(dict.fromkeys(items))
