"""How accelerators are asked for: names, admission, DRA, and what a control plane is told."""

from collections.abc import Mapping

from components.effects.vocabulary import Action, Impact
from tests.verdicts.edits import Edit, applied, bare, by_dra, record, site
from tests.verdicts.row import (
    ANY,
    CONTROL,
    KCP_ROLLS,
    LAB,
    MD_ROLLS,
    Expected,
    Row,
    Verdict,
    restarted,
)

_SCHEDULER = (
    "Kubernetes 1.34.3, cmd/kube-scheduler/app/options: the configuration is read at the start, so "
    "its hash renews the scheduler's pods; running pods keep what they were admitted with"
)
_GATES = (
    f"{KCP_ROLLS}: feature gates and APIs of the API server, and the default scheduler's "
    "configuration, are in its KubeadmConfig"
)
_TWICE = (
    "Kubernetes 1.34.3, pkg/kubelet/cm/devicemanager/manager.go, allocatedDevices: devices are "
    "booked by the resource's name, so under another one those that pods hold are given away again"
)
_CLASS = (
    "Kubernetes 1.34.3, pkg/scheduler/framework/plugins/dynamicresources: a class is read when a "
    "claim is allocated, and claims keep what they have"
)
_WEBHOOK = (
    "Cluster API 1.13.6, controlplane/kubeadm/internal/webhooks/kubeadmcontrolplane.go, "
    "ValidateUpdate: of clusterConfiguration single parts may change, and all of it cannot go"
)
_PLUGIN = "        privileged: true\n"
_RESOURCE = "resource: accelerators.example.com/mncore2"
_WAY = "  prefix: accelerators.example.com\n"
_POLICY = {"MutatingAdmissionPolicy*": Action.ADDED}
_NO_POLICY = {"MutatingAdmissionPolicy*": Action.DELETED}
_REFUSED = {"control": Verdict(Impact.NONE, 3, also=(Impact.REIMAGE, Impact.UNKNOWN))}
"""A control plane whose update is refused as a whole."""


def _tokyo(name: str, edit: Edit, pools: Mapping[str, Verdict], source: str) -> Row:
    return Row(name, (edit,), {"tokyo-1": Expected(pools)}, source, (applied("tokyo-1"),))


def _own(name: str, edit: Edit, expected: Expected, source: str, *base: Edit) -> Row:
    return Row(name, (edit,), {"tsukuba-1": expected}, source, (applied("tsukuba-1"), *base))


ROWS = (
    _tokyo(
        "accelerators: another name for a model",
        site("tokyo-1", "gpu-v100-32gb", "gpu-volta"),
        {"control": restarted()},
        f"{_SCHEDULER}: it ignores the model's name on nodes",
    ),
    _tokyo(
        "accelerators: another prefix",
        site("tokyo-1", "prefix: accelerators.example.com", "prefix: devices.example.com"),
        {"control": restarted()},
        f"{_SCHEDULER}: it ignores the models' names on nodes",
    ),
    _own(
        "accelerators: a name that the plugin's resource does not have",
        site("tsukuba-1", _WAY, f"{_WAY}  names: {{mncore2: board}}\n"),
        Expected(CONTROL, _POLICY),
        _GATES,
    ),
    _own(
        "accelerators: a resource of the plugin's own",
        site("tsukuba-1", _RESOURCE, "resource: mncore.example/board"),
        Expected(CONTROL, _POLICY),
        f"{_GATES}; what an image advertises is in its arguments, which are the same",
    ),
    Row(
        "accelerators: a plugin that gives its cards another name",
        (
            site("tsukuba-1", _RESOURCE, "resource: mncore.example/board"),
            site("tsukuba-1", _PLUGIN, f"{_PLUGIN}        args: [--name=board]\n"),
        ),
        {
            "tsukuba-1": Expected(
                {**CONTROL, "mncore2": Verdict(Impact.UNKNOWN, None, ANY)}, _POLICY
            )
        },
        f"{_GATES}; {_TWICE}",
        (applied("tsukuba-1"),),
    ),
    _own(
        "accelerators: the plugin's resource becomes the model's again",
        site("tsukuba-1", "resource: mncore.example/board", _RESOURCE),
        Expected(CONTROL, {**_NO_POLICY, "KubeadmControlPlane": Action.CHANGED}),
        f"{_GATES}; {_WEBHOOK}, so some of it has to stay",
        site("tsukuba-1", _RESOURCE, "resource: mncore.example/board"),
    ),
    Row(
        "accelerators: none are served any more",
        (bare("tsukuba-1"),),
        {
            "tsukuba-1": Expected(
                _REFUSED,
                {
                    "KubeadmControlPlane": Action.REFUSED,
                    "ValidatingAdmissionPolicy/node-marks": Action.CHANGED,  # whom it lets pass
                    "*": Action.DELETED,
                },
            )
        },
        _WEBHOOK,
    ),
    Row(
        "accelerators: from admission to DRA",
        (by_dra("tokyo-1")[1],),
        {
            "tokyo-1": Expected(
                {
                    **CONTROL,
                    **{
                        name: Verdict(Impact.REIMAGE, None, ANY, (Impact.UNKNOWN,))
                        for name in ("v100", "a100", "h100")
                    },
                },
                {
                    "DaemonSet/device-plugin/*": Action.DELETED,
                    **_NO_POLICY,
                },
            )
        },
        f"{_GATES}; {MD_ROLLS}: kubelets of pools with cards get a feature gate; until then the "
        "DRA driver may hand out what pods have from the device plugin",
        (applied("tokyo-1"), by_dra("tokyo-1")[0]),
    ),
    Row(
        "accelerators: from DRA to admission",
        (site("lab-1", "  model_by: dra\n", ""),),
        {
            "lab-1": Expected(
                {"lab": Verdict(Impact.REIMAGE, 3, ANY, (Impact.UNKNOWN,))},
                {
                    "DeviceClass/*": Action.DELETED,
                    "ValidatingAdmissionPolicy/accelerator-claims": Action.CHANGED,
                },
            )
        },
        f"{_GATES}, and the kubelets' on a control plane that runs jobs",
        (applied("lab-1"), *by_dra("lab-1")),
    ),
    *(
        Row(f"accelerators: {name}, where the default scheduler serves the model", (edit,),
            {"lab-1": Expected(LAB)}, f"{_GATES}: it ignores the model's name on nodes",
            (applied("lab-1"),))
        for name, edit in (
            ("another name", site("lab-1", "gpu-t4}", "gpu-turing}")),
            ("another prefix", site("lab-1", _WAY, "  prefix: d.example.com\n")),
        )
    ),
    *(
        Row(
            f"accelerators: {name}",
            (edit,),
            {"lab-1": Expected(actions={"DeviceClass/t4-pcie-16gb": action})},
            _CLASS,
            (applied("lab-1"), *by_dra("lab-1")),
        )
        for name, edit, action in (
            ("a DRA driver", record("t4-pcie-16gb", "driver: gpu.nvidia.com",
                                    "driver: gpu.example.com"), Action.CHANGED),
            ("how a card is found among a driver's",
             record("t4-pcie-16gb", "expressions:\n",
                    "expressions:\n        - device.driver != 'x'\n"), Action.CHANGED),
            ("the prefix of a device class", site("lab-1", _WAY, "  prefix: d.example.com\n"),
             Action.REPLACED),
            ("the name of a device class", site("lab-1", "gpu-t4}", "gpu-turing}"),
             Action.REPLACED),
        )
    ),
)  # fmt: skip
