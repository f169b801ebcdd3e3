"""Hosts that share NVLink across a rack, and ComputeDomains on them."""

from components.effects.vocabulary import Action, Impact
from schemas.model.codes import Code
from tests.verdicts.edits import (
    DIGEST,
    HARDWARE,
    Edit,
    applied,
    cells,
    image,
    record,
    site,
    swap,
    together,
)
from tests.verdicts.row import (
    ANY,
    MD_ROLLS,
    PROTECTED,
    Expected,
    Invalid,
    Row,
    Verdict,
    reimaged,
    restarted,
)

_NAME, _NVL = "sapporo-1", "gb200-nvl72-tray"
_DRA = "kubernetes-sigs/dra-driver-nvidia-gpu 0.4.1"
_SERVED = (
    f"{_DRA}, cmd/compute-domain-kubelet-plugin/device_state.go: channels of running pods are in "
    "its checkpoint, so jobs keep them; new pods with claims wait; Kubernetes 1.34.3, "
    "pkg/controller/daemon/update.go"
)
_TRAY = (
    f"{_DRA}, cmd/compute-domain-daemon: an IMEX domain that loses a node ends the jobs across it; "
    f"{MD_ROLLS}"
)
_CONTEXT = applied(_NAME)
_DOMAINS = "  compute_domains: {namespace: nvidia-dra}\n"
_IMAGE = f"{{image: registry.example/dra:v0.4.2@sha256:{DIGEST}, namespace: nvidia-dra}}"
_POOL = f"    hardware: {_NVL}\n"
_AMD = "a GB200 NVL72 rack, with two Grace CPUs and four GPUs\n"
_ARM = f"{_AMD}    arch: arm64\n"
_EACH = "model: gb200-192gb, count: 4, fabric: true}\n"
_PLUGIN, _CONTROLLER = "DaemonSet/compute-domain-kubelet-plugin*", "Deployment/compute-domain-*"


def _sapporo(name: str, edit: Edit, expected: Expected | Invalid, source: str, *base: Edit) -> Row:
    return Row(f"NVLink: {name}", (edit,), {_NAME: expected}, source, (_CONTEXT, *base))


_ALL = ("control", "cpu", "gb200")
_WIDE = {pool: Verdict(Impact.UNKNOWN, None, ANY, (Impact.POD_RESTART,)) for pool in _ALL}
"""Rights and traffic of programs that any host may run."""
_SERVERS = {"control": restarted(), "gb200": restarted()}
_DRIVER = record("gb200-192gb", "595.91.07", "595.92.01")
_KEPT = {"Namespace/nvidia-dra": Action.REFUSED}
ROWS: tuple[Row, ...] = (
    _sapporo("ComputeDomains from now on", site(_NAME, "  # Memory", f"{_DOMAINS}  # Memory"),
             Expected(_WIDE, {_PLUGIN: Action.ADDED, _CONTROLLER: Action.ADDED}), _SERVED,
             site(_NAME, _DOMAINS, "")),
    _sapporo("ComputeDomains no more", site(_NAME, _DOMAINS, ""),
             Expected(_WIDE, {**_KEPT, "*compute-domain*": Action.DELETED}, {"Namespace": 1},
                      says=("pods with a claim do not end on their hosts",)),
             f"{_SERVED}; {PROTECTED}"),
    _sapporo("a topology for Kueue, of a model whose name only admission knows",
             site(_NAME, "pools: [gb200]}]", "pools: [gb200], topology: [zone, rack, host]}]"),
             Expected(actions={"Topology": Action.ADDED, "NodeFeatureRule/*": Action.CHANGED},
                      says=("Kueue's topology counts it for jobs that wait",
                            "jobs that wait without an annotation of a topology do not start")),
             "Kueue 0.19.2, tas_flavor_snapshot.go, tas_flavorassigner.go; NFD 0.19.0, nfd-master"),
    _sapporo("an image for the driver of ComputeDomains of which nobody knows the architecture",
             site(_NAME, "{namespace: nvidia-dra}", _IMAGE),
             Invalid(frozenset({Code.IMAGE_ARCHITECTURE})), _SERVED),
    _sapporo("an image for the driver of ComputeDomains",
             site(_NAME, "{namespace: nvidia-dra}", _IMAGE),
             Expected(_SERVERS, {_PLUGIN: Action.CHANGED, _CONTROLLER: Action.CHANGED}), _SERVED,
             site(_NAME, "multi_arch: [", "multi_arch: [registry.example/dra, ")),
    _sapporo("the release's image of the driver of ComputeDomains", image("nvidia-dra-driver"),
             Expected(_SERVERS, {_PLUGIN: Action.CHANGED, _CONTROLLER: Action.CHANGED}), _SERVED,
             site(_NAME, 'release: "2026.12"', 'release: "2026.11"')),
    _sapporo("another namespace for the driver of ComputeDomains",
             site(_NAME, "{namespace: nvidia-dra}", "{namespace: imex}"),
             Expected(_WIDE, _KEPT, {"Namespace": 1}), f"{_SERVED}; {PROTECTED}"),
    _sapporo("trays are installed again",
             site(_NAME, _POOL, f"{_POOL}    labels: {{example.com/a: b}}\n"),
             Expected({"gb200": reimaged(36)}, plans={("gb200", ""): (36, 1, 1)}), _TRAY),
    Row("NVLink: another driver, which the OS image has", (_DRIVER,), {},
        "NVIDIADriver is the GPU operator's: without it no object has the version", (_CONTEXT,)),
    _sapporo("another driver, which the GPU operator renews", _DRIVER,
             Expected({"gb200": Verdict(Impact.DRAIN, 36, ANY)}), _TRAY,
             site(_NAME, _DOMAINS, f"{_DOMAINS}  gpu_operator: {{max_parallel_upgrades: 1}}\n")),
    _sapporo("hosts whose racks are no domain, of a site without ComputeDomains",
             swap(HARDWARE, f"{_EACH}    nvlink_domain: rack\n", _EACH),
             Expected(actions={"*job-templates*": Action.CHANGED}, says=("people read it",)),
             "job templates have no affinity of racks any more; made jobs stay as they are",
             site(_NAME, _DOMAINS, "")),
    _sapporo("a tray becomes a spare",
             together(site(_NAME, _POOL, f"{_POOL}    spares: 1\n"),
                      site(_NAME, "gb200-192gb: 68", "gb200-192gb: 64")),
             Expected({"gb200": Verdict(Impact.REMOVE, 36, 1)}, deletions={"hosts": 1},
                      says=("each host that leaves ends the jobs across its rack",)), _TRAY),
    _sapporo("a tray is in another rack", cells(_NAME, "sapporo-1-a-008", rack="nvl-03"),
             Expected(says=("a job that needs the whole rack waits",)), _TRAY),
    _sapporo("another architecture", swap(HARDWARE, _ARM, _AMD),
             Expected({"gb200": reimaged(36)}), MD_ROLLS),
    _sapporo("an OS without an image of the architecture",
             site(_NAME, _POOL, f"{_POOL}    os: rocky-9\n"),
             Invalid(frozenset({Code("os-image-missing")})), MD_ROLLS),
)  # fmt: skip
