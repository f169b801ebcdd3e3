"""The canary: tiny pods that pass through a gang scheduler all the time, as nothing else wakes a
parked gang.

The gang plugin only puts gangs into the queue while some pod passes its Permit
(pfnet/scheduler-plugins f63b46e, plugins/gang/gangs.go, activatePods). On a scheduler where nothing
else happens a new gang would wait for ever; one that a canary met half-made waits for the next.
"""

from components.making.manifest import Json, Manifest, Target, labels
from components.making.pod_security import POD_SECURITY, SECURITY
from components.making.taints import tolerations
from components.schedulers.names import (
    COMPONENT,
    INSTANCE_LABEL,
    NAME_LABEL,
    metadata,
    on_pools,
    pools_of,
)
from schemas.facts.site import Site
from schemas.model.scheduling import Backend

IMAGE = "busybox"
"""Its name among the release's images."""
PRIORITY_CLASS = "gang-canary"
PRIORITY = -2_000_000_000
"""Below every PriorityClass that a site file can write: a canary gives way to all."""
PODS, SLEEP_SECONDS = 5, 8
"""One after the other: with one to three seconds to start each, they fill most of a minute."""
DEADLINE_SECONDS = 58


def priority_class(site: Site) -> Manifest:
    """The PriorityClass of canaries: they are taken first, and take nobody's place."""
    body = {
        "apiVersion": "scheduling.k8s.io/v1",
        "kind": "PriorityClass",
        "metadata": metadata(site, PRIORITY_CLASS),
        "value": PRIORITY,
        "preemptionPolicy": "Never",
        "description": "Pods that wake gangs; they do no work.",
    }
    return Manifest("PriorityClass/gang-canary", body, target=Target.SITE)


def canary(site: Site, backend: Backend) -> Manifest:
    """The CronJob of a backend's canary."""
    template = {"metadata": {"labels": _labels(site, backend)}, "spec": _job(site, backend)}
    spec = {
        "schedule": "* * * * *",
        # A run that hangs ends by its deadline, before the next one is due.
        "concurrencyPolicy": "Forbid",
        "startingDeadlineSeconds": 30,
        "successfulJobsHistoryLimit": 1,
        "failedJobsHistoryLimit": 1,
        "jobTemplate": template,
    }
    body = {
        "apiVersion": "batch/v1",
        "kind": "CronJob",
        "metadata": {
            "name": f"{backend.name}-canary",
            "namespace": site.scheduling.namespace,
            "labels": _labels(site, backend),
        },
        "spec": spec,
    }
    return Manifest(f"CronJob/{backend.name}", body, target=Target.SITE)


def _labels(site: Site, backend: Backend) -> dict[str, str]:
    """Of its pods: no scheduler's Service or NetworkPolicy may select one."""
    mine = {NAME_LABEL: PRIORITY_CLASS, INSTANCE_LABEL: backend.name}
    return {**labels(site.name, COMPONENT), **mine}


def _job(site: Site, backend: Backend) -> Json:
    return {
        "completions": PODS,
        "parallelism": 1,
        "backoffLimit": PODS,
        "activeDeadlineSeconds": DEADLINE_SECONDS,
        "ttlSecondsAfterFinished": 120,
        "template": {"metadata": {"labels": _labels(site, backend)}, "spec": _pod(site, backend)},
    }


def _pod(site: Site, backend: Backend) -> Json:
    """A pod that fits every node with room for one more: it asks for nothing."""
    container = {
        "name": "canary",
        "image": site.release.images[IMAGE],
        "command": ["sleep", str(SLEEP_SECONDS)],
        "resources": {
            "requests": {"cpu": "0", "memory": "0"},
            "limits": {"cpu": "50m", "memory": "16Mi"},
        },
        "securityContext": SECURITY,
    }
    return {
        "schedulerName": backend.name,
        "restartPolicy": "Never",
        "automountServiceAccountToken": False,
        "enableServiceLinks": False,
        "priorityClassName": PRIORITY_CLASS,
        "terminationGracePeriodSeconds": 0,
        # Its scheduler would place it there anyhow; so whoever reads it sees where it runs.
        "affinity": on_pools(site, backend),
        "tolerations": tolerations(pools_of(site, backend)),
        "securityContext": POD_SECURITY,
        "containers": [container],
    }
