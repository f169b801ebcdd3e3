"""Amounts of bytes: what a site writes, and what programs are told."""

import re

MIB = 2**20
_THOUSANDTHS = {"m": 1, "": 10**3, "k": 10**6, "M": 10**9, "G": 10**12, "T": 10**15}
_THOUSANDTHS |= {"Ki": 1000 * 2**10, "Mi": 1000 * MIB, "Gi": 1000 * 2**30, "Ti": 1000 * 2**40}
_QUANTITY = re.compile(r"([0-9]{1,9})(m|k|Ki|M|Mi|G|Gi|T|Ti)?")


def thousandths(quantity: str) -> int:
    """A quantity in thousandths of its unit. Raises ValueError for what is none."""
    match = _QUANTITY.fullmatch(quantity)
    if match is None:
        raise ValueError(f"not a quantity: {quantity!r}")
    return int(match[1]) * _THOUSANDTHS[match[2] or ""]


def in_bytes(quantity: str) -> int:
    """A quantity in whole bytes, rounded up. Raises ValueError for what is none."""
    return -(-thousandths(quantity) // 1000)


def counted(parts: int) -> int:
    """``parts`` rounded up to two significant digits, so that a few more or fewer seldom count:
    400 for 391 to 400. Up to 99 it is their number."""
    step = int(10 ** max(0, len(str(parts)) - 2))
    return -(-parts // step) * step


def share(quantity: str, parts: int) -> str:
    """What each of ``parts`` may have of a quantity, in whole Mi: together never more than it all,
    and at 100 and more up to a tenth less, as they are counted(). It is 1Mi at least."""
    return f"{max(1, thousandths(quantity) // (1000 * counted(parts) * MIB))}Mi"
