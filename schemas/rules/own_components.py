"""Rules on components of one's own: they make objects, and the same ones each time."""

from collections.abc import Iterator

from schemas.facts.own_components import OwnComponentError, make, named
from schemas.facts.site import Site
from schemas.model.codes import Code
from schemas.rules.finding import Finding


def own_components(site: Site) -> Iterator[Finding]:
    """Each component makes its objects in two processes, whose sets and hashes have other orders,
    and both are alike."""
    for component, _ in named(site):
        at, name = ("components", component.name), component.name
        try:
            alike = make(site, name) == make(site, name, "2")
        except OwnComponentError as error:
            message = f"the component {name} makes no objects of {site.name}: {error}"
            yield Finding(Code.OWN_COMPONENT, at, message, "correct the component, or its settings")
            continue
        if not alike:
            message = f"the component {name} makes other objects of {site.name} the second time"
            fix = "sort what comes from sets, and take out what comes from the clock or from chance"
            yield Finding(Code.OWN_COMPONENT, at, message, fix)
