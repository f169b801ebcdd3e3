"""Faults of hosts, and what becomes of them."""

from components.making.faults import CONDITIONS, FAULTY_TAINT, QUARANTINED_TAINT
from components.making.promql import one_of
from components.making.told import Told
from components.making.watch import Board
from schemas.facts.site import Site

TOLD = Told(__file__)


def board(site: Site, *, operated: bool) -> Board:
    """The dashboard of faults and repairs; ``operated``: Node Operation Controller runs."""
    faults = (fault for pool in site.file.pools for fault in site.faults(pool))
    types = one_of(dict.fromkeys(CONDITIONS[fault] for fault in faults))
    values = {"types": types, "taints": f"{FAULTY_TAINT}|{QUARANTINED_TAINT}"}
    names = ["faults", *(["operations"] if operated else []), "events"]
    names += ["history", "controller"] if operated else []
    told = TOLD.at(site)
    return told.board([panel for name in names for panel in told.panels(name, **values)])
