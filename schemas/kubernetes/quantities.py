"""Kubernetes quantities by value, and numbers that may be a share: 1000m is 1, 1Gi is 1024Mi, and
10% of 40 is 4. Sources: k8s.io/apimachinery 0.34.3, pkg/api/resource/quantity.go, ParseQuantity;
pkg/util/intstr, GetScaledValueFromIntOrPercent."""

import functools
import math
import re
from fractions import Fraction
from typing import Any

MIB, GIB = 2**20, 2**30
SITE_FORM = r"[0-9]{1,9}(m|k|Ki|M|Mi|G|Gi|T|Ti)?"
"""The quantities that a person writes: whole numbers with an optional unit."""
_FORM = re.compile(
    r"([+-]?(?:[0-9]{1,40}(?:\.[0-9]{0,40})?|\.[0-9]{1,40}))"
    r"(?:([KMGTPE]i|[numkMGTPE])|[eE]([+-]?[0-9]{1,2}))?"
)
"""Longer numbers than these are nobody's, and would take memory: they stay texts."""
_FACTORS = {
    **{prefix: Fraction(10) ** power for prefix, power in
       zip("numkMGTPE", (-9, -6, -3, 3, 6, 9, 12, 15, 18), strict=True)},
    **{f"{prefix}i": Fraction(2) ** (10 * power) for power, prefix in enumerate("KMGTPE", 1)},
}  # fmt: skip


def quantity(value: Any) -> Fraction | None:
    """The amount of a quantity; None where the value is no quantity."""
    return _parse(str(value)) if isinstance(value, str | int | float) else None


@functools.lru_cache(maxsize=4096)
def _parse(text: str) -> Fraction | None:
    match = _FORM.fullmatch(text)
    if match is None:
        return None
    number, suffix, exponent = match.groups()
    amount = Fraction(number.removesuffix("."))
    if exponent:
        return amount * Fraction(10) ** int(exponent)
    return amount * _FACTORS[suffix] if suffix else amount


def amount(text: str) -> float:
    """The number that a quantity stands for. Raises ValueError for what is none."""
    return float(_exact(text))


@functools.lru_cache(maxsize=4096, typed=True)
def thousandths(text: str) -> int:
    """A quantity in thousandths of its unit, rounded up. Raises ValueError for what is none."""
    return math.ceil(_exact(text) * 1000)


def in_bytes(text: str) -> int:
    """A quantity in whole bytes, rounded up. Raises ValueError for what is none."""
    return math.ceil(_exact(text))


def _exact(text: str) -> Fraction:
    found = quantity(text)
    if found is None:
        raise ValueError(f"not a quantity: {text!r}")
    return found


def whole(value: object) -> int | None:
    """A whole number, which Pulumi may have made a float; None where it is none."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return int(value) if math.isfinite(value) and value == int(value) else None


def digits(value: str) -> int | None:
    """The number that a text is; None where it is none, or one that nobody means."""
    plain = value.isascii() and value.isdecimal() and len(value) <= 9
    return int(value) if plain else None


def percent(value: object) -> int | None:
    """50 of ``50%``; None where it is none."""
    number = value.removesuffix("%") if isinstance(value, str) else ""
    return digits(number) if number != value else None


def scale(value: object, of: int) -> int | None:
    """A count, or a share of ``of`` rounded up; None where it is neither."""
    share = percent(value)
    return whole(value) if share is None else -(-share * of // 100)
