"""The site at a glance: what it has, who uses it, who waits, and what is broken."""

from components.making.promql import Exporter, by, pending, resource_label
from components.making.told import Told
from components.making.watch import Board, Panel
from schemas.facts.site import Site

STATE = Exporter.KUBE_STATE_METRICS
TOLD = Told(__file__)
ALERTS = "Alerts that fire"
"""Title of the list of all alerts."""


def overview(site: Site) -> Board:
    """The dashboard that a person opens first."""
    ready = by(site, STATE, 'condition="Ready"', 'status="true"')
    panels = TOLD.panels("now", ready=ready, site=site.name)
    if site.models():
        panels += TOLD.panels("used") + _accelerators(site)
    return TOLD.board(panels + TOLD.panels("nodes", ready=ready, site=site.name))


def _accelerators(site: Site) -> list[Panel]:
    panels = TOLD.panels("capacity")
    if any(team.accelerators for team in site.scheduling.teams):
        panels += TOLD.panels("teams")
    resources = "|".join(resource_label(site.resource(model)) for model in site.models())
    wanted = by(site, STATE, f'resource=~"{resources}"', 'node=""')
    return panels + TOLD.panels("waiting", wanted=wanted, pending=pending(site))
