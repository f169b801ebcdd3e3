"""The fault remediation of a site as one Pulumi component."""

from dataclasses import dataclass

import pulumi

from components.making.faults import CONDITIONS
from components.remediation.names import settings_of
from components.remediation.objects import objects
from components.shell import SiteArgs, SiteComponent
from schemas.facts.site import Site
from schemas.model.accelerators import AcceleratorSettings
from schemas.model.remediation import Remediation as RemediationSettings


@dataclass(frozen=True, slots=True, kw_only=True)
class RemediationArgs(SiteArgs):
    """Arguments of ``Remediation``."""

    remediation: RemediationSettings | None = None
    """Detection and remediation of hosts' faults."""
    accelerators: AcceleratorSettings | None = None
    """The accelerators that researchers ask for."""


class Remediation(SiteComponent[RemediationArgs]):
    """The programs that find and remediate the faults of a site's hosts."""

    namespace: pulumi.Output[str]
    """Namespace of its programs."""
    conditions: pulumi.Output[dict[str, list[str]]]
    """Types of the node conditions that say a fault, by pool."""

    make = staticmethod(objects)

    @staticmethod
    def values(site: Site) -> dict[str, object]:
        """The values of the outputs."""
        found = ((pool.name, site.faults(pool)) for pool in site.file.pools)
        conditions = {name: [CONDITIONS[each] for each in faults] for name, faults in found}
        return {"namespace": settings_of(site).namespace, "conditions": conditions}
