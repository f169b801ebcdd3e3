"""Node Operation Controller as it runs: two replicas on the control plane, of which one leads."""

from components.making.manifest import Manifest, by_kind, filled
from components.making.pod_security import SECURITY
from components.remediation.names import CONTROLLER, own, selector_labels, settings_of
from components.remediation.program import deployment
from schemas.facts.site import Site

METRICS_PORT = 8080


def controller(site: Site) -> list[Manifest]:
    """The Deployment, and what keeps a replica through drains."""
    settings = settings_of(site).controller
    container, budget = filled(
        __file__,
        image=settings.image or site.images[CONTROLLER],
        memory=settings.memory,
        security=SECURITY,
        metadata=own(site, CONTROLLER),
        selector=selector_labels(CONTROLLER),
    )
    # On the control plane: a controller that drains the node it is on would end itself.
    return by_kind([deployment(site, CONTROLLER, container), budget], CONTROLLER)
