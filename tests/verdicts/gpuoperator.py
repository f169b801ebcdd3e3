"""NVIDIA's GPU operator: its parts, the drivers that it installs, and how it renews them."""

from collections.abc import Mapping

from components.effects.vocabulary import Action, Impact
from schemas.model.codes import Code
from tests.verdicts.edits import Edit, applied, by_dra, image, record, site, together
from tests.verdicts.row import (
    ANY,
    KCP_ROLLS,
    LAB,
    MD_IN_PLACE,
    PROTECTED,
    Expected,
    Invalid,
    Row,
    Verdict,
    restarted,
)

_OPERATOR = "NVIDIA/gpu-operator 26.3.3"
_PARTS = (
    f"{_OPERATOR}, controllers/object_controls.go, isDaemonsetSpecChanged: parts whose template "
    "changes are rolled, each by itself"
)
_DRIVER = (
    f"{_OPERATOR}, internal/state/driver.go, and k8s-operator-libs, pkg/upgrade: with autoUpgrade "
    "a host whose driver pod is older than its template is cordoned, pods that ask for "
    "nvidia.com/gpu* are evicted, the driver is installed again"
)
_WAITS = (
    f"{_OPERATOR}, manifests/state-driver/0500_daemonset.yaml: OnDelete, so without autoUpgrade "
    "driver pods stay until somebody deletes them or the host is installed again"
)
_PACE = "NVIDIA/k8s-operator-libs, pkg/upgrade/common_manager.go: the pace of upgrades that come"
_STARTS = (
    f"{_OPERATOR}, controllers/state_manager.go: all parts start on the hosts with cards, the "
    "driver too, whatever runs there"
)
_TOGETHER = (
    f"{_OPERATOR}, controllers/object_controls.go: the driver's DaemonSets are deleted, so all "
    "driver pods end at once; what that does to jobs is nowhere written"
)
_T4 = "t4-pcie-16gb"
_VERSION = record(_T4, '"595.91.07"', '"595.92.01"')
_CONTEXT = applied("lab-1")
_NAMED = "{namespace: gpu-operator}"
_RENEWS = site("lab-1", _NAMED, "{max_parallel_upgrades: 1}")
_OTHER_CARDS = (
    site("lab-1", "hardware: t4-pcie-16gb-x1", "hardware: v100-sxm2-32gb-x8"),
    site("lab-1", "accelerators: {t4-pcie-16gb: 2}", "accelerators: {v100-sxm2-32gb: 2}"),
)
_DRAINED = {"lab": Verdict(Impact.DRAIN, 3, ANY)}
_BUSY = {"lab": Verdict(Impact.UNKNOWN, 3, ANY)}
_RESTARTED = {"lab": restarted()}


def _lab(
    name: str,
    edit: Edit,
    pools: Mapping[str, Verdict],
    source: str,
    *base: Edit,
    actions: Mapping[str, Action] | None = None,
    deletions: Mapping[str, int] | None = None,
) -> Row:
    expected = Expected(pools, actions or {}, deletions or {})
    return Row(f"GPU operator: {name}", (edit,), {"lab-1": expected}, source, (_CONTEXT, *base))


def _shared(part: str, what: str) -> Row:
    """An image of plain DaemonSets and of the operator's parts alike."""
    gpus = {name: restarted() for name in ("v100", "a100", "h100")}
    return Row(
        f"GPU operator: the image of NVIDIA's {what}, with and without it",
        (image(part),),
        {"tokyo-1": Expected(gpus), "lab-1": Expected(_RESTARTED)},
        f"{_PARTS}; without it Kubernetes 1.34.3, pkg/controller/daemon/update.go",
        (applied("tokyo-1"), _CONTEXT),
    )


_IMAGES = (
    _shared("nvidia-device-plugin", "device plugin"),
    _shared("nvidia-exporter", "exporter"),
    _lab("the image of the container toolkit", image("nvidia-container-toolkit"), _RESTARTED,
         f"{_PARTS}; containers run on while containerd restarts"),
    _lab("the image of its validator", image("nvidia-gpu-operator"), _RESTARTED, _PARTS),
    _lab("the image of the driver manager, which nobody renews", image("nvidia-driver-manager"),
         {}, _WAITS),
    _lab("the image of the driver manager", image("nvidia-driver-manager"), _DRAINED,
         f"{_DRIVER}; the manager is an init container of the driver's pods", _RENEWS),
    Row(
        "GPU operator: the image of what it does not run",
        (image("nvidia-dcgm"),),
        {},
        "components/accelerators/operator.py: dcgm is off, the exporter brings its own",
        (_CONTEXT,),
    ),
)  # fmt: skip
_DRIVERS = (
    _lab("another driver, which nobody renews", _VERSION, {}, _WAITS,
         actions={"NVIDIADriver/lab": Action.CHANGED}),
    _lab("another driver", _VERSION, _DRAINED, _DRIVER, _RENEWS,
         actions={"NVIDIADriver/lab": Action.CHANGED}),
    _lab("another driver for cards that a DRA driver hands out, which nobody renews", _VERSION, {},
         _WAITS, *by_dra("lab-1")),
    Row(
        "GPU operator: drivers are renewed under cards that a DRA driver hands out",
        (_RENEWS,),
        {"lab-1": Invalid(frozenset({Code("accelerator-unserved")}))},
        f"{_OPERATOR}, cmd/gpu-operator/main.go, gpuPodSpecFilter: by nvidia.com/gpu*",
        (_CONTEXT, *by_dra("lab-1")),
    ),
    _lab("drivers are renewed from now on", _RENEWS,
         {"lab": Verdict(Impact.DRAIN, 3, ANY, (Impact.UNKNOWN,))},
         f"{_DRIVER}: hosts that wait for it, and Git does not say whether any do"),
    _lab("drivers are renewed no more",
         site("lab-1", "{max_parallel_upgrades: 1}", "{max_parallel_upgrades: 0}"),
         {}, f"{_PACE}; labels of a host in between go, and nothing else", _RENEWS),
    _lab("more drivers are renewed at a time",
         site("lab-1", "{max_parallel_upgrades: 1}", "{max_parallel_upgrades: 2}"),
         {}, _PACE, _RENEWS),
    _lab("a driver and more at a time",
         together(_VERSION,
                  site("lab-1", "{max_parallel_upgrades: 1}", "{max_parallel_upgrades: 2}")),
         _DRAINED, _DRIVER, _RENEWS),
    _lab("how long jobs may go on before a driver is renewed",
         site("lab-1", "taints: []}", "taints: [], rollout: {drain_timeout_seconds: 600}}"),
         {}, f"{_PACE}; {MD_IN_PLACE}", _RENEWS),
    _lab("drivers come with the OS image from now on",
         site("lab-1", _NAMED, "{drivers: false}"), _BUSY,
         f"{_TOGETHER}; {PROTECTED}", actions={"NVIDIADriver/lab": Action.REFUSED},
         deletions={"NVIDIADriver": 1}),
    _lab("drivers come with the operator from now on",
         site("lab-1", "{drivers: false}", _NAMED),
         {"lab": Verdict(Impact.UNKNOWN, 3, ANY, (Impact.POD_RESTART,))},
         f"{_OPERATOR}, internal/state/driver.go: driver pods start on all hosts of the pool; one "
         "that finds a driver of the host is labelled and left alone",
         site("lab-1", _NAMED, "{drivers: false}"),
         actions={"NVIDIADriver/lab": Action.ADDED}),
)  # fmt: skip
_WAYS = (
    Row(
        "GPU operator: in place of plain DaemonSets",
        (
            site("tokyo-1", "accelerators:\n  prefix", "accelerators:\n  gpu_operator: {}\n"
                 "  prefix"),
        ),
        {
            "tokyo-1": Expected(
                {name: Verdict(Impact.UNKNOWN, None, ANY) for name in ("v100", "a100", "h100")},
                {
                    "DaemonSet/device-plugin/*": Action.DELETED,
                    "DaemonSet/exporter/*": Action.DELETED,
                    "PodMonitor/foresite-dcgm-exporter": Action.DELETED,
                    "RuntimeClass/nvidia": Action.DELETED,
                    "ClusterPolicy": Action.ADDED,
                    "NVIDIADriver/*": Action.ADDED,
                },
            )
        },
        _STARTS,
        (applied("tokyo-1"),),
    ),
    _lab("plain DaemonSets in its place", site("lab-1", f"  gpu_operator: {_NAMED}\n", ""),
         {"lab": Verdict(Impact.POD_RESTART, None, ANY, (Impact.UNKNOWN,))},
         f"{PROTECTED}, so the operator goes on; the exporter starts on each host",
         actions={
             "ClusterPolicy": Action.REFUSED,
             "NVIDIADriver/lab": Action.REFUSED,
             "Namespace/gpu-operator": Action.REFUSED,
             "DaemonSet/device-plugin/lab": Action.ADDED,
             "DaemonSet/exporter/lab": Action.ADDED,
         },
         deletions={"ClusterPolicy": 1, "NVIDIADriver": 1, "Namespace": 1}),
    _lab("another namespace for it",
         site("lab-1", _NAMED, "{namespace: nvidia}"), {},
         f"{PROTECTED}; its objects have no namespace, so nothing else differs",
         actions={"Namespace/gpu-operator": Action.REFUSED, "Namespace/nvidia": Action.ADDED},
         deletions={"Namespace": 1}),
    Row(
        "GPU operator: other cards in a pool's hosts",
        _OTHER_CARDS,
        {
            "lab-1": Expected(
                LAB, {"NodeFeatureRule/*t4*": Action.DELETED,
                      "ClusterTrainingRuntime/*t4*": Action.DELETED},
            )
        },
        f"{KCP_ROLLS}: the default scheduler's configuration is one of its files, and ignores "
        "another name",
        (_CONTEXT,),
    ),
    Row(
        "GPU operator: other cards in a pool's hosts, by DRA",
        _OTHER_CARDS,
        {
            "lab-1": Expected(
                _RESTARTED,
                {
                    "DeviceClass/t4-pcie-16gb": Action.DELETED,
                    "NodeFeatureRule/t4-pcie-16gb": Action.DELETED,
                    "ClusterTrainingRuntime/*t4*": Action.DELETED,
                    "KubeadmControlPlane": Action.CHANGED,
                },
            )
        },
        f"{MD_IN_PLACE}; {_WAITS}; root disks are read at the next re-image; the detector of "
        "faults looks for other cards",
        (_CONTEXT, *by_dra("lab-1")),
    ),
)  # fmt: skip
ROWS = (*_IMAGES, *_DRIVERS, *_WAYS)
