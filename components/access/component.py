"""The rights of people in a site's cluster as one Pulumi component."""

from dataclasses import dataclass

from components.access.objects import objects
from components.shell import SiteArgs, SiteComponent
from schemas.model.access import Access as Staff
from schemas.model.scheduling import Scheduling


@dataclass(frozen=True, slots=True, kw_only=True)
class AccessArgs(SiteArgs):
    """Arguments of ``Access``."""

    access: Staff | None = None
    """Site staff."""
    scheduling: Scheduling | None = None
    """Schedulers and teams with their people."""


class Access(SiteComponent[AccessArgs]):
    """Roles of researchers and site staff, and who has them."""

    make = staticmethod(objects)
