"""Faults of hosts, and what becomes of them."""

from components.making.faults import CONDITIONS, DETECTOR, FAULTY_TAINT, QUARANTINED_TAINT
from components.making.promql import Exporter, by, one_of
from components.making.told import Told
from components.making.watch import Board
from components.remediation.names import CONTROLLER, TURNS
from schemas.facts.site import Site

STATE, REPAIRS = Exporter.KUBE_STATE_METRICS, Exporter.CUSTOM_RESOURCES
TOLD = Told(__file__)


def board(site: Site, *, operated: bool) -> Board:
    """The dashboard of faults and repairs; ``operated``: Node Operation Controller runs."""
    faults = (fault for pool in site.file.pools for fault in site.faults(pool))
    types = one_of(dict.fromkeys(CONDITIONS[fault] for fault in faults))
    panels = TOLD.panels(
        "faults",
        unknown=by(site, STATE, f'condition=~"{types}"', 'status="unknown"'),
        taints=by(site, STATE, f'key=~"{FAULTY_TAINT}|{QUARANTINED_TAINT}"'),
    )
    if operated:
        panels += TOLD.panels(
            "operations",
            asked=by(site, REPAIRS),
            going=by(site, REPAIRS, 'phase!~"Completed|Failed"'),
            bad=by(site, REPAIRS, 'node_status="Bad"'),
        )
    panels += TOLD.panels("events", detector=by(site, DETECTOR))
    if operated:
        programs = by(site, STATE, f'deployment=~"{TURNS}|{CONTROLLER}"')
        panels += TOLD.panels("history", asked=by(site, TURNS))
        panels += TOLD.panels("controller", asked=by(site, CONTROLLER), programs=programs)
    return TOLD.board(panels)
