"""The repairs of a host in the last 90 days: a note of its BareMetalHost, which outlives nodes.

The note is SERIAL;SECONDS,HOW,FAULT,DEVICE,OPERATION;... with the host's serial number, and one
entry for each operation. A device is known by its PCI address in this host. A copy on the node is
read for alerts.
"""

import re
from collections import Counter
from collections.abc import Iterable
from typing import NamedTuple

from node_repair.notes import times

SECONDS = 90 * 86_400
MOST = 64
"""Repairs that are kept of a host: the note stays far below what an object may hold."""
RESET, REBOOT, BOTH = "reset", "reboot", "reset-reboot"
_ODD = re.compile("[^0-9A-Za-z:._-]")


class Repair(NamedTuple):
    """A repair: when, as seconds, how, of which fault, and of which device if its detector named
    one; the operation is empty where none was noted."""

    when: int
    how: str
    fault: str
    device: str = ""
    operation: str = ""


def read(note: str, now: int) -> tuple[str, tuple[Repair, ...]]:
    """The serial number and the last repairs of a note, without odd characters and times."""
    serial, *entries = note.split(";")
    found = []
    for entry in entries:
        when, *told = [*map(_clean, entry.split(",")), "", "", "", ""][:5]
        found += [Repair(each, *told) for each in times(when, now, SECONDS)]
    return _clean(serial), tuple(found[-MOST:])


def add(note: str, serial: str, repair: Repair, now: int) -> str:
    """The note with a repair, one for each operation. The serial number of the note holds where the
    host tells none; the repairs of another one are those of a machine that was replaced."""
    before, repairs = read(note, now)
    serial, mine = _clean(serial) or before, Repair(repair.when, *map(_clean, repair[1:]))
    if before not in ("", serial):
        repairs = ()
    last = next((each for each in repairs if each.operation == mine.operation), mine)
    how = mine.how if last.how == mine.how else BOTH
    kept = [each for each in repairs if each is not last][-MOST + 1 :]
    return _written(serial, (*kept, mine._replace(how=how, device=mine.device or last.device)))


def take_back(note: str, operation: str, now: int) -> str | None:
    """The note without an operation's reboot, which has not begun; None where nothing else is in
    it."""
    serial, repairs = read(note, now)
    kept = [each for each in repairs if each.operation != operation]
    kept += [each._replace(how=RESET) for each in repairs if each[1::3] == (BOTH, operation)]
    return _written(serial, kept) if kept else None


def _clean(part: str) -> str:
    return _ODD.sub("", part)[:64]


def _written(serial: str, repairs: Iterable[Repair]) -> str:
    return ";".join((serial, *(",".join(map(str, each)) for each in repairs)))


def counts(repairs: Iterable[Repair]) -> Counter[str]:
    """The number of repairs of each device, and of all under no name."""
    repairs = tuple(repairs)
    return Counter([each.device for each in repairs if each.device] + [""] * len(repairs))
