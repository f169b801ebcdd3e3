"""The object cache: what it answers, how evenly, and what it holds."""

from components.making.told import Told
from components.making.watch import Board
from schemas.facts.site import Site
from schemas.model.object_cache import Cache

TOLD = Told(__file__)


def board(site: Site, cache: Cache) -> Board:
    """The dashboard of a site's cache."""
    told = TOLD.at(site)
    panels = told.panels("answers")
    if cache.server.metrics_path is not None:
        panels += told.panels("servers")
    return told.board(panels)
