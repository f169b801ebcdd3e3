"""What a quantity of a site file amounts to (schemas/model/primitives.py, ``Quantity``): 1Gi is
2**30.

One reader for rules and components; the preview reads what other hands wrote, in every form that
Kubernetes takes (preview/differences/fields/quantities.py).
"""

import re

MIB, GIB = 2**20, 2**30
FORM = re.compile(r"([0-9]{1,9})(m|k|Ki|M|Mi|G|Gi|T|Ti)?")
_THOUSANDTHS = {"m": 1, "": 10**3, "k": 10**6, "M": 10**9, "G": 10**12, "T": 10**15}
_THOUSANDTHS |= {"Ki": 1000 * 2**10, "Mi": 1000 * MIB, "Gi": 1000 * GIB, "Ti": 1000 * 2**40}


def thousandths(quantity: str) -> int:
    """A quantity in thousandths of its unit. Raises ValueError for what is none."""
    match = FORM.fullmatch(quantity)
    if match is None:
        raise ValueError(f"not a quantity: {quantity!r}")
    return int(match[1]) * _THOUSANDTHS[match[2] or ""]


def amount(quantity: str) -> float:
    """The number that a quantity stands for. Raises ValueError for what is none."""
    return thousandths(quantity) / 1000


def in_bytes(quantity: str) -> int:
    """A quantity in whole bytes, rounded up. Raises ValueError for what is none."""
    return -(-thousandths(quantity) // 1000)
