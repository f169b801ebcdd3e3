"""Racks: each host as a tile of its rack, and what racks have in common."""

from components.making.told import Told
from components.making.watch import Board
from schemas.facts.site import Site

TOLD = Told(__file__)


def racks(_site: Site) -> Board:
    """The dashboard of racks."""
    return TOLD.board(TOLD.panels("racks") + TOLD.panels("tiles"))
