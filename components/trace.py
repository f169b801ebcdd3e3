"""Which objects carry a value: found by changing the value and looking which objects change.

True by construction, for every field and every component, also those to come: nobody has to
annotate where a value goes.
"""

import ipaddress
from collections.abc import Callable, Iterable, Iterator
from enum import Enum
from typing import Any, NamedTuple

from components.manifest import Manifest
from components.site import site_objects
from schemas.site import Site

Change = Callable[[Any], Site]
"""From another value to the site that has it."""


class Carriers(NamedTuple):
    """The objects that carry a value, by component; ``known`` is False where no other value could
    be tried, so that nothing can be said."""

    objects: dict[str, list[Manifest]]
    known: bool


def carriers(site: Site, value: Any, change: Change, others: Iterable[Any] = ()) -> Carriers:
    """The objects of ``site`` that would differ if ``value`` were another, of ``others`` first."""
    now = _by_name(site)
    for other in (*others, *_others(value)):
        try:
            then = _by_name(change(other))
        except (ValueError, KeyError, TypeError, LookupError):
            continue  # a value that does not fit the rest of the site: try the next
        found: dict[str, list[Manifest]] = {}
        for (component, name), manifest in now.items():
            if (component, name) not in then or then[component, name].body != manifest.body:
                found.setdefault(component, []).append(manifest)
        return Carriers(found, True)
    return Carriers({}, False)


def _by_name(site: Site) -> dict[tuple[str, str], Manifest]:
    return {
        (component, manifest.name): manifest
        for component, manifests in site_objects(site).items()
        for manifest in manifests
    }


def _others(value: Any) -> Iterator[Any]:
    """Values like ``value`` but different, likeliest to fit first."""
    if isinstance(value, bool):
        yield not value
    elif isinstance(value, Enum):
        yield from (each for each in type(value) if each is not value)
    elif isinstance(value, int):
        yield value + 1
    elif isinstance(value, str):
        yield from _other_texts(value)


def _other_texts(value: str) -> Iterator[str]:
    try:
        yield str(ipaddress.ip_address(value) + 1)
    except ValueError:
        pass
    try:
        network = ipaddress.ip_network(value)
        if network.version == 4 and "/" in value:
            yield str(ipaddress.IPv4Network((int(network[-1]) + 1, network.prefixlen)))
    except ValueError:
        pass
    yield f"{value}x"
