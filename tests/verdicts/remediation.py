"""Fault remediation: who mends which faults, how a host is rebooted, and what runs that.

Whether hosts have faults is not in Git. So what lets more of them be mended, or sooner, may drain
and reboot hosts at once, and how many is unknown; what lets fewer be mended touches none.
"""

from collections.abc import Mapping

from components.effects.vocabulary import Action, Impact
from tests.verdicts.cachesites import tokyo
from tests.verdicts.edits import Edit, applied, by_dra, site
from tests.verdicts.healing import (
    BEGINS,
    BEGUN,
    CONTROL_PODS,
    COPIED,
    CPU_HEALER,
    CREATED,
    DEPLOYED,
    ENDS,
    GPU,
    GPU_BEGUN,
    GPU_PODS,
    GPU_REPAIRED,
    IMAGE,
    KINDS,
    NOC,
    RESETS,
    cards,
    controller,
    reboot,
    repaired,
    setting,
)
from tests.verdicts.row import CONTROL, KCP_ROLLS, SAME, Expected, Row, Verdict, restarted

_BUDGET = f"{NOC}/nodeoperation_controller.go, doesViolateNDB: asked before an operation begins"
_TURNS = (
    "node_repair/decide.py, whose settings are read in each round: the "
    "kubelet exchanges the file in running pods (Kubernetes 1.34.3, volume/util/atomic_writer.go)"
)
_CHECKED = (
    "node-healthcheck-operator dd444329, internal/controller/nodehealthcheck_controller.go, "
    "matchesUnhealthyConditions and remediate"
)
_MEDIK8S = cards("kind: medik8s")
"""Hosts with cards are mended by medik8s."""
Pools = Mapping[str, Verdict | tuple[Verdict, ...]]
Actions = Mapping[str, Action]


def _of(healer: str, action: Action) -> dict[str, Action]:
    """The actions on the objects of a remediator, or of one of its pools."""
    return {f"{kind}/{healer}/*": action for kind in KINDS}


def _row(
    name: str,
    edit: Edit,
    pools: Pools,
    source: str,
    *base: Edit,
    actions: Actions | None = None,
    deletions: Mapping[str, int] | None = None,
) -> Row:
    """A change of tokyo-1."""
    expected = Expected(pools, actions or {}, deletions or {})
    return Row(
        f"remediation: {name}", (edit,), {"tokyo-1": expected}, source, (applied("tokyo-1"), *base)
    )


def _same(name: str, *edits: Edit, source: str = SAME, base: tuple[Edit, ...] = ()) -> Row:
    """A change of tokyo-1's file that changes no object."""
    return Row(f"remediation: {name}", edits, {}, source, (applied("tokyo-1"), *base))


_RENAMED_HEALER = {**_of("gpu", Action.DELETED), **_of("cards", Action.ADDED)}
_TO_MEDIK8S = {
    **_of("gpu", Action.DELETED),
    "NodeHealthCheck/gpu/*": Action.ADDED,
    "SelfNodeRemediationTemplate/gpu": Action.ADDED,
}
_FROM_MEDIK8S = {
    **_of("gpu", Action.ADDED),
    "NodeHealthCheck/gpu/*": Action.DELETED,
    "SelfNodeRemediationTemplate/gpu": Action.DELETED,
}
_FEWER_POOLS = tokyo("[v100, a100, h100], max_unavailable", "[v100, a100], max_unavailable")
_MORE_POOLS = tokyo("[v100, a100], max_unavailable", "[v100, a100, h100], max_unavailable")
_BOTH, _ONE = "[read-only-filesystem, kernel-deadlock]", "[kernel-deadlock]"
_NO_CPU = tokyo(CPU_HEALER, "")
_ONE_FAULT = "NodeRemediationTemplate/cpu/cpu/read-only-filesystem"

_HELD_LATER = {
    "cpu": repaired(44),
    "v100": repaired(35),
    "a100": repaired(24),
    "h100": repaired(15),
}
"""30 % of a pool's machines."""
_ONCE_MORE = {"cpu": repaired(1), **dict.fromkeys(GPU, repaired(2))}
"""Those in their turn: max_unavailable of each healer and pool."""
_HEALERS = (
    _row("healers: another name", tokyo("name: gpu, pools", "name: cards, pools"), GPU_BEGUN,
         f"{ENDS}; the new one's remediations have had no operation yet, so nodes with a turn are "
         "drained once more", actions=_RENAMED_HEALER),
    _row("healers: from one kind to medik8s", _MEDIK8S, GPU_REPAIRED,
         f"{ENDS}; {_CHECKED}: it begins with what is unhealthy by then", actions=_TO_MEDIK8S),
    _row("healers: from medik8s to the other kind", tokyo(", kind: medik8s", ""), GPU_BEGUN,
         f"{BEGINS}; {_CHECKED}", _MEDIK8S, actions=_FROM_MEDIK8S),
    _row("healers: a pool less", _FEWER_POOLS, {}, ENDS,
         actions={f"{kind}/gpu/h100*": Action.DELETED for kind in KINDS}),
    _row("healers: a pool more, which says nothing of the others", _MORE_POOLS,
         {"h100": BEGUN["h100"]}, BEGINS, _FEWER_POOLS,
         actions={f"{kind}/gpu/h100*": Action.ADDED for kind in KINDS}),
    _row("healers: a fault less", tokyo(_BOTH, _ONE), {}, ENDS,
         actions={_ONE_FAULT: Action.DELETED}),
    _row("healers: a fault more", tokyo(_ONE, _BOTH), {"cpu": BEGUN["cpu"]}, BEGINS,
         tokyo(_BOTH, _ONE), actions={_ONE_FAULT: Action.ADDED}),
    _row("healers: faults in another order",
         tokyo(_BOTH, "[kernel-deadlock, read-only-filesystem]"),
         {"cpu": Verdict(Impact.NONE, also=(Impact.UNKNOWN,))},
         f"{_TURNS}: a node with both is mended of another one first, and no further node is"),
    _row("healers: one less", _NO_CPU, {}, ENDS,
         actions=_of("cpu", Action.DELETED)),
    _row("healers: one more", tokyo("  controller:", f"{CPU_HEALER}  controller:"),
         {"cpu": BEGUN["cpu"]}, BEGINS, _NO_CPU, actions=_of("cpu", Action.ADDED)),
    _row("healers: eviction: from evict to delete", cards("eviction: delete"), {}, COPIED),
    _row("healers: eviction: from wait to evict", tokyo(", eviction: wait", ""), {}, COPIED,
         cards("eviction: wait")),
    _row("healers: max_unavailable: more", tokyo("max_unavailable: 2}\n    - {name: cpu",
                                                 "max_unavailable: 3}\n    - {name: cpu"),
         GPU_REPAIRED, f"{_BUDGET}; {_TURNS}: hosts that wait get their turn"),
    _row("healers: max_unavailable: less", tokyo("max_unavailable: 2}\n    - {name: cpu",
                                                 "max_unavailable: 1}\n    - {name: cpu"),
         {}, f"{_BUDGET}; {_TURNS}: a turn that was given is kept"),
    _row("max_faulty_percent: more", setting("max_faulty_percent: 30"), _HELD_LATER,
         f"{_TURNS}: repairs of a pool that was held begin"),
    _row("max_faulty_percent: less", setting("max_faulty_percent: 10"), {},
         f"{_TURNS}: only what would begin is held"),
    Row("remediation: healers: the first of a site",
        (site("lab-1", "disks: [/, /srv/nvme]}}", "disks: [/, /srv/nvme]}, healers: [{name: cards, "
              f"pools: [lab]}}], controller: {{image: {IMAGE}}}, repair_image: {IMAGE}}}"),),
        {"lab-1": Expected({"lab": repaired(3)}, _of("cards", Action.ADDED))},
        BEGINS, (applied("lab-1"),)),
)  # fmt: skip
_PREPARED = {pool: restarted() for pool in ("a100", "h100")}
_LEAVING = (
    "Kubernetes 1.34.3, pkg/controller/daemon/update.go: device plugins and exporters, whose nodes "
    "must not have the label, are made anew, and detectors, whose check tells what a reset recovers"
)
_REBOOTS = (
    _row("reboot: credentials", reboot("credentials: other"), {}, COPIED),
    _row("reboot: more time", reboot("timeout_seconds: 1700"), {},
         f"{COPIED}; {_TURNS}: what counts as failed does so later"),
    _row("reboot: less time", reboot("timeout_seconds: 900"), _ONCE_MORE,
         f"{_TURNS}: a reboot that counts as failed sooner is tried again, or lets the next begin"),
    _row("reboot: attempts: more", reboot("attempts: 3"), _ONCE_MORE,
         f"{_TURNS}: a host that would be put aside is rebooted once more"),
    _row("reboot: attempts: less", reboot("attempts: 1"), {},
         f"{_TURNS}: a host that would be rebooted is put aside, by a taint that evicts nobody"),
    _row("reboot: window_hours: more", reboot("window_hours: 48"), {},
         f"{_TURNS}: more reboots count, so there are fewer"),
    _row("reboot: window_hours: less", reboot("window_hours: 12"), _ONCE_MORE,
         f"{_TURNS}: reboots are forgotten sooner, so there may be one more"),
    _row("reboot: resets before it", RESETS, _PREPARED,
         f"{COPIED}; {CREATED}, here on hosts under repair alone; {_LEAVING}",
         actions={"DaemonSet/accelerator-reset/*": Action.ADDED}),
    _row("reboot: no resets before it", tokyo("\n  reboot: {reset_first: true}", ""), _PREPARED,
         f"{COPIED}; {_LEAVING}", RESETS,
         actions={"DaemonSet/accelerator-reset/*": Action.DELETED}),
    _row("reboot: often", reboot("often: 5"), {},
         "Prometheus 2.42, docs/configuration/configuration.md: rules are loaded anew"),
)  # fmt: skip
_CONTROLLER = (
    _row("controller: memory", controller("memory: 1Gi"), CONTROL_PODS, DEPLOYED),
    _row("repair_image", tokyo("node-repair:v0.1.0@", "node-repair:v0.1.1@"), CONTROL_PODS,
         f"{DEPLOYED}; {COPIED}"),
    _row("controller: image", tokyo("controller:v0.2.2@", "controller:v0.2.3@"), CONTROL_PODS,
         f"{DEPLOYED}; {NOC}: all it knows is in its objects"),
)  # fmt: skip
_MEDIK8S_ROWS = (
    _row("medik8s: namespace", setting("medik8s: {namespace: medik8s}"), {},
         "node-healthcheck-operator dd444329, internal/webhook, isRestrictedFieldUpdated: refused "
         "while a node is mended; else later remediations are made there, and none begins by it",
         _MEDIK8S, actions={"SelfNodeRemediationTemplate/gpu": Action.REPLACED}),
    _row("medik8s: unhealthy_seconds: more", setting("medik8s: {unhealthy_seconds: 300}"), {},
         f"{_CHECKED}: whatever is mended is mended later", _MEDIK8S),
    _row("medik8s: unhealthy_seconds: less", setting("medik8s: {unhealthy_seconds: 60}"),
         GPU_REPAIRED, f"{_CHECKED}: what passed by itself is mended", _MEDIK8S),
    _row("medik8s: attempts, which it does not count", tokyo("attempts: 2", "attempts: 3"),
         {"cpu": _ONCE_MORE["cpu"]}, _CHECKED, _MEDIK8S, reboot("attempts: 2")),
)  # fmt: skip
_GATES = (
    f"{KCP_ROLLS}: gates of the API server and the scheduler are in its KubeadmConfig; Kubernetes "
    "1.35.4, pkg/features/kube_features.go: DRADeviceTaints and DRADeviceTaintRules are off"
)
_TELLS = (
    "components/remediation/checks.py: the condition's message names the cards by then, which "
    "node-problem-detector 1.36.0 is told by its configuration, read once"
)
_BY_LANES = "NodeRemediationTemplate/gpu/*/pcie-link-degraded"
_TAINTS = (
    _row("device_taints: from now on", setting("device_taints: true"), {**CONTROL, **GPU_PODS},
         f"{_GATES}; KEP-5055: NoSchedule evicts nobody; {ENDS}; {_TELLS}", *by_dra("tokyo-1"),
         actions={"*device-taints": Action.ADDED, _BY_LANES: Action.DELETED}),
    _row("bad_devices: how many are taken out", setting("bad_devices: {taint_up_to: 2}"),
         CONTROL_PODS, DEPLOYED, *by_dra("tokyo-1"), setting("device_taints: true")),
    _row("bad_devices: hosts with more are repaired",
         tokyo("taint_up_to: 2", "taint_up_to: 2, repair_beyond: true"), GPU_BEGUN, BEGINS,
         *by_dra("tokyo-1"), setting("device_taints: true"),
         setting("bad_devices: {taint_up_to: 2}"), actions={_BY_LANES: Action.ADDED}),
    _row("device_taints: no more", tokyo("  device_taints: true\n", ""),
         {**CONTROL, **GPU_BEGUN}, f"{_GATES}; {BEGINS}", *by_dra("tokyo-1"),
         setting("device_taints: true"),
         actions={"*device-taints": Action.DELETED, _BY_LANES: Action.ADDED}),
)  # fmt: skip
_NOTHING = (
    _same("defaults that are written down",
          setting("namespace: node-remediation\n  max_faulty_percent: 20\n  device_taints: false\n"
                  "  reboot: {credentials: management-cluster, timeout_seconds: 1500, attempts: 2, "
                  "window_hours: 24}"),
          controller("memory: 512Mi"),
          cards("kind: node-operation-controller, eviction: evict, faults: [accelerator-missing, "
                "accelerator-error, pcie-link-degraded, read-only-filesystem, kernel-deadlock]")),
    _same("a healer's pools in another order",
          tokyo("[v100, a100, h100], max_unavailable", "[h100, v100, a100], max_unavailable")),
    _same("memory in another unit", controller("memory: 524288Ki"),
          source="apimachinery 0.34.3, resource.Quantity: stored in its canonical form"),
)  # fmt: skip
ROWS = (*_HEALERS, *_REBOOTS, *_CONTROLLER, *_MEDIK8S_ROWS, *_TAINTS, *_NOTHING)
