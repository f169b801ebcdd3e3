"""Node Operation Controller as it runs: two replicas on the control plane, of which one leads."""

from components.making import replicas
from components.making.manifest import Manifest, by_kind, filled, labels
from components.making.pod_security import SECURITY
from components.remediation.names import COMPONENT, CONTROLLER, own, selector_labels, settings_of
from schemas.facts.site import Site

METRICS_PORT = 8080
REPLICAS = 2


def controller(site: Site) -> list[Manifest]:
    """The Deployment, and what keeps a replica through drains."""
    settings, selector = settings_of(site).controller, selector_labels(CONTROLLER)
    container, budget = filled(
        __file__,
        image=settings.image or site.images[CONTROLLER],
        memory=settings.memory,
        security=SECURITY,
        metadata=own(site, CONTROLLER),
        selector=selector,
    )
    # On the control plane: a controller that drains the node it is on would end itself.
    pod = replicas.pod(site, CONTROLLER, selector, enableServiceLinks=False)
    template = {
        "metadata": {"labels": {**labels(site.name, COMPONENT), **selector}},
        "spec": {**pod, "containers": [container]},
    }
    count = min(REPLICAS, site.replicas(site.control_plane))
    body = replicas.deployment(own(site, CONTROLLER), selector, count, template)
    return by_kind([body, budget], CONTROLLER)
