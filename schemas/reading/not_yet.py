"""What Foresite does not do yet, and people write: neither a misspelt field nor a bad value."""

import re

from schemas.kubernetes.tables import read_table

NO_EFFECT = "nothing that Foresite writes would carry it, so it would have no effect"
"""Why it hurts, whatever an API server or a host would make of it."""
_FIELDS = read_table(__file__)["field"]
_IPV6 = re.compile(r"(?=[^:]*:[^:]*:)[0-9A-Fa-f:]{2,39}(%[0-9A-Za-z]+)?(/[0-9]{1,3})?")
_HARDWARE_ADDRESS = re.compile(r"[0-9A-Fa-f]{2}(:[0-9A-Fa-f]{2}){5}")


def not_yet(field: str) -> tuple[str, str] | None:
    """What an unknown field would configure, and the way without it; None where not clear."""
    plain = re.sub(r"[-_]", "", field[:64].lower())
    meant = (each for each in _FIELDS if re.fullmatch(each["form"], plain))
    return next(((each["part"], each["way"]) for each in meant), None)


def is_ipv6(value: object) -> bool:
    """True if a text is meant as an IPv6 address or network, or has one in a list."""
    texts = value[:200].replace("[", "").replace("]", "") if isinstance(value, str) else ""
    every = [each.strip() for each in texts.split(",")]
    return any(_IPV6.fullmatch(each) and not _HARDWARE_ADDRESS.fullmatch(each) for each in every)
