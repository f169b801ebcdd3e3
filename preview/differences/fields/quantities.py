"""Kubernetes quantities by value: 1000m is 1, and 1Gi is 1024Mi.

Source: k8s.io/apimachinery 0.34.3, pkg/api/resource/quantity.go, ParseQuantity.
"""

import re
from fractions import Fraction
from typing import Any

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
    """What a quantity amounts to; None for what is none."""
    match = _FORM.fullmatch(str(value)) if isinstance(value, str | int | float) else None
    if match is None:
        return None
    number, suffix, exponent = match.groups()
    amount = Fraction(number.removesuffix("."))
    if exponent:
        return amount * Fraction(10) ** int(exponent)
    return amount * _FACTORS[suffix] if suffix else amount
