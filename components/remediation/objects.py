"""Every object of a site's fault remediation, in a fixed order."""

from components.making.daemons import namespace
from components.making.manifest import Manifest, annotate
from components.remediation.controller import controller
from components.remediation.detector import detectors
from components.remediation.medik8s import health_checks
from components.remediation.names import COMPONENT, remediated_pools, settings_of
from components.remediation.operations import operations
from components.remediation.program import device_taints
from components.remediation.reset import resets
from components.remediation.rights import rights
from components.remediation.turns import turns
from schemas.facts.site import Site


def objects(site: Site) -> list[Manifest]:
    """The objects of the component; none where the site has no fault remediation. The namespace is
    privileged, as the detector's checks look at the host."""
    if site.file.remediation is None:
        return []
    found = [namespace(site, settings_of(site).namespace, COMPONENT, "privileged")]
    found += [*detectors(site), *device_taints(site), *health_checks(site)]
    if remediated_pools(site):
        found += [*rights(site), *controller(site), *turns(site)]
        found += [*operations(site), *resets(site)]
    return annotate(found)
