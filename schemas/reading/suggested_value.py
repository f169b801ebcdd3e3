"""The value that a badly written one was probably meant to be, where its form leaves no doubt."""

import re
from collections.abc import Iterator
from itertools import islice

from schemas.model.faults import fault_of

_ADDRESS = re.compile(r"(?<![0-9.])[0-9]{1,3}(?:\.[0-9]{1,3}){3}(?![0-9.])")
_CONDITION = re.compile(r"(?:[A-Z]+[a-z]+){2,10}")
_LONGEST = 300
"""Longer values are not slips of one person's hand."""
_QUANTITY = re.compile(r"[0-9]+\s+[A-Za-z]+")
_SIZE = re.compile(r"(?i)([0-9]+)\s*([kmgt])(i?)b?")
_VERSION = re.compile(r"[0-9]+\.[0-9]+\.[0-9]+")
_HARDWARE_ADDRESS = re.compile(r"[0-9a-f]{12}")


def tidy(value: str, pattern: str, *, respelt: bool = True) -> str | None:
    """``value`` without the characters that do not belong there, if it then fits ``pattern``.
    ``respelt``: other spellings mean the same, as of names, but not of numbers given by others."""
    every = _candidates(value) if len(value) <= _LONGEST else ()
    tried = every if respelt else islice(every, 1)
    return next((each for each in tried if each != value and fits(each, pattern)), None)


def fits(value: str, pattern: str) -> bool:
    """True if ``pattern`` describes the whole text."""
    return re.fullmatch(pattern, value) is not None


def _candidates(value: str) -> Iterator[str]:
    """Other spellings, the most faithful first."""
    bare = "".join(c for c in value if c.isprintable()).strip().strip("\"'").strip()
    yield bare
    yield (_CONDITION.fullmatch(bare) and fault_of(bare)) or bare
    yield bare.lower()
    yield re.sub(r"_|\s+", "-", bare)
    yield re.sub(r"_|\s+", "-", bare.lower())
    if _QUANTITY.fullmatch(bare):
        yield "".join(bare.split())
    if size := _SIZE.fullmatch(bare):
        prefix, binary = size[2].upper(), size[3].lower()
        yield f"{size[1]}{prefix if binary or prefix != 'K' else 'k'}{binary}"
    if _VERSION.fullmatch(bare):
        yield f"v{bare}"
    addresses = _ADDRESS.findall(bare)
    if len(addresses) == 1 and "/redfish/" not in bare:
        yield ".".join(str(int(part)) for part in addresses[0].split("."))
    digits = re.sub(r"[-:.\s]", "", bare.lower())
    if _HARDWARE_ADDRESS.fullmatch(digits):
        yield ":".join(digits[i : i + 2] for i in range(0, 12, 2))
