"""The objects that carry a value: those that change when it changes. True by construction, for
every field and component, also those to come."""

import contextlib
import ipaddress
import itertools
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from enum import Enum
from typing import Any, NamedTuple

from components.effects import Name
from components.making.manifest import Manifest
from components.site import objects_by_name
from schemas.facts.site import Site
from schemas.kubernetes.grouping import group_by_key

Change = Callable[[Any], Site]
"""From another value to the site that has it."""


class Carriers(NamedTuple):
    """The objects that carry a value, by component; ``known`` is False where no other value could
    be tried, so that nothing can be said."""

    objects: dict[str, list[Manifest]]
    known: bool


def carriers(site: Site, value: Any, change: Change, others: Iterable[Any] = ()) -> Carriers:
    """The objects of ``site`` that would differ if ``value`` were one of ``others``, the known
    values that fit; of texts that could be anything, one other that fits stands for all."""
    now = objects_by_name(site)
    choices = list(others) or _choices(value)
    found = [each for other in choices if (each := _differing(now, change, other)) is not None]
    if not found and isinstance(value, str) and not isinstance(value, Enum):
        tried = (_differing(now, change, other) for other in _other_texts(value))
        found = list(itertools.islice((each for each in tried if each is not None), 1))
    names = set[Name]().union(*found)
    objects = group_by_key((name[0], manifest) for name, manifest in now.items() if name in names)
    return Carriers(objects, bool(found))


def _differing(now: Mapping[Name, Manifest], change: Change, other: Any) -> set[Name] | None:
    """The names of objects that another value changes; None if it does not fit the site."""
    try:
        then = objects_by_name(change(other))
    except (ValueError, TypeError, LookupError, StopIteration):
        return None
    return {name for name in now if name not in then or then[name].body != now[name].body}


def other_values(value: Any) -> Iterator[Any]:
    """Values like ``value`` but different, likeliest to fit first."""
    yield from _choices(value)
    if isinstance(value, str) and not isinstance(value, Enum):
        yield from _other_texts(value)


def _choices(value: Any) -> list[Any]:
    """Values like ``value`` but different: all of a few, or a near and a far one."""
    if isinstance(value, Enum):
        return [each for each in type(value) if each is not value]
    if isinstance(value, bool):
        return [not value]
    # A share of a few machines only shows where it grows much.
    return [value + 1, 2 * value + 50] if isinstance(value, int) else []


def _other_texts(value: str) -> Iterator[str]:
    """Texts like ``value`` but different, likeliest to fit first."""
    with contextlib.suppress(ValueError):
        yield str(ipaddress.ip_address(value) + 100)  # beside an address there may be its like
    with contextlib.suppress(ValueError):
        network = ipaddress.ip_network(value)
        if network.version == 4 and "/" in value:
            yield str(ipaddress.IPv4Network((int(network[-1]) + 1, network.prefixlen)))
    if quantity := re.fullmatch(r"([0-9]+)([kKMGT]?i?|m)", value):
        yield f"{int(quantity[1]) + 1}{quantity[2]}"
    yield f"{value}x"
