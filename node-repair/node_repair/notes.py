"""Times and parts of annotations, odd ones of which count as none, and devices in messages."""

import re

SKEW = 600
"""Seconds by which the clock of who wrote a time may be ahead."""


def times(note: str, now: int, window: int) -> tuple[int, ...]:
    """The times of an annotation within the window; odd ones, and those to come, are none."""
    found = (int(each) for each in note.split(",") if re.fullmatch("[1-9][0-9]{8,9}", each))
    return tuple(each for each in found if now - window < each <= now + SKEW)


ADDRESS = re.compile(r"[0-9a-f]{3,}:[0-9a-f]{2}:[0-9a-f]{2}(?:\.[0-7])?")


def bad_devices(message: str) -> int:
    """The number of devices that the message of a condition names, or only counts."""
    counted = re.match("([0-9]{1,3}) of ", message)
    return int(counted[1]) if counted else len(set(ADDRESS.findall(message.lower())))


def parts(note: str) -> list[str]:
    """The four parts of an annotation; empty where there are fewer."""
    return [*note.split(","), "", "", "", ""][:4]
