"""The schedulers of a site as one Pulumi component."""

from dataclasses import dataclass

import pulumi

from components.schedulers.objects import objects
from components.shell import SiteArgs, SiteComponent
from schemas.facts.site import Site
from schemas.model.accelerators import AcceleratorSettings
from schemas.model.scheduling import Scheduling, scheduler_name


@dataclass(frozen=True, slots=True, kw_only=True)
class SchedulersArgs(SiteArgs):
    """Arguments of ``Schedulers``."""

    scheduling: Scheduling | None = None
    """Schedulers, priorities and teams."""
    accelerators: AcceleratorSettings | None = None
    """The accelerators that researchers ask for."""


class Schedulers(SiteComponent[SchedulersArgs]):
    """The schedulers beside the default one, and the policies that go with them."""

    scheduler_names: pulumi.Output[dict[str, str]]
    """``schedulerName`` of the pods of a backend, by the backend's name."""

    make = staticmethod(objects)

    @staticmethod
    def values(site: Site) -> dict[str, object]:
        """The values of the outputs."""
        backends = site.scheduling.backends
        return {"scheduler_names": {each.name: scheduler_name(each) for each in backends}}
