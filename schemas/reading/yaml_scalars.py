"""The meaning of unquoted scalars by YAML 1.2's core schema; numbers on which tools differ."""

import math
import re

from schemas.kubernetes.masking import shorten
from schemas.model.texts import Words, words

_CONSTANTS: dict[str, bool | None] = {
    **dict.fromkeys(("", "~", "null", "Null", "NULL"), None),
    **dict.fromkeys(("true", "True", "TRUE"), True),
    **dict.fromkeys(("false", "False", "FALSE"), False),
}
_TYPED = frozenset({"", *"~nNtTfF+-.0123456789"})
"""First characters of scalars that are not text; this test spares most scalars all others."""
_NUMBER = re.compile(
    r"(?P<decimal>[-+]?[0-9]+)|0o(?P<octal>[0-7]+)|0x(?P<hex>[0-9a-fA-F]+)"
    r"|(?P<float>[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?)"
    r"|(?P<endless>[-+]?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN))"
)
_BASES = {"decimal": 10, "octal": 8, "hex": 16}
LEADING_ZERO = re.compile(r"[-+]?0[0-9_]+")
"""Octal to readers of YAML 1.1, decimal to those of 1.2."""


def resolve(text: str) -> str | int | float | bool | None:
    """The meaning of an unquoted scalar by the core schema; infinity where no tool can hold it."""
    if text[:1] not in _TYPED:
        return text
    if text in _CONSTANTS:
        return _CONSTANTS[text]
    match = _NUMBER.fullmatch(text)
    if match is None:
        return text
    kind = match.lastgroup or ""
    if kind == "endless" or LEADING_ZERO.fullmatch(text):
        return math.inf
    if kind == "float":
        return float(text)
    # Python refuses to convert thousands of digits, and 64 bits are never that long.
    number = int(match[kind], _BASES[kind]) if len(text) <= 64 else math.inf
    return number if -(2**63) <= number < 2**63 else math.inf


def number_fault(text: str) -> Words:
    """Why tools differ on a number that ``resolve`` finds infinite, and what to write."""
    if LEADING_ZERO.fullmatch(text):
        return words("yaml-octal", shorten(text), shorten(text.lstrip("+-0") or "0"))
    return words("yaml-number-too-large", shorten(text))
