"""The teams of a site as one Pulumi component."""

from dataclasses import dataclass

import pulumi

from components.shell import SiteArgs, SiteComponent
from components.teams.objects import objects
from schemas.facts.site import Site
from schemas.model.accelerators import AcceleratorSettings
from schemas.model.access import Access
from schemas.model.network_devices import NetworkDevices
from schemas.model.scheduling import Scheduling


@dataclass(frozen=True, slots=True, kw_only=True)
class TeamsArgs(SiteArgs):
    """Arguments of ``Teams``."""

    scheduling: Scheduling | None = None
    """Schedulers, priorities and teams."""
    access: Access | None = None
    """Site staff."""
    accelerators: AcceleratorSettings | None = None
    """The accelerators that researchers ask for."""
    network_devices: NetworkDevices | None = None
    """Network devices of the site."""


class Teams(SiteComponent[TeamsArgs]):
    """The namespaces of teams, with quotas, priorities and queues."""

    team_namespaces: pulumi.Output[dict[str, list[str]]]
    """Namespaces of each team, by its name."""

    make = staticmethod(objects)

    @staticmethod
    def values(site: Site) -> dict[str, object]:
        """The values of the outputs."""
        return {"team_namespaces": {each.name: each.namespaces for each in site.scheduling.teams}}
