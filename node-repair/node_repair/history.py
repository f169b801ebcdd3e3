"""The repairs of a host in the last 90 days: a note of its BareMetalHost, which outlives nodes.

The note is SERIAL;SECONDS,HOW,FAULT,DEVICE;... with the host's serial number. A device is known by
its PCI address in this host. A copy on the node is read for alerts.
"""

import re
from collections import Counter
from collections.abc import Iterable
from typing import NamedTuple

from node_repair.notes import times

SECONDS = 90 * 86_400
MOST = 64
"""Repairs that are kept of a host: the note stays far below what an object may hold."""
_ODD = re.compile("[^0-9A-Za-z:._-]")


class Repair(NamedTuple):
    """A repair: when, as seconds, by a reset or a reboot, of which fault, and of which device if
    its detector named one."""

    when: int
    how: str
    fault: str
    device: str = ""


def read(note: str, now: int) -> tuple[str, tuple[Repair, ...]]:
    """The serial number and the repairs of a note; odd, old and future ones are none."""
    serial, *entries = note.split(";")
    found = []
    for entry in entries:
        when, how, fault, device = [*entry.split(","), "", "", ""][:4]
        found += [Repair(each, how, fault, device) for each in times(when, now, SECONDS)]
    return serial, tuple(found)


def add(note: str, serial: str, repair: Repair, now: int) -> str:
    """The note with one more repair, once. The serial number of the note holds where the host tells
    none any more."""
    before, repairs = read(note, now)
    kept = [each for each in repairs if each[:2] != repair[:2]][-MOST + 1 :]
    return _written(_ODD.sub("", serial)[:64] or before, (*kept, repair))


def take_back(note: str, now: int) -> str | None:
    """The note without the last reboot, which has not begun; None where nothing else is in it."""
    serial, repairs = read(note, now)
    last = max((n for n, each in enumerate(repairs) if each.how == "reboot"), default=-1)
    kept = [each for n, each in enumerate(repairs) if n != last]
    return _written(serial, kept) if kept else None


def _written(serial: str, repairs: Iterable[Repair]) -> str:
    entries = (",".join(_ODD.sub("", str(part)) for part in each) for each in repairs)
    return ";".join((serial, *entries))


def counts(repairs: Iterable[Repair]) -> Counter[str]:
    """The number of repairs of each device, and of all under no name."""
    repairs = tuple(repairs)
    return Counter([each.device for each in repairs if each.device] + [""] * len(repairs))
