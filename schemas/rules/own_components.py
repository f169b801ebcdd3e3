"""Rules on components of one's own: they make objects, and the same ones each time."""

from collections.abc import Iterator

from schemas.facts.own_components import OwnComponentError, make, named
from schemas.facts.site import Site
from schemas.rules.finding import Finding, say


def own_components(site: Site) -> Iterator[Finding]:
    """Each component makes its objects in two processes, whose sets and hashes have other orders,
    and both are alike."""
    for component, _ in named(site):
        at, name = ("components", component.name), component.name
        try:
            alike = make(site, name) == make(site, name, "2")
        except OwnComponentError as error:
            yield say("own-component-fails", at, name, site, error)
            continue
        if not alike:
            yield say("own-component-differs", at, name, site)
