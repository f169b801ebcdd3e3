"""The Job that repairs a node, as the operations' template has it."""

import json

from components.making.faults import CONDITIONS
from components.making.manifest import Json, filled
from components.making.pod_security import POD_SECURITY, SECURITY
from components.making.taints import tolerations
from components.remediation import reset
from components.remediation.names import REBOOTS, own, repair_image, settings_of
from schemas.facts.site import Site
from schemas.model.site_file import Pool

_FIELDS = {
    # The controller's own annotation (node-operation-controller, nodeoperation_controller.go).
    "NODE": "metadata.annotations['nodeops.k8s.preferred.jp/nodename']",
    # Kubernetes' own labels of a Job's pods: the same for a pod that is made anew.
    "OPERATION": "metadata.labels['batch.kubernetes.io/controller-uid']",
    "JOB": "metadata.labels['batch.kubernetes.io/job-name']",
    "JOB_NAMESPACE": "metadata.namespace",
}


def job(site: Site, pool: Pool, ours: dict[str, str]) -> Json:
    """The template of the Job; the controller asks for its namespace, as nothing else says one."""
    return filled(
        __file__,
        namespace=settings_of(site).namespace,
        labels={**own(site, REBOOTS)["labels"], **ours},
        tolerations=tolerations([site.control_plane]),
        # The group may read the Secret's file.
        pod_security={**POD_SECURITY, "fsGroup": POD_SECURITY["runAsGroup"]},
        image=repair_image(site),
        env=_environment(site, pool),
        security=SECURITY,
        credentials=settings_of(site).reboot.credentials,
    )[0]


def _environment(site: Site, pool: Pool) -> list[Json]:
    reboot, asked = settings_of(site).reboot, reset.request(site, pool)
    told = {
        "SITE": site.name,
        "MANAGEMENT_KUBECONFIG": "/management/kubeconfig",
        "ATTEMPTS": str(reboot.attempts),
        "WINDOW_SECONDS": str(3600 * reboot.window_hours),
        "TIMEOUT_SECONDS": str(reboot.timeout_seconds),
        "CONDITIONS": json.dumps({each: CONDITIONS[each] for each in site.faults(pool)}),
        "REBOOT_STATE": "/state",
        # The client writes the certificates of a kubeconfig into files.
        "TMPDIR": "/state",
        **({"RESET": asked} if asked else {}),
    }
    return [
        *({"name": k, "value": v} for k, v in told.items()),
        *({"name": k, "valueFrom": {"fieldRef": {"fieldPath": v}}} for k, v in _FIELDS.items()),
    ]
