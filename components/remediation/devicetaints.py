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
from components.making.manifest import COMPONENT_LABEL, Json, Manifest, hash_name
from components.making.rights import rule
from components.remediation.names import COMPONENT, settings_of
from components.remediation.rights import account
from components.remediation.scripted import INTERVAL_SECONDS, SILENT_SECONDS, Scripted
from schemas.facts.feature_gates import device_taint_api
from schemas.facts.site import Site
from schemas.kubernetes.node_labels import POOL_LABEL
from schemas.model.vocabulary import Fault

NAME = "device-taints"
FAULTS = (Fault.PCIE_LINK_DEGRADED,)
PROGRAM = ("devicetaints.sh", "devicetaints.awk")
_DEVICES = "resource.k8s.io"
RULES = [
    rule("", ["nodes"], ["list"]),
    rule(_DEVICES, ["resourceslices"], ["list"]),
    rule(_DEVICES, ["devicetaintrules"], ["list", "create", "delete"]),
]
"""It may read what it decides from, and make and delete rules."""


def device_taints(site: Site) -> list[Manifest]:
    """The objects of the program but its namespace; none where no device is taken out by itself."""
    if not any(site.taints_devices(pool) for pool in site.file.pools):
        return []
    program = Scripted(NAME, PROGRAM, environment(site), "512Mi", _not_older)
    digest = hash_name(NAME, dict(program.texts()))
    return [
        *account(site, NAME, RULES, []),
        program.config_map(site),
        program.deployment(site, digest),
    ]


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


def _not_older(file: str) -> Json:
    """A probe that fails while what the program noted in a file is too long ago."""
    test = f'test "$(($(date +%s) - $(cat /state/{file})))" -lt {SILENT_SECONDS}'
    return {
        "exec": {"command": ["sh", "-c", test]},
        "initialDelaySeconds": 30,
        "timeoutSeconds": 10,
    }
