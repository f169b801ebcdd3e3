"""The job templates of a site as one Pulumi component."""

from dataclasses import dataclass

import pulumi

from components.shell import SiteArgs, SiteComponent
from components.training.objects import objects, runtimes
from schemas.facts.site import Site
from schemas.model.accelerators import AcceleratorSettings
from schemas.model.object_cache import Cache
from schemas.model.scheduling import Scheduling


@dataclass(frozen=True, slots=True, kw_only=True)
class TrainingArgs(SiteArgs):
    """Arguments of ``Training``."""

    scheduling: Scheduling | None = None
    """Schedulers, priorities and teams."""
    accelerators: AcceleratorSettings | None = None
    """The accelerators that researchers ask for."""
    cache: Cache | None = None
    """The object cache."""


class Training(SiteComponent[TrainingArgs]):
    """The training runtimes and examples that researchers start from."""

    runtimes: pulumi.Output[list[str]]
    """Names of the ClusterTrainingRuntimes."""

    make = staticmethod(objects)

    @staticmethod
    def values(site: Site) -> dict[str, object]:
        """The values of the outputs."""
        return {"runtimes": [each.key[3] for each in runtimes(site)]}
