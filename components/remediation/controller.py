"""Node Operation Controller as it runs: two replicas on the control plane, of which one leads."""

from components.making import replicas
from components.making.manifest import Json, Manifest, Target, labels
from components.making.pod_security import SECURITY
from components.remediation.names import COMPONENT, CONTROLLER, own, selector_labels, settings_of
from schemas.facts.site import Site

METRICS_PORT, HEALTH_PORT = 8080, 8081
REPLICAS = 2


def controller(site: Site) -> list[Manifest]:
    """The Deployment, and what keeps a replica through drains."""
    budget = {
        "apiVersion": "policy/v1",
        "kind": "PodDisruptionBudget",
        "metadata": own(site, CONTROLLER),
        "spec": {
            "maxUnavailable": 1,
            "selector": {"matchLabels": selector_labels(CONTROLLER)},
            "unhealthyPodEvictionPolicy": "AlwaysAllow",
        },
    }
    return [
        Manifest(f"Deployment/{CONTROLLER}", _deployment(site), target=Target.SITE),
        Manifest(f"PodDisruptionBudget/{CONTROLLER}", budget, target=Target.SITE),
    ]


def _deployment(site: Site) -> Json:
    selector = selector_labels(CONTROLLER)
    named = {**labels(site.name, COMPONENT), **selector}
    # On the control plane: a controller that drains the node it is on would end itself.
    spec = {
        **replicas.pod(site, CONTROLLER, selector, enableServiceLinks=False),
        "containers": [_container(site)],
    }
    template = {"metadata": {"labels": named}, "spec": spec}
    count = min(REPLICAS, site.replicas(site.control_plane))
    return replicas.deployment(own(site, CONTROLLER), selector, count, template)


def _container(site: Site) -> Json:
    """The image's entrypoint is the manager; its defaults of memory are for small clusters."""
    settings = settings_of(site).controller
    every = {"periodSeconds": 15, "timeoutSeconds": 5, "failureThreshold": 4}
    return {
        "name": "manager",
        "image": settings.image or site.release.images[CONTROLLER],
        "args": [
            "--leader-elect",
            f"--metrics-bind-address=:{METRICS_PORT}",
            f"--health-probe-bind-address=:{HEALTH_PORT}",
        ],
        "ports": [
            {"name": "metrics", "containerPort": METRICS_PORT},
            {"name": "health", "containerPort": HEALTH_PORT},
        ],
        "livenessProbe": {"httpGet": {"path": "/healthz", "port": "health"}, **every},
        "readinessProbe": {"httpGet": {"path": "/readyz", "port": "health"}, **every},
        "resources": {
            "requests": {"cpu": "100m", "memory": settings.memory},
            "limits": {"memory": settings.memory},
        },
        "securityContext": SECURITY,
    }
