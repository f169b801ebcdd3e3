"""Many names in little space: ``tokyo-1-a-001…026`` for twenty-six hosts in a row."""

from collections.abc import Iterable, Sequence
from typing import TypeVar

T = TypeVar("T")

_DIGITS = "0123456789"
LONGEST = 9
"""Digits of a number that is counted on; more are no counter."""

FEW = 3
"""Names of a list that are given before the rest is only counted."""


def ranges(names: Iterable[str]) -> list[str]:
    """The names, those that differ only in a number that counts on joined: ``n-08…12``.

    A name that is there twice counts once. Numbers are of one width, so that each name between can
    be told from the ends.
    """
    found: list[tuple[str, str, str]] = []  # what the names start with, the first number, the last
    parts = set(map(_split_number, names))
    for start, number in sorted(parts, key=lambda each: (each[0], len(each[1]), each[1])):
        if number and found and _follows(found[-1], start, number):
            found[-1] = (start, found[-1][1], number)
        else:
            found.append((start, number, number))
    return [start + first + (f"…{last}" if last != first else "") for start, first, last in found]


def _split_number(name: str) -> tuple[str, str]:
    start = name.rstrip(_DIGITS)
    number = name[len(start) :]
    return (start, number) if 0 < len(number) <= LONGEST else (name, "")


def _follows(last: tuple[str, str, str], start: str, number: str) -> bool:
    return (
        last[0] == start
        and len(last[2]) == len(number)
        and bool(last[2])
        and int(last[2]) + 1 == int(number)
    )


def first_few(items: Sequence[T], few: int = FEW) -> tuple[tuple[T, ...], int]:
    """The first items, and how many more there are; one more is as short as saying so."""
    shown = len(items) if len(items) <= few + 1 else few
    return tuple(items[:shown]), len(items) - shown
