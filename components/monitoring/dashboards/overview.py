"""The site at a glance: what it has, who uses it, who waits, and what is broken."""

from components.making.promql import pending, resource_label
from components.making.told import Told
from components.making.watch import Board
from schemas.facts.site import Site

TOLD = Told(__file__)
ALERTS = "Alerts that fire"
"""Title of the list of all alerts."""


def overview(site: Site) -> Board:
    """The dashboard that a person opens first."""
    told, panels = TOLD.at(site), TOLD.at(site).panels("now", site=site.name)
    if site.models():
        panels += told.panels("used") + told.panels("capacity")
        if any(team.accelerators for team in site.scheduling.teams):
            panels += told.panels("teams")
        resources = "|".join(resource_label(site.resource(model)) for model in site.models())
        panels += told.panels("waiting", resources=resources, pending=pending(site))
    return told.board(panels + told.panels("nodes", site=site.name))
