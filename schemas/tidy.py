"""The value that a badly written one was probably meant to be, where its form leaves no doubt."""

import re
from collections.abc import Iterator

_ADDRESS = re.compile(r"(?<![0-9.])[0-9]{1,3}(?:\.[0-9]{1,3}){3}(?![0-9.])")
_LONGEST = 300
"""Longer values are not slips of one person's hand."""
_HARDWARE_ADDRESS = re.compile(r"[0-9a-f]{12}")


def tidied(value: str, pattern: str) -> str | None:
    """``value`` without what does not belong there, if it then fits ``pattern``."""
    for candidate in _candidates(value) if len(value) <= _LONGEST else ():
        if candidate != value and fits(candidate, pattern):
            return candidate
    return None


def fits(value: str, pattern: str) -> bool:
    """Whether the whole of a text is what ``pattern`` describes."""
    return re.fullmatch(pattern, value) is not None


def _candidates(value: str) -> Iterator[str]:
    """Other spellings, the most faithful first."""
    bare = "".join(c for c in value if c.isprintable()).strip().strip("\"'").strip()
    yield bare
    yield bare.lower()
    yield "".join(bare.split())
    yield re.sub(r"[_\s]+", "-", bare.lower())
    yield f"v{bare}"
    addresses = _ADDRESS.findall(bare)
    if len(addresses) == 1:
        yield ".".join(str(int(part)) for part in addresses[0].split("."))
    digits = re.sub(r"[-:.\s]", "", bare.lower())
    if _HARDWARE_ADDRESS.fullmatch(digits):
        yield ":".join(digits[i : i + 2] for i in range(0, 12, 2))
