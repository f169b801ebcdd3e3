"""Node Operation Controller as it runs: two replicas on the control plane, of which one leads."""

from components.effects.placement import HOSTNAME_LABEL
from components.making.manifest import Json, Manifest, Target, labels
from components.making.pod_security import POD_SECURITY, SECURITY
from components.making.taints import CONTROL_PLANE_LABEL, tolerations
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
    named = {**labels(site.name, COMPONENT), **selector_labels(CONTROLLER)}
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": own(site, CONTROLLER),
        "spec": {
            # Each on a host of its own.
            "replicas": min(REPLICAS, site.replicas(site.control_plane)),
            "selector": {"matchLabels": selector_labels(CONTROLLER)},
            # Where there are only two hosts, none has room for one more: replicas stay apart.
            "strategy": {
                "type": "RollingUpdate",
                "rollingUpdate": {"maxSurge": 0, "maxUnavailable": 1},
            },
            "template": {"metadata": {"labels": named}, "spec": _pod(site)},
        },
    }


def _pod(site: Site) -> Json:
    """On the control plane: a controller that drains the node it is on would end itself."""
    apart = {
        "labelSelector": {"matchLabels": selector_labels(CONTROLLER)},
        "topologyKey": HOSTNAME_LABEL,
    }
    return {
        "serviceAccountName": CONTROLLER,
        "automountServiceAccountToken": True,
        "enableServiceLinks": False,
        "priorityClassName": "system-cluster-critical",
        "nodeSelector": {CONTROL_PLANE_LABEL: ""},
        "tolerations": tolerations([site.control_plane]),
        "affinity": {
            "podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [apart]}
        },
        "securityContext": POD_SECURITY,
        "containers": [_container(site)],
    }


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
