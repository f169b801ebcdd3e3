"""A scheduler as it runs: a Deployment on the control plane, with what watches and guards it.

On the control plane, as a pool that a scheduler serves is drained and re-imaged with its pods, and
as jobs cannot starve it there. One replica leads; the others hold nothing until it goes.
"""

import hashlib

from components.making import replicas
from components.making.dump import dump
from components.making.manifest import (
    CONFIGURATION_ANNOTATION,
    Json,
    Manifest,
    Target,
    labels,
    prune,
)
from components.making.pod_security import SECURITY
from components.schedulers.configuration import configuration
from components.schedulers.names import (
    COMPONENT,
    CONFIG_DIRECTORY,
    CONFIG_FILE,
    HEALTH_PORT,
    METRICS_PORT,
    SCHEDULER,
    own,
    selector_labels,
)
from schemas.facts.feature_gates import gate_list
from schemas.facts.site import Site
from schemas.model.scheduling import Backend, KubeScheduler
from schemas.model.vocabulary import ModelBy

RESOURCES: Json = {
    # Some 300 MiB at 400 nodes and some thousand pods; the limit keeps a leak away from etcd.
    "requests": {"cpu": "250m", "memory": "512Mi"},
    "limits": {"memory": "2Gi"},
}


def workload(site: Site, backend: Backend, scheduler: KubeScheduler) -> list[Manifest]:
    """Everything that makes a scheduler run, in the namespace of the schedulers."""
    text = dump(configuration(site, backend, scheduler))
    config = {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": own(site, backend),
        "data": {CONFIG_FILE: text},
    }
    made = (config, deployment(site, backend, text), *_guards(site, backend))
    return [Manifest(f"{body['kind']}/{backend.name}", body, target=Target.SITE) for body in made]


def deployment(site: Site, backend: Backend, text: str) -> Json:
    """The Deployment of a scheduler that reads ``text`` as its configuration."""
    scheduler = backend.scheduler
    if scheduler is None:
        raise ValueError(f"Foresite runs no scheduler for {backend.name}")
    digest = hashlib.sha256(text.encode()).hexdigest()
    template = {
        "metadata": {
            "labels": {**labels(site.name, COMPONENT), **selector_labels(backend)},
            # It reads its configuration when it starts and never again.
            "annotations": {CONFIGURATION_ANNOTATION: digest},
        },
        "spec": _pod(site, backend, scheduler),
    }
    selector = selector_labels(backend)
    return replicas.deployment(own(site, backend), selector, scheduler.replicas, template)


def _pod(site: Site, backend: Backend, scheduler: KubeScheduler) -> Json:
    return {
        **replicas.pod(site, backend.name, selector_labels(backend)),
        "containers": [_container(site, scheduler)],
        "volumes": [{"name": "configuration", "configMap": {"name": backend.name}}],
    }


def _container(site: Site, scheduler: KubeScheduler) -> Json:
    return prune(
        {
            "name": SCHEDULER,
            "image": scheduler.image,
            "command": list(scheduler.command) or None,
            "args": _flags(site),
            "ports": _ports(scheduler),
            **_probes(scheduler),
            "resources": RESOURCES,
            "securityContext": SECURITY,
            "volumeMounts": [
                {"name": "configuration", "mountPath": CONFIG_DIRECTORY, "readOnly": True}
            ],
        }
    )


def _flags(site: Site) -> list[str]:
    gates = feature_gates(site)
    flags = [f"--config={CONFIG_DIRECTORY}/{CONFIG_FILE}", "--v=2"]
    return [*flags, f"--feature-gates={gate_list(gates)}"] if gates else flags


def feature_gates(site: Site) -> dict[str, bool]:
    """Feature gates without which a scheduler finds none of the site's devices.

    Said whatever the site's version of Kubernetes, as the image may be built of an older one, in
    which DRAExtendedResource is off by default (Kubernetes 1.34, pkg/features/kube_features.go).
    """
    settings = site.file.accelerators
    by_dra = settings is not None and settings.model_by is ModelBy.DRA
    return {"DRAExtendedResource": True} if by_dra and site.models() else {}


def _ports(scheduler: KubeScheduler) -> list[Json]:
    found = [{"name": "metrics", "containerPort": METRICS_PORT}]
    if scheduler.gang is not None:
        found.append({"name": "gang-health", "containerPort": HEALTH_PORT})
    return found


def _probes(scheduler: KubeScheduler) -> Json:
    """The probes by which a scheduler counts as working, and is restarted.

    /readyz is of no use: a standby answers 500 until it leads and has filled its caches
    (cmd/kube-scheduler/app/server.go, sched-handler-sync), and an update would wait for it. The
    gang plugin's health hangs with its locks, so a probe finds that after 90 s; the plugin itself
    gives up after three minutes.
    """
    alive = {"httpGet": {"path": "/livez", "port": "metrics", "scheme": "HTTPS"}}
    locks = {"httpGet": {"path": "/gang-healthz", "port": "gang-health"}}
    every = {"periodSeconds": 15, "timeoutSeconds": 15, "failureThreshold": 6}
    return {
        "startupProbe": {**alive, "periodSeconds": 5, "failureThreshold": 24},
        "livenessProbe": {**(locks if scheduler.gang else alive), **every},
        "readinessProbe": {**alive, "periodSeconds": 10, "timeoutSeconds": 5},
    }


def _guards(site: Site, backend: Backend) -> list[Json]:
    """The objects that keep a replica running through drains, find its metrics, and shut its other
    ports."""
    budget = {
        "maxUnavailable": 1,
        "selector": {"matchLabels": selector_labels(backend)},
        "unhealthyPodEvictionPolicy": "AlwaysAllow",
    }
    service = {
        "clusterIP": "None",
        "selector": selector_labels(backend),
        "ports": [{"name": "metrics", "port": METRICS_PORT, "targetPort": "metrics"}],
        "publishNotReadyAddresses": True,
    }
    made = (
        ("policy/v1", "PodDisruptionBudget", budget),
        ("v1", "Service", service),
        ("networking.k8s.io/v1", "NetworkPolicy", _network(backend)),
    )
    return [
        {"apiVersion": version, "kind": kind, "metadata": own(site, backend), "spec": spec}
        for version, kind, spec in made
    ]


def _network(backend: Backend) -> Json:
    """Metrics alone are open: the program serves Go's profiles to whoever asks, on 6060 and beside
    the gang plugin's health (pfnet/scheduler-plugins f63b46e, cmd/kube-scheduler/scheduler.go).

    Probes come from the pod's own node, which no policy shuts out (networking/v1, NetworkPolicy).
    """
    return {
        "podSelector": {"matchLabels": selector_labels(backend)},
        "policyTypes": ["Ingress"],
        "ingress": [{"ports": [{"port": METRICS_PORT, "protocol": "TCP"}]}],
    }
