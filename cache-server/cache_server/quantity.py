"""Amounts of bytes as Kubernetes writes them."""

import re
from decimal import ROUND_CEILING, Decimal

_FACTORS = {
    "": 1,
    **{letter: 1000**power for power, letter in enumerate("kMGTPE", start=1)},
    **{f"{letter}i": 1024**power for power, letter in enumerate("KMGTPE", start=1)},
}
_FORM = re.compile(r"(\d{1,18}(?:\.\d{1,9})?)([KMGTPE]i|[kMGTPE]|[eE]\d{1,2})?")


def parse_bytes(text: str) -> int:
    """The bytes that a quantity such as ``100Gi`` means, rounded up; ValueError if it is none.
    Forms: those of k8s.io/apimachinery, pkg/api/resource, that make sense for bytes."""
    found = _FORM.fullmatch(text)
    if found is None:
        raise ValueError(f"{text!r} is no quantity of bytes such as 100Gi")
    number, unit = Decimal(found[1]), found[2] or ""
    value = number * _FACTORS[unit] if unit in _FACTORS else number.scaleb(int(unit[1:]))
    return int(value.to_integral_value(ROUND_CEILING))
