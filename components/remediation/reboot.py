"""The Job that reboots a node by its BareMetalHost, as the operations' template has it."""

from components.making.manifest import Json, labels
from components.making.pod_security import POD_SECURITY, SECURITY
from components.making.taints import CONTROL_PLANE_LABEL, tolerations
from components.remediation import reset
from components.remediation.names import (
    COMPONENT,
    REBOOTS,
    repair_image,
    selector_labels,
    settings_of,
)
from schemas.facts.site import Site
from schemas.model.site_file import Pool

RETRIES = 1_000_000
"""Restarts of the Job's pod before the Job fails: a Job that fails gives a broken node back."""
_NODE_ANNOTATION = "nodeops.k8s.preferred.jp/nodename"
"""By it the controller tells the Job's pod which node it is for (nodeoperation_controller.go)."""
_JOB_LABEL = "batch.kubernetes.io"
"""Kubernetes' own labels of a Job's pods: the same for a pod that is made anew."""
_ACCESS = "/management"


def job(site: Site, pool: Pool, ours: dict[str, str]) -> Json:
    """The template of the Job; the controller asks for its namespace, as nothing else says one.

    No deadline and no time to live: a Job that fails or vanishes makes the controller take its
    taint off a broken node. The program ends by itself, and well unless its pod is ended before.
    """
    named = {**labels(site.name, COMPONENT), **selector_labels(REBOOTS), **ours}
    return {
        "metadata": {"namespace": settings_of(site).namespace, "labels": named},
        "spec": {
            "backoffLimit": RETRIES,
            "template": {"metadata": {"labels": named}, "spec": _pod(site, pool)},
        },
    }


def _pod(site: Site, pool: Pool) -> Json:
    """On the control plane, beside no pods of users: it can reboot every host of the site. It does
    not tolerate a taint of faults, so it is never on the node that it reboots."""
    secret = {
        "secretName": settings_of(site).reboot.credentials,
        "items": [{"key": "kubeconfig", "path": "kubeconfig"}],
        "defaultMode": 0o440,
    }
    return {
        "serviceAccountName": REBOOTS,
        "automountServiceAccountToken": True,
        "enableServiceLinks": False,
        "restartPolicy": "OnFailure",
        "priorityClassName": "system-cluster-critical",
        "nodeSelector": {CONTROL_PLANE_LABEL: ""},
        "tolerations": tolerations([site.control_plane]),
        # The group may read the Secret's file.
        "securityContext": {**POD_SECURITY, "fsGroup": POD_SECURITY["runAsGroup"]},
        "containers": [_container(site, pool)],
        "volumes": [
            {"name": "management", "secret": secret},
            {"name": "state", "emptyDir": {"sizeLimit": "16Mi"}},
        ],
    }


def _container(site: Site, pool: Pool) -> Json:
    return {
        "name": "reboot",
        "image": repair_image(site),
        "command": ["node-repair", "reboot"],
        "env": _environment(site, pool),
        "resources": {
            "requests": {"cpu": "20m", "memory": "64Mi"},
            "limits": {"memory": "256Mi"},
        },
        "securityContext": SECURITY,
        "volumeMounts": [
            {"name": "management", "mountPath": _ACCESS, "readOnly": True},
            {"name": "state", "mountPath": "/state"},
        ],
    }


def _environment(site: Site, pool: Pool) -> list[Json]:
    reboot = settings_of(site).reboot
    told = {
        "SITE": site.name,
        "MANAGEMENT_KUBECONFIG": f"{_ACCESS}/kubeconfig",
        "ATTEMPTS": str(reboot.attempts),
        "WINDOW_SECONDS": str(3600 * reboot.window_hours),
        "TIMEOUT_SECONDS": str(reboot.timeout_seconds),
        "REBOOT_STATE": "/state",
        # The client writes the certificates of a kubeconfig into files.
        "TMPDIR": "/state",
        **({"RESET": asked} if (asked := reset.request(site, pool)) else {}),
    }
    fields = {
        "NODE": f"metadata.annotations['{_NODE_ANNOTATION}']",
        "OPERATION": f"metadata.labels['{_JOB_LABEL}/controller-uid']",
        "JOB": f"metadata.labels['{_JOB_LABEL}/job-name']",
        "JOB_NAMESPACE": "metadata.namespace",
    }
    return [
        *({"name": k, "value": v} for k, v in told.items()),
        *({"name": k, "valueFrom": {"fieldRef": {"fieldPath": v}}} for k, v in fields.items()),
    ]
