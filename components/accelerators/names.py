"""Names that the parts of the component share, and the pools that it serves."""

from functools import partial
from typing import NamedTuple

from components.making.manifest import metadata_of
from schemas.facts.site import Site
from schemas.model.accelerators import AcceleratorModel
from schemas.model.site_file import Pool

COMPONENT = "accelerators"
NAMESPACE = "accelerators"
metadata = partial(metadata_of, COMPONENT)


class Served(NamedTuple):
    """A pool with accelerators: their model's name and record, and the cards of a host."""

    pool: Pool
    model: str
    record: AcceleratorModel
    devices: int


def served_pools(site: Site) -> list[Served]:
    """The pools with accelerators that the site serves, in the order of the file."""
    found = []
    for pool in site.file.pools:
        model, accelerators = site.model(pool), site.profile(pool).accelerators
        if model and accelerators:
            found.append(Served(pool, model, site.accelerators[model], accelerators.count))
    return found
