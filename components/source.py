"""The typed site behind a side, for effects that need the section of their own component: more than
the neutral record, so pyproject.toml names each module that may import this."""

from components.effects import Side
from schemas.facts.site import Site


def site_of(side: Side) -> Site:
    """The site that a side was read from. Raises TypeError for one that was read otherwise."""
    if not isinstance(side.source, Site):
        raise TypeError(
            "these objects are of no site file: effects of components need its sections"
        )
    return side.source
