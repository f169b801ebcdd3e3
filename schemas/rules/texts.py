"""Findings in the words of a row (schemas/model/texts.py). It has ``key`` where the place is
that of a key."""

from collections.abc import Iterable

from schemas.model.nearest import nearest
from schemas.model.texts import rows, words
from schemas.rules.finding import Finding, HostCell, TextPlace
from schemas.rules.finding import Path as Place


def say(
    row: str,
    place: Place | HostCell | TextPlace,
    /,
    *values: object,
    also: tuple[Place, ...] = (),
    key: bool = False,
) -> Finding:
    """The finding of a row with its values at a place. ``also`` are further places; ``key`` as in a
    row."""
    code, message, fix = words(row, *values)
    return Finding(code, place, message, fix, key or rows()[row].get("key", False), also)


def advise(name: str, known: Iterable[str], otherwise: str = "") -> str:
    """What to write instead of a name: the nearest that is known; where none is near, something
    else or one of them all."""
    names = [*known]
    near = nearest(name, names)
    return f"write {near}" if near else otherwise or f"write one of {', '.join(names)}"
