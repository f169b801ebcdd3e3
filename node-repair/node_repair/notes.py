"""Times and parts of annotations: odd ones count as none."""

import re

SKEW = 600
"""Seconds by which the clock of who wrote a time may be ahead."""


def times(note: str, now: int, window: int) -> tuple[int, ...]:
    """The times of an annotation within the window; odd ones, and those to come, are none."""
    found = (int(each) for each in note.split(",") if re.fullmatch("[1-9][0-9]{8,9}", each))
    return tuple(each for each in found if now - window < each <= now + SKEW)


def parts(note: str) -> list[str]:
    """The four parts of an annotation; empty where there are fewer."""
    return [*note.split(","), "", "", "", ""][:4]
