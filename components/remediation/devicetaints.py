"""Takes single faulty devices out of use where a DRA driver hands them out, so that the others of
their host stay in use: a small program that writes a DeviceTaintRule for each.

For devices with too few PCIe lanes: such a device works, but slowly, and only a hand at the host
helps. What its driver tells of a device is for those who reboot the host, and NVIDIA's driver
taints such a device by itself (NVIDIA/k8s-dra-driver-gpu 22407113,
cmd/gpu-kubelet-plugin/device_health.go).

The effect is NoSchedule: who runs on the device keeps it until the end, and the controller manager
has no part in it. Rules hold for pods that ask by an extended resource too, as these have no place
for tolerations; only a scheduler that knows rules heeds them (:mod:`schemas.facts.feature_gates`).
Sources: KEP-5055; Kubernetes 1.34 and 1.35, k8s.io/dynamic-resource-allocation
resourceslice/tracker, and pkg/scheduler/framework/plugins/dynamicresources.
"""

from components.making.faults import CONDITIONS, FAULTY_TAINT
from components.making.manifest import (
    COMPONENT_LABEL,
    CONFIGURATION_ANNOTATION,
    Json,
    Manifest,
    Target,
    hash_name,
    labels,
)
from components.making.pod_security import POD_SECURITY, SECURITY
from components.making.taints import CONTROL_PLANE_LABEL, tolerations
from components.remediation.names import (
    COMPONENT,
    metadata,
    own,
    selector_labels,
    settings_of,
    shared_name,
    tools_image,
)
from components.remediation.reboot import SCRIPTS
from schemas.facts.feature_gates import device_taint_api
from schemas.facts.site import Site
from schemas.kubernetes.node_labels import POOL_LABEL
from schemas.model.vocabulary import Fault

NAME = "device-taints"
FAULTS = (Fault.PCIE_LINK_DEGRADED,)
PROGRAM = ("devicetaints.sh", "devicetaints.awk")
INTERVAL_SECONDS = 20
SILENT_SECONDS = 300
"""Without a new request for so long the program hangs: each gives up after 30 seconds."""
_RBAC = "rbac.authorization.k8s.io"
_DEVICES = "resource.k8s.io"


def device_taints(site: Site) -> list[Manifest]:
    """The objects of the program but its namespace; none where no device is taken out by itself."""
    if not any(site.taints_devices(pool) for pool in site.file.pools):
        return []
    texts = {name: (SCRIPTS / name).read_text("utf-8") for name in PROGRAM}
    program = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": own(site, NAME), "data": texts}
    bodies = [*_rights(site), program, _deployment(site, texts)]
    return [Manifest(f"{each['kind']}/{NAME}", each, target=Target.SITE) for each in bodies]


def environment(site: Site) -> dict[str, str]:
    """The environment of the program; its script explains each variable."""
    pools = [pool.name for pool in site.file.pools if site.taints_devices(pool)]
    return {
        "DEVICETAINTS_API": device_taint_api(site),
        "DEVICETAINTS_CONDITIONS": ",".join(CONDITIONS[each] for each in FAULTS),
        "DEVICETAINTS_FAULTS": ",".join(FAULTS),
        "DEVICETAINTS_TAINT": FAULTY_TAINT,
        "DEVICETAINTS_POOL_LABEL": POOL_LABEL,
        "DEVICETAINTS_POOLS": ",".join(pools),
        "DEVICETAINTS_OWNER": f"{COMPONENT_LABEL}={COMPONENT}",
        "DEVICETAINTS_PERCENT": str(settings_of(site).max_faulty_percent),
        "DEVICETAINTS_INTERVAL": str(INTERVAL_SECONDS),
        "DEVICETAINTS_STATE": "/state",
    }


def _rights(site: Site) -> list[Json]:
    """Its account, which may read what it decides from, and make and delete rules."""
    rules = [
        {"apiGroups": [""], "resources": ["nodes"], "verbs": ["list"]},
        {"apiGroups": [_DEVICES], "resources": ["resourceslices"], "verbs": ["list"]},
        {
            "apiGroups": [_DEVICES],
            "resources": ["devicetaintrules"],
            "verbs": ["list", "create", "delete"],
        },
    ]
    account = {
        "apiVersion": "v1",
        "kind": "ServiceAccount",
        "metadata": own(site, NAME),
        "automountServiceAccountToken": False,
    }
    named = metadata(site, shared_name(NAME), **selector_labels(NAME))
    role = {"apiVersion": f"{_RBAC}/v1", "kind": "ClusterRole", "metadata": named, "rules": rules}
    place = {"name": NAME, "namespace": settings_of(site).namespace}
    binding = {
        "apiVersion": f"{_RBAC}/v1",
        "kind": "ClusterRoleBinding",
        "metadata": named,
        "roleRef": {"apiGroup": _RBAC, "kind": "ClusterRole", "name": named["name"]},
        "subjects": [{"kind": "ServiceAccount", **place}],
    }
    return [account, role, binding]


def _deployment(site: Site, texts: dict[str, str]) -> Json:
    """One at a time: a second one would do the same for nothing."""
    named = {**labels(site.name, COMPONENT), **selector_labels(NAME)}
    digest = hash_name(NAME, dict(texts))
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": own(site, NAME),
        "spec": {
            "replicas": 1,
            "selector": {"matchLabels": selector_labels(NAME)},
            "strategy": {"type": "Recreate"},
            "template": {
                "metadata": {"labels": named, "annotations": {CONFIGURATION_ANNOTATION: digest}},
                "spec": _pod(site),
            },
        },
    }


def _pod(site: Site) -> Json:
    return {
        "serviceAccountName": NAME,
        "automountServiceAccountToken": True,
        "enableServiceLinks": False,
        "priorityClassName": "system-cluster-critical",
        "nodeSelector": {CONTROL_PLANE_LABEL: ""},
        "tolerations": tolerations([site.control_plane]),
        "securityContext": POD_SECURITY,
        "containers": [_container(site)],
        "volumes": [
            {"name": "program", "configMap": {"name": NAME}},
            {"name": "state", "emptyDir": {"sizeLimit": "64Mi"}},
        ],
    }


def _container(site: Site) -> Json:
    # kubectl keeps what the API server serves in HOME.
    told = {**environment(site), "HOME": "/state"}
    return {
        "name": NAME,
        "image": tools_image(site),
        "command": ["sh", f"/program/{PROGRAM[0]}"],
        "env": [{"name": name, "value": value} for name, value in told.items()],
        "livenessProbe": {**_not_older("alive"), "periodSeconds": 60, "failureThreshold": 3},
        # Not ready while rounds fail: the Deployment's status tells whoever watches.
        "readinessProbe": {**_not_older("good"), "periodSeconds": 30, "failureThreshold": 2},
        "resources": {"requests": {"cpu": "50m", "memory": "128Mi"}, "limits": {"memory": "512Mi"}},
        "securityContext": SECURITY,
        "volumeMounts": [
            {"name": "program", "mountPath": "/program", "readOnly": True},
            {"name": "state", "mountPath": "/state"},
        ],
    }


def _not_older(file: str) -> Json:
    """A probe that fails while what the program noted in a file is too long ago."""
    test = f'test "$(($(date +%s) - $(cat /state/{file})))" -lt {SILENT_SECONDS}'
    return {
        "exec": {"command": ["sh", "-c", test]},
        "initialDelaySeconds": 30,
        "timeoutSeconds": 10,
    }
