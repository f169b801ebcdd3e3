"""Values of plain objects, which may be malformed: every function takes any JSON."""

import math
from collections.abc import Collection, Iterator

from policies.embedded import embedded
from policies.rule import Json, Object


def bodies(each: Object, kinds: Collection[str]) -> Iterator[tuple[str, Json]]:
    """An object if it is of one of some kinds, and those of these kinds that are text in it, each
    with what its paths start with."""
    if each.kind in kinds:
        yield "", each.body
    for place, body in embedded(each.body):
        if body["kind"] in kinds:
            yield f"{place}.", body


def text(value: object) -> str:
    """A text; empty where it is none."""
    return value if isinstance(value, str) else ""


def texts(value: object) -> list[str]:
    """The texts of a list; nothing where it is none."""
    return [each for each in value if isinstance(each, str)] if isinstance(value, list) else []


def whole(value: object) -> int | None:
    """A whole number, which Pulumi may have made a float; None where it is none."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return int(value) if math.isfinite(value) and value == int(value) else None


def percent(value: object) -> int | None:
    """50 of ``50%``; None where it is none."""
    number = text(value).removesuffix("%")
    return digits(number) if number != value else None


def scaled(value: object, of: int) -> int | None:
    """A count, or a share of ``of`` rounded up (k8s.io/apimachinery 0.34, intstr); None where it
    is neither."""
    share = percent(value)
    return whole(value) if share is None else -(-share * of // 100)


def digits(value: str) -> int | None:
    """The number that a text is; None where it is none, or one that nobody means."""
    plain = value.isascii() and value.isdecimal() and len(value) <= 9
    return int(value) if plain else None


def length(value: str) -> int:
    """Bytes of a text in UTF-8; half of a pair of UTF-16, which JSON can hold, counts as well."""
    return len(value) if value.isascii() else len(value.encode(errors="surrogatepass"))
