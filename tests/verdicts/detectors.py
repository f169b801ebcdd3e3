"""Detectors of faults: what they look at, how sure they are, and how cards are counted.

Detectors read their configuration once, so every change of it renews their pods, on the pools
whose configuration it is. What finds more faults, or sooner, may also drain and reboot hosts that
have a healer; what finds fewer does not.
"""

from collections.abc import Mapping

from components.effects.vocabulary import Action, Impact
from schemas.model.remediation import Xids
from tests.verdicts.cachesites import ALL, LAB, TSUKUBA_ALL, tokyo
from tests.verdicts.edits import HARDWARE, Edit, applied, image, record, site, swap, together
from tests.verdicts.healing import (
    ALL_REPAIRED,
    FOUND,
    GPU_PODS,
    GPU_REPAIRED,
    IMAGE,
    REPAIRED,
    detector,
    health,
    lanes,
)
from tests.verdicts.row import ANY, SAME, Expected, Row, Verdict, restarted

_NPD = "node-problem-detector 1.36.0"
_ONCE = (
    f"{_NPD}, cmd/nodeproblemdetector: it reads its configuration when it starts; Kubernetes "
    "1.34.3, pkg/controller/daemon/update.go: another annotation of the template renews the pods"
)
_MORE = (
    f"{_ONCE}; node-operation-controller 0ac94deb, controllers/noderemediation_controller.go: a "
    "condition that is True begins a repair, and there may be more of them"
)
_FEWER = f"{_ONCE}; conditions of fewer nodes are True, which begins no repair"
_DAMPED = "components/remediation/checks/settled.sh"
_TOLD = f"{_ONCE}; no healer mends it (schemas/rules/remediation.py)"
_LANES = (
    f"{_ONCE}; Linux 6.12, drivers/pci/pci-sysfs.c, current_link_width: cards with fewer lanes "
    "than that are faulty"
)
_COUNTED = (
    f"{_NPD}, pkg/custompluginmonitor/plugin: exit code 1 is a fault; what the command says of "
    "the cards of hosts is not in Git"
)
Pools = Mapping[str, Verdict | tuple[Verdict, ...]]


def _row(
    name: str, edit: Edit, pools: Pools, source: str, *base: Edit, says: tuple[str, ...] = ()
) -> Row:
    """A change of tokyo-1."""
    first, expected = (applied("tokyo-1"), *base), Expected(pools, says=says)
    return Row(f"remediation: detector: {name}", (edit,), {"tokyo-1": expected}, source, first)


def _boards(
    name: str, edit: Edit, verdict: Verdict, source: str, *base: Edit, repair: Action | None = None
) -> Row:
    """A change of tsukuba-1's boards; ``repair``: what becomes of that for want of lanes."""
    template = "NodeRemediationTemplate/boards/mncore2/pcie-link-degraded"
    expected = Expected({"mncore2": verdict}, {template: repair} if repair else {})
    return Row(
        f"accelerators: {name}", (edit,), {"tsukuba-1": expected}, source,
        (applied("tsukuba-1"), *base),
    )  # fmt: skip


def _xids(text: str) -> Edit:
    return detector(f"xids: {{{text}}}")


_EITHER = Verdict(Impact.POD_RESTART, None, ANY, (Impact.REBOOT, Impact.UNKNOWN))
_DETECTOR = (
    _row("image", detector(f'image: "{IMAGE}"'), ALL, _ONCE),
    _row("interval_seconds: longer", detector("interval_seconds: 60"), FOUND,
         f"{_FEWER}; {_DAMPED} counts good readings too, so a fault that passes counts for twice "
         "the time, and its repair goes on"),
    _row("interval_seconds: shorter", detector("interval_seconds: 10"), FOUND,
         f"{_MORE}: {_DAMPED} counts readings, so a fault has to last a third of the time"),
    _row("bad_after: more", detector("bad_after: 5"), ALL, f"{_FEWER}; {_DAMPED}"),
    _row("bad_after: less", detector("bad_after: 2"), FOUND, f"{_MORE}; {_DAMPED}"),
    _row("good_after: more", detector("good_after: 4"), FOUND,
         f"{_MORE}; {_DAMPED}: a fault that passes counts for longer, so a repair of it that would "
         "be broken off goes on (noderemediation_controller.go deletes it once the node is OK; a "
         "drain takes a minute or more, nodeoperation_controller.go, DrainInterval)"),
    _row("good_after: less", detector("good_after: 1"),
         {**ALL, **dict.fromkeys(ALL_REPAIRED, _EITHER)},
         f"{_FEWER}; {_DAMPED}: though one that comes again is mended again"),
    _row("disks: one more", tokyo("disks: [/, /srv/nvme]", "disks: [/, /srv/nvme, /var]"), FOUND,
         f"{_MORE}: it may be read-only"),
    _row("disks: one less", tokyo("disks: [/, /srv/nvme]", "disks: [/]"), ALL, _FEWER),
    _row("disk_full_percent: less", detector("disk_full_percent: 94"), ALL, _TOLD),
    _row("disk_full_percent: more", detector("disk_full_percent: 98"), ALL, _TOLD),
    _row("blocked_seconds: more", detector("blocked_seconds: 900"), ALL, _FEWER),
    _row("blocked_seconds: less", detector("blocked_seconds: 300"), FOUND, _MORE),
    _row("xids: one more calls for a reboot", _xids(f"reboot: {[*Xids().reboot, 31]}"),
         GPU_REPAIRED, f"{_MORE}; hosts without NVIDIA's cards are not told of XIDs"),
    _row("xids: one less calls for a reboot", _xids(f"reboot: {Xids().reboot[:-1]}"), GPU_PODS,
         _FEWER),
    _row("xids: another one is watched", _xids(f"watch: {[*Xids().watch, 31]}"), GPU_PODS,
         f"{_ONCE}; {_NPD}, pkg/systemlogmonitor: temporary rules set no condition"),
    Row("remediation: detector: the release's image", (image("node-problem-detector"),),
        {"tokyo-1": Expected(ALL), "tsukuba-1": Expected(TSUKUBA_ALL), "lab-1": Expected(LAB)},
        _ONCE, tuple(applied(name) for name in ("tokyo-1", "tsukuba-1", "lab-1"))),
    Row("remediation: detector: the release's image, where the cluster does not answer yet",
        (image("node-problem-detector"),),
        {name: Expected() for name in ("tokyo-1", "tsukuba-1", "lab-1")},
        "components/shell.py: without a context nothing is registered in the site's own cluster"),
    *(
        Row(f"remediation: detector: where nobody mends: {text}",
            (site("lab-1", "disks: [/, /srv/nvme]", text),),
            {"lab-1": Expected(LAB)}, f"{_ONCE}; without a healer a fault is only told",
            (applied("lab-1"),))
        for text in ("disks: [/, /srv/nvme], bad_after: 1", "disks: [/, /srv/nvme, /var]",
                     "disks: [/, /srv/nvme], xids: {reboot: [79, 140]}")
    ),
    Row("remediation: detector: defaults that are written down",
        (detector("image: null, interval_seconds: 30, bad_after: 3, good_after: 2, "
                  "disk_full_percent: 95, blocked_seconds: 600, "
                  f"xids: {{reboot: {Xids().reboot}, watch: {Xids().watch}}}"),), {}, SAME,
        (applied("tokyo-1"),)),
)  # fmt: skip
_COMMAND = "      health: {command: [/opt/mncore/bin/mncore-status, --boards], lines: "
_WHOLE_COMMAND = f'{_COMMAND}"^board [0-9]+ ok"}}\n'
_AFTER = "        privileged: true\n"
_HEALTH = tuple(
    _boards(f"health: {name}", edit, verdict, source, *base)
    for name, edit, verdict, source, base in (
        ("another command", site("tsukuba-1", "status, --boards]", "status, --all]"), REPAIRED,
         _COUNTED, ()),
        ("other lines", site("tsukuba-1", "[0-9]+ ok", "[0-9]+ (ok|good)"), REPAIRED, _COUNTED, ()),
        ("another root", health("root: /srv/mncore"), REPAIRED, _COUNTED, ()),
        ("timeout_seconds: less", health("timeout_seconds: 10"), REPAIRED,
         f"{_COUNTED}; one that takes longer has found a fault", ()),
        ("timeout_seconds: more", health("timeout_seconds: 40"), restarted(), _FEWER, ()),
        ("silent_codes: more", health("silent_codes: [3]"), restarted(),
         f"{_FEWER}; exit code 2 of a check is unknown, and begins no repair", ()),
        ("silent_codes: less", site("tsukuba-1", ", silent_codes: [3]", ""), REPAIRED, _COUNTED,
         (health("silent_codes: [3]"),)),
        ("no command any more", site("tsukuba-1", _WHOLE_COMMAND, ""), restarted(),
         f"{_FEWER}: the PCI bus was looked at before too, and the smaller number counts", ()),
        ("a command", site("tsukuba-1", _AFTER, f"{_AFTER}{_WHOLE_COMMAND}"), REPAIRED, _COUNTED,
         (site("tsukuba-1", _WHOLE_COMMAND, ""),)),
    )
)  # fmt: skip
_CARDS = (
    _boards("link_width: known from now on", lanes(16), REPAIRED, _LANES, repair=Action.ADDED),
    _boards("link_width: no longer known", site("tsukuba-1", ", link_width: 16", ""), restarted(),
            _LANES, lanes(16), repair=Action.DELETED),
    _boards("link_width: more lanes", site("tsukuba-1", "width: 8", "width: 16"), REPAIRED, _LANES,
            lanes(8)),
    _boards("link_width: fewer lanes", site("tsukuba-1", "width: 16", "width: 8"), restarted(),
            _LANES, lanes(16)),
    _boards("detector: more cards than hosts have",
            swap(HARDWARE, "model: mncore2, count: 8", "model: mncore2, count: 9"), REPAIRED,
            f"{_MORE}: a card is missing on each host"),
    Row("accelerators: link_width: of the catalogue, of one model",
        (record("v100-sxm2-32gb", "link_width: 16", "link_width: 8"),),
        {"tokyo-1": Expected({"v100": restarted()})}, _LANES, (applied("tokyo-1"),)),
    Row("accelerators: link_width: of a model whose hosts nobody mends",
        (record("t4-pcie-16gb", '["1eb8"]}', '["1eb8"], link_width: 16}'),),
        {"lab-1": Expected(LAB)}, _LANES, (applied("lab-1"),)),
    Row("accelerators: health: of the catalogue, of one model",
        (record("h100-sxm5-80gb", '"^GPU [0-9]+:"', '"^GPU [0-7]:"'),),
        {"tokyo-1": Expected({"h100": REPAIRED})}, _COUNTED, (applied("tokyo-1"),)),
)  # fmt: skip
_OWN = (
    "{name: scratch-slow, pools: [v100], command: [/opt/probe], root: /srv, timeout_seconds: 10, "
    "threshold: 40, message: slow, runbook: call ops, critical: true}"
)
_CHECK = detector(f"checks: [{_OWN}]")
_MENDED = tokyo(
    "[read-only-filesystem, kernel-deadlock]",
    "[read-only-filesystem, kernel-deadlock]}\n"
    "    - {name: scratch, pools: [v100], faults: [scratch-slow]",
)
_V100 = {"v100": restarted()}
_PER_DEVICE = record("a100-sxm4-80gb", "per_device: 12", "per_device: 10")
_BEGUN = {"v100": REPAIRED}
_GONE = {"*/scratch/*": Action.DELETED, "*/scratch-v100*": Action.DELETED}
_SCRIPT = "components/remediation/checks/own-check.sh"
_CHECKS = (
    _row("checks: one of the site's own", _CHECK, _V100, f"{_ONCE}; no remediator names it"),
    _row("checks: its threshold is lower, and nobody repairs it", tokyo("threshold: 40",
         "threshold: 30"), _V100, f"{_ONCE}; {_SCRIPT}", _CHECK),
    _row("checks: its threshold is lower", tokyo("threshold: 40", "threshold: 30"), _BEGUN,
         f"{_MORE}; {_SCRIPT}", _CHECK, _MENDED),
    _row("checks: its threshold is higher", tokyo("threshold: 40", "threshold: 50"), _V100,
         f"{_FEWER}; {_SCRIPT}", _CHECK, _MENDED),
    _row("checks: another command", tokyo("[/opt/probe]", "[/opt/probe2]"), _BEGUN,
         f"{_MORE}; {_SCRIPT}", _CHECK, _MENDED),
    _row("checks: its words", tokyo("message: slow", "message: slower"), {},
         "components/remediation/watch.py: they are the alert's alone", _CHECK),
    _row("checks: it goes", tokyo(f", checks: [{_OWN}]", ""), _V100,
         f"{_ONCE}; pkg/exporters/k8sexporter/condition/manager.go: no condition is taken off",
         _CHECK),
    _row("link_errors: more may rise", detector("link_errors: {symbol_error: 500}"),
         {"h100": restarted()}, f"{_TOLD}; components/remediation/checks/network-link-errors.sh"),
    _row("network_devices: a rate of the links", tokyo("gbps: 400", "gbps: 200"),
         {"h100": restarted()}, f"{_ONCE}; components/remediation/checks/network-link-down.sh"),
    _row("fabric: of the catalogue, of one model", _PER_DEVICE, {"a100": restarted()},
         f"{_ONCE}; components/remediation/checks/fabric-down.sh; no remediator names the fault"),
    _row("fabric: hosts without switches",
         swap(HARDWARE, "a100-sxm4-80gb, count: 8, fabric: true", "a100-sxm4-80gb, count: 8, "
              "fabric: false"), {"a100": restarted()}, _FEWER),
)  # fmt: skip
_LINKS = tokyo(
    "[read-only-filesystem, kernel-deadlock]",
    "[read-only-filesystem, kernel-deadlock]}\n    - {name: links, pools: [a100, h100], "
    "faults: [network-link-down, fabric-down]",
)
_SYMBOLS = detector("link_errors: {symbol_error: 50, link_downed: 0}")
_LATER = detector("bad_after: 5")
_ON_H100, _ON_A100 = {"h100": REPAIRED}, {"a100": REPAIRED}
_LINK_CHECKS = tuple(
    _row(f"of links that are repaired: {name}", edit, pools, _ONCE, _LINKS, *base, says=says)
    for name, edit, pools, says, base in (
        ("a higher rate", tokyo("gbps: 400", "gbps: 800"), _ON_H100, ("gbps of ib0 400 → 800",),
         ()),
        ("a lower rate", tokyo("gbps: 400", "gbps: 200"), {"h100": restarted()},
         ("gbps of ib0 400 → 200",), ()),
        ("a higher rate, and later", together(tokyo("gbps: 400", "gbps: 800"), _LATER),
         {**ALL, **_ON_H100}, ("gbps of ib0 400 → 800",), ()),
        ("another rail, and later",
         together(tokyo("interfaces: [ib0, ib1", "interfaces: [ib1, ib0"), _LATER),
         {**ALL, **_ON_H100}, ("another list of arguments",), ()),
        ("an interface less", tokyo(", ib7]", "]"), {"h100": restarted()},
         ("interfaces without ib7",), ()),
        ("fewer errors are good, and later",
         together(tokyo("symbol_error: 50,", "symbol_error: 5,"),
                  tokyo("link_downed: 0}", "link_downed: 0}, bad_after: 5")),
         ALL, ("link_errors.symbol_error 50 → 5",), (_SYMBOLS,)),
        ("more errors are good", tokyo("symbol_error: 50,", "symbol_error: 500,"),
         {"h100": restarted()}, ("link_errors.symbol_error 50 → 500",), (_SYMBOLS,)),
        ("a counter less", tokyo(", link_downed: 0}", "}"), {"h100": restarted()},
         ("link_errors without link_downed",), (_SYMBOLS,)),
        ("parts of the fabric, and later", together(_PER_DEVICE, _LATER), {**ALL, **_ON_A100},
         ("another fabric",), ()),
    )
)  # fmt: skip
_KERNEL_LOG = site("tsukuba-1", _AFTER, f'{_AFTER}      kernel_log: ["mncore: fault", "mncore"]\n')
_SWITCHES = together(
    swap(HARDWARE, "model: mncore2, count: 8", "model: mncore2, count: 8, fabric: true"),
    site("tsukuba-1", _AFTER, f"{_AFTER}      fabric: {{process: switchd, commands: [{{command: "
         "[/opt/status], lines: ^up, root: /srv, timeout_seconds: 9, silent_codes: [3]}]}\n"),
)  # fmt: skip
_OF_A_MODEL = (
    _boards("kernel_log: messages of the kernel", _KERNEL_LOG, REPAIRED, _MORE),
    _boards("kernel_log: another message", site("tsukuba-1", '"mncore"]', '"board"]'), REPAIRED,
            _MORE, _KERNEL_LOG),
    _boards("kernel_log: one less", site("tsukuba-1", ', "mncore"]', "]"), restarted(), _FEWER,
            _KERNEL_LOG),
    _boards("fabric: switches from now on", _SWITCHES, restarted(), _TOLD),
)  # fmt: skip
ROWS = (*_DETECTOR, *_HEALTH, *_CARDS, *_CHECKS, *_LINK_CHECKS, *_OF_A_MODEL)
