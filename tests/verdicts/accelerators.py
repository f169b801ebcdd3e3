"""Accelerators: their models, what serves them, and how they are asked for."""

from collections.abc import Mapping

from components.effects.access import ADMISSION
from components.effects.vocabulary import Action, Impact
from tests.verdicts.edits import DIGEST, HARDWARE, Edit, applied, record, site, swap
from tests.verdicts.healing import REPAIRED, RESETS
from tests.verdicts.row import (
    ANY,
    CONTROL,
    KCP_ROLLS,
    MD_IN_PLACE,
    NO_OBJECT,
    SAME,
    Expected,
    Row,
    Verdict,
    reimaged,
    restarted,
)

V100, H100 = "v100-sxm2-32gb", "h100-sxm5-80gb"
_PODS = (
    "Kubernetes 1.34.3, pkg/controller/daemon/update.go: pods of that DaemonSet are made anew; "
    "pkg/kubelet/cm/devicemanager/manager.go: running containers keep their devices meanwhile"
)
_LEAVE = (
    "Kubernetes 1.34.3, pkg/controller/daemon/daemon_controller.go: a DaemonSet's pods start with "
    "it and go with it"
)
_GATES = (
    f"{KCP_ROLLS}: feature gates and APIs of the API server, and the default scheduler's "
    "configuration, are in its KubeadmConfig"
)
_LABELS = (
    "node-feature-discovery 0.19.0, pkg/nfd-master: nodes are labelled anew, and nothing of the "
    "site selects seen.foresite.dev/*"
)
_STRICTER = {pool: Verdict(Impact.UNKNOWN, None, ANY) for pool in ("control", "cpu", "mncore2")}
_VENDOR = "      vendor: mncore\n"
_PLUGIN = "        privileged: true\n"
_DEVICES = "        host_paths: [/dev/mncore2]\n"
_PORT = f"      exporter: {{image: registry.example/exporter:v1.0.0@sha256:{DIGEST}, port: 9500}}\n"
_EXPORTS = '    exporter: {env: {DCGM_EXPORTER_KUBERNETES: "true"}, capabilities: [SYS_ADMIN]}\n'


def _tokyo(
    name: str,
    edit: Edit,
    pools: Mapping[str, Verdict | tuple[Verdict, ...]],
    source: str,
    actions: Mapping[str, Action] | None = None,
    *base: Edit,
) -> Row:
    """A change of what tokyo-1 alone has: models of the catalogue, each on a pool of its own."""
    expected = {"tokyo-1": Expected(pools, actions or {})}
    return Row(name, (edit,), expected, source, (applied("tokyo-1"), *base))


def _own(name: str, edit: Edit, expected: Expected, source: str, *base: Edit) -> Row:
    """A change of tsukuba-1's own model."""
    return Row(name, (edit,), {"tsukuba-1": expected}, source, (applied("tsukuba-1"), *base))


def _plugin(text: str) -> Edit:
    return site("tsukuba-1", _PLUGIN, f"{_PLUGIN}        {text}\n")


_MNCORE2 = Expected({"mncore2": restarted()})
_MENDED = Expected({"mncore2": REPAIRED})
_CARDS = (
    "components/remediation/checks/cards.sh: the detector counts cards by the model's ids, and "
    "hosts with too few are mended"
)
_EXPORTER = site("tsukuba-1", _PLUGIN, _PLUGIN + _PORT)

_PROGRAMS = (
    _tokyo(
        "accelerators: the plugin's image of one model",
        record(V100, "plugin: {", f"plugin: {{image: registry.example/p:v1@sha256:{DIGEST}, "),
        {"v100": restarted()},
        _PODS,
    ),
    _tokyo(
        "accelerators: the environment of one model's plugin",
        record(H100, 'FAIL_ON_INIT_ERROR: "true"', 'FAIL_ON_INIT_ERROR: "false"'),
        {"h100": restarted()},
        _PODS,
    ),
    _tokyo(
        "accelerators: how a model's devices are reset",
        record(H100, "        - sh\n", "        - /bin/sh\n"),
        {},
        f"{_PODS}: there are none but on hosts under repair",
        {},
        RESETS,
    ),
    _tokyo(
        "accelerators: how long a reset may take",
        record(H100, "    reset:\n", "    reset:\n      timeout_seconds: 60\n"),
        {},
        _PODS,
        {},
        RESETS,
    ),
    _tokyo(
        "accelerators: the container runtime of a model",
        record(V100, "runtime_class: nvidia", "runtime_class: nvidia-legacy"),
        {"v100": restarted()},
        f"{_PODS}; runtimeClassName is in the template",
        {"RuntimeClass/*": Action.ADDED},
    ),
    _tokyo(
        "accelerators: rights of an exporter",
        record(V100, "[SYS_ADMIN]", "[SYS_ADMIN, SYS_PTRACE]"),
        {"v100": restarted()},
        _PODS,
    ),
    _tokyo(
        "accelerators: an exporter less",
        record(V100, _EXPORTS, ""),
        {"v100": restarted()},
        _LEAVE,
        {"DaemonSet/exporter/v100": Action.DELETED},
    ),
    _own("accelerators: the image of an in-house plugin",
         site("tsukuba-1", "device-plugin:v2.4.0@sha256:9f2e", "device-plugin:v2.4.1@sha256:9f2f"),
         _MNCORE2, _PODS),
    *(
        _own(f"accelerators: a plugin's {text.partition(':')[0]}", _plugin(text), _MNCORE2, _PODS)
        for text in ("args: [--verbose]", "env: {LOG: debug}")
    ),
    _own("accelerators: a plugin's capabilities",
         site("tsukuba-1", _DEVICES, f"{_DEVICES}        capabilities: [SYS_ADMIN]\n"),
         _MNCORE2, _PODS, site("tsukuba-1", _PLUGIN, "")),
    _own("accelerators: a plugin's paths of the host",
         site("tsukuba-1", "[/dev/mncore2]", "[/dev/mncore2, /dev/mncore3]"), _MNCORE2, _PODS),
    _own("accelerators: a plugin without all rights", site("tsukuba-1", _PLUGIN, ""),
         _MNCORE2, _PODS),
    _own("accelerators: an exporter more", _EXPORTER,
         Expected({"mncore2": restarted()}, {"DaemonSet/exporter/*": Action.ADDED}), _LEAVE),
    *(
        _own(f"accelerators: an exporter's {text.partition(':')[0]}",
             site("tsukuba-1", "port: 9500}", f"port: 9500, {text}}}"), _MNCORE2, _PODS, _EXPORTER)
        for text in ("args: [--all]", "env: {A: b}", "host_paths: [/dev/mncore2]",
                     "privileged: true", "capabilities: [SYS_ADMIN]")
    ),
    _own("accelerators: an exporter's port",
         site("tsukuba-1", "port: 9500}", "port: 9501}"), _MNCORE2, _PODS, _EXPORTER),
    _own("accelerators: an exporter's image",
         site("tsukuba-1", "exporter:v1.0.0@", "exporter:v1.0.1@"), _MNCORE2, _PODS, _EXPORTER),
)  # fmt: skip
_RECORDS = (
    Row(
        "accelerators: what a record says for people",
        (
            record(V100, "description: NVIDIA V100 SXM2 32 GB", "description: V100"),
            record(V100, "    memory_gib: 32\n", ""),
        ),
        {},
        NO_OBJECT,
        (applied("tokyo-1"),),
    ),
    Row(
        "accelerators: what a site's own record says for people, and its vendor",
        (
            site("tsukuba-1", "description: MN-Core 2 board\n      vendor: mncore\n",
                 "description: A board\n      vendor: other\n      memory_gib: 16\n"),
        ),
        {},
        f"{NO_OBJECT}: a vendor names images, and the record has its own",
        (applied("tsukuba-1"),),
    ),
    _own("accelerators: variables that choose devices",
         site("tsukuba-1", _VENDOR, f"{_VENDOR}      device_variables: [MNCORE_DEVICES]\n"),
         Expected(_STRICTER, {"ValidatingAdmissionPolicy/isolation.teams": Action.CHANGED,
                              "ValidatingAdmissionPolicy/environment.teams": Action.CHANGED}),
         f"{ADMISSION}: it judges pods that are made again, too, of whatever templates are there"),
    _own("accelerators: mounts that choose devices",
         site("tsukuba-1", _VENDOR, f"{_VENDOR}      device_mounts: /run/mncore-devices\n"),
         Expected(_STRICTER, {"ValidatingAdmissionPolicy/isolation.teams": Action.CHANGED}),
         f"{_PODS}; {ADMISSION}"),
    _tokyo("accelerators: how a plugin hands devices out",
           record(V100, "volume-mounts", "envvar"), {"v100": restarted()}, _PODS),
    Row(
        "accelerators: a driver where the OS image brings it",
        (record(V100, '"580.178.04"', '"580.178.05"'),),
        {},
        f"{NO_OBJECT}: only the GPU operator installs drivers, and tokyo-1 has none",
        (applied("tokyo-1"),),
    ),
    Row(
        "accelerators: models of the catalogue in another order",
        (
            record(V100, "    vendor: nvidia\n    memory_gib: 32\n",
                   "    memory_gib: 32\n    vendor: nvidia\n"),
            site("tokyo-1", f"{{{V100}: gpu-v100-32gb, a100-sxm4-80gb: gpu-a100-80gb,",
                 f"{{a100-sxm4-80gb: gpu-a100-80gb, {V100}: gpu-v100-32gb,"),
        ),
        {},
        SAME,
        (applied("tokyo-1"),),
    ),
    _tokyo("accelerators: PCI devices of a model", record(V100, '["1db5"]', '["1db5", "1db6"]'),
           {"v100": REPAIRED}, f"{_LABELS}; {_CARDS}: lanes of further ones are looked at"),
    _own("accelerators: PCI vendor of a model",
         site("tsukuba-1", 'vendor: "1e37"', 'vendor: "1e38"'), _MENDED, f"{_LABELS}; {_CARDS}"),
    _own("accelerators: PCI classes of a model",
         site("tsukuba-1", 'classes: ["1200"]', 'classes: ["1200", "0b40"]'),
         Expected({"mncore2": Verdict(Impact.POD_RESTART, None, ANY, (Impact.REBOOT,))}),
         f"{_LABELS}; {_CARDS}: with further ones none more is missing"),
    _own(
        "accelerators: how many cards a host has",
        swap(HARDWARE, "model: mncore2, count: 8", "model: mncore2, count: 16"),
        Expected({"mncore2": REPAIRED}, {"Cohort*": Action.CHANGED}),
        "Kueue 0.19.2, pkg/controller/core: more quota lets jobs that wait in, and touches none; "
        f"{_CARDS}: fewer than that is a fault",
    ),
    Row(
        "accelerators: another model in the same hosts",
        (
            swap(HARDWARE, "model: mncore2, count: 8", "model: mncore2b, count: 8"),
            site("tsukuba-1", "    mncore2:\n", "    mncore2b:\n"),
            site("tsukuba-1", "{mncore2: 120}", "{mncore2b: 120}"),
            site("tsukuba-1", "{mncore2: 160}", "{mncore2b: 160}"),
        ),
        {
            "tsukuba-1": Expected(
                CONTROL,
                {
                    "NodeFeatureRule/mncore2": Action.DELETED,
                    "ResourceFlavor/mncore2": Action.DELETED,
                    "ClusterTrainingRuntime/*mncore2": Action.DELETED,
                    "MachineDeployment/mncore2": Action.CHANGED,
                },
            )
        },
        f"{MD_IN_PLACE}; the plugin's pods are the same; {_GATES}: the plugin's resource is no "
        "longer the model's",
        (applied("tsukuba-1"),),
    ),
)  # fmt: skip
_UNLIMITED = (
    site("tokyo-1", "{a100-sxm4-80gb: 384, ", "{"),
    site("tokyo-1", ", a100-sxm4-80gb: 32}", "}"),
)
_SLICED = site("tokyo-1", "by_zone: true}\n", "by_zone: true}\n    sharing: {mig: all-3g.40gb}\n")
_TURNS = site("tokyo-1", "by_zone: true}\n", "by_zone: true}\n    sharing: {time_slicing: 2}\n")
_SHARED = (
    _tokyo(
        "accelerators: MIG divides the cards of a pool otherwise",
        site("tokyo-1", "all-3g.40gb", "all-7g.80gb"),
        {"control": restarted(), "a100": Verdict(Impact.UNKNOWN, 80, ANY)},
        "NVIDIA, MIG User Guide: no process may use a card that is divided; nobody drains hosts",
        {"NodeFeatureRule/a100-sxm4-80gb-3g-40gb": Action.DELETED},
        *_UNLIMITED,
        _SLICED,
    ),
    _tokyo(
        "accelerators: pods take turns on cards that were whole",
        _TURNS,
        {"control": restarted(), "a100": Verdict(Impact.UNKNOWN, 80, ANY)},
        "NVIDIA/k8s-device-plugin 0.20.0, internal/rm: shares of a card in use look free",
        {"NodeFeatureRule/a100-sxm4-80gb": Action.DELETED},
        *_UNLIMITED,
    ),
    _tokyo(
        "accelerators: more pods take turns on a card",
        site("tokyo-1", "time_slicing: 2", "time_slicing: 4"),
        {"control": restarted(), "a100": restarted()},
        _PODS,
        {"NodeFeatureRule/a100-sxm4-80gb-shared-2": Action.DELETED},
        *_UNLIMITED,
        _TURNS,
    ),
)
_LAB = "hardware: t4-pcie-16gb-x1, taints: []}"
_UNSEEN = "no object of the site has it"
_IMAGE = f"registry.example/amd/device-plugin:v1.0.0@sha256:{DIGEST}"
_MORE = (
    Row(
        "accelerators: fewer pods share the cards of a control plane by MPS",
        (
            site("lab-1", "sharing: {mps: 4}", "sharing: {mps: 2}"),
            site("lab-1", "{t4-pcie-16gb-mps-4: 2}", "{t4-pcie-16gb-mps-2: 2}"),
        ),
        {
            "lab-1": Expected(
                {"lab": reimaged(3)},
                {"*t4-pcie-16gb-mps-4": Action.DELETED, "*t4-pcie-16gb-mps-2": Action.ADDED},
            )
        },
        f"{_GATES}: the resource of the shares is another one; the plugin is not applied yet",
        (
            site("lab-1", _LAB, _LAB.replace("}", ", sharing: {mps: 4}}")),
            site("lab-1", "{t4-pcie-16gb: 2}", "{t4-pcie-16gb-mps-4: 2}"),
        ),
    ),
    Row(
        "accelerators: the MIG slices that a card has",
        (record("a100-sxm4-80gb", "1g.20gb: 4,", "1g.20gb: 3,"),),
        {},
        _UNSEEN,
    ),
    Row(
        "accelerators: DRA devices of MIG slices",
        (record("a100-sxm4-80gb", '?type.orValue("") == "mig"', '?type.orValue("") == "slice"'),),
        {},
        _UNSEEN,
    ),
    Row(
        "an image that only the site has",
        (site("tokyo-1", "sources:\n", f"sources:\n  images: {{amd-device-plugin: {_IMAGE}}}\n"),),
        {},
        _UNSEEN,
    ),
)
ROWS = (*_PROGRAMS, *_RECORDS, *_SHARED, *_MORE)
