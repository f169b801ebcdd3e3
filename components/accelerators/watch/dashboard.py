"""Panels of accelerators, on the dashboard of nodes."""

from components.accelerators.watch.exporters import DCGM
from components.making.promql import by
from components.making.told import Told
from components.making.watch import Board
from schemas.facts.site import Site

TOLD = Told(__file__)


def board(site: Site) -> Board:
    """Use, temperature and health of devices, from NVIDIA's exporter."""
    return TOLD.board(TOLD.panels("cards", asked=by(site, DCGM)))
