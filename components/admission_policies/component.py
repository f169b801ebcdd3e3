"""Rules that hold in the site's clusters, whoever deploys. As one Pulumi component."""

from dataclasses import dataclass

from components.admission_policies.objects import objects
from components.shell import SiteArgs, SiteComponent
from schemas.model.accelerators import AcceleratorSettings
from schemas.model.policies import SitePolicies
from schemas.model.remediation import Remediation


@dataclass(frozen=True, slots=True, kw_only=True)
class AdmissionPoliciesArgs(SiteArgs):
    """Arguments of ``AdmissionPolicies``."""

    policies: SitePolicies | None = None
    """Rules of the site's own."""
    accelerators: AcceleratorSettings | None = None
    """The accelerators that researchers ask for."""
    remediation: Remediation | None = None
    """Detection and remediation of hosts' faults."""


class AdmissionPolicies(SiteComponent[AdmissionPoliciesArgs]):
    """Admission policies of both clusters of a site, which hold whoever deploys."""

    make = staticmethod(objects)
