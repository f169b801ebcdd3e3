"""The real node-problem-detector with the made configuration: it sets and takes back each condition
of a simulated host at the real API server."""

import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

from components.making.faults import CONDITIONS
from controlplane import ControlPlane
from schemas.model.vocabulary import Fault
from tests.kit.parts import or_skip
from tests.kit.remediation_devices import LOST_LINE, Host
from tests.kit.remediation_npd import PATIENCE_SECONDS, Detector, can_run, running
from tests.kit.repository import all_sites
from tools.toolchain import locate

pytestmark = [pytest.mark.controlplane, pytest.mark.remediation, pytest.mark.proof]

POOLS = {"v100": "tokyo-1", "h100": "tokyo-1", "mncore2": "tsukuba-1"}
BOARD = "1e37 120000 0002"
H100 = "10de 030200 2330"
XID_79 = "NVRM: Xid (PCI:0000:3b:00): 79, pid=1, GPU has fallen off the bus."


class Case(NamedTuple):
    """A fault: how it comes and goes, and what the condition says of it."""

    pool: str
    fault: str
    come: Callable[[Host], object]
    go: Callable[[Host], object]
    says: str


def boards(host: Host, working: int) -> None:
    (host.root / "hottest").write_text("60 C, board 3\n")
    lines = f'[ "$1" != --hottest ] || exec cat {host.root}/hottest\n'
    lines += "\n".join(f"echo 'board {i} {'ok' if i < working else 'lost'}'" for i in range(8))
    place = host.root / "opt/mncore/bin/mncore-status"
    place.parent.mkdir(parents=True, exist_ok=True)
    if not place.exists():
        place.symlink_to(host.commands / "mncore-status")
    host.command("mncore-status", lines)


def reboot(host: Host) -> None:
    host.log.write_text("")
    host.boot("after-a-reboot")


def hung_task(host: Host) -> None:
    """A process that the check has seen blocked, and that is so ten minutes later."""
    host.process(4711, "python")
    seen = host.state / "blocked"
    deadline = time.monotonic() + PATIENCE_SECONDS
    while "4711 471100 " not in seen.read_text():
        assert time.monotonic() < deadline, seen.read_text()
        time.sleep(0.2)
    host.uptime(1700)


def linked(host: Host) -> None:
    """Switches and rails that work."""
    host.cards(8, H100)
    host.fabric()
    host.process(700, "nv-fabricmanage", "S")
    for rail in range(8):
        host.port(f"ib{rail}")


def hanging(host: Host) -> None:
    host.command("nvidia-smi", "exec sleep 300")


def all_well(host: Host) -> None:
    """The common part of both pools; each has more."""
    host.filled((50, 50))
    host.mounts.write_text("/dev/a / ext4 rw 0 0\n/dev/b /srv/nvme xfs rw 0 0\n")


CASES = [
    Case("v100", Fault.ACCELERATOR_MISSING, lambda h: h.smi(7, 15, LOST_LINE), lambda h: h.smi(8),
         "7 of 8 accelerators work (nvidia-smi)"),
    Case("v100", Fault.ACCELERATOR_MISSING, hanging, lambda h: h.smi(8), "nvidia-smi hung for 5 s"),
    Case("v100", Fault.ACCELERATOR_ERROR, lambda h: h.says(XID_79), reboot,
         "XID 79 of 0000:3b:00"),
    Case("v100", Fault.PCIE_LINK_DEGRADED, lambda h: h.lanes("0000:1c:00.0", 8),
         lambda h: h.lanes("0000:1c:00.0", 16), "0000:1c:00.0 has 8 of 16 lanes"),
    Case("v100", Fault.DISK_FULL, lambda h: h.filled((50, 96)), all_well,
         "/srv/nvme: 96% of its space used"),
    Case("v100", Fault.READ_ONLY_FILESYSTEM,
         lambda h: h.mounts.write_text("/dev/a / ext4 ro 0 0\n"), all_well, "/ is read-only"),
    Case("v100", Fault.KERNEL_DEADLOCK, hung_task, lambda h: h.process(4711, "python", "S"),
         "python (4711) blocked for 700 s"),
    Case("h100", Fault.FABRIC_DOWN, lambda h: h.fabric(inactive=1), linked,
         "143 of 144 parts of the fabric work (nvidia-smi)"),
    Case("h100", Fault.NETWORK_LINK_DOWN, lambda h: h.port("ib5", "1: DOWN"), linked,
         "ib5 (rail 5) is DOWN (LinkUp)"),
    Case("h100", Fault.NETWORK_LINK_ERRORS, lambda h: h.counter("ib2", "symbol_error", 100), linked,
         "ib2 (rail 2): symbol_error rose by 93 in 0 s"),
    Case("mncore2", "board-too-hot", lambda h: (h.root / "hottest").write_text("101.5 C, board 3"),
         lambda h: boards(h, 8), "101.5 C, board 3, and 95 is the most"),
    Case("mncore2", Fault.ACCELERATOR_MISSING, lambda h: boards(h, 6), lambda h: boards(h, 8),
         "6 of 8 accelerators work (mncore-status)"),
    Case("mncore2", Fault.ACCELERATOR_MISSING, lambda h: h.pull("0000:1a:00.0"),
         lambda h: h.card("0000:1a:00.0", BOARD), "7 of 8 accelerators on the PCI bus"),
]  # fmt: skip


@pytest.fixture(scope="module")
def detector(
    request: pytest.FixtureRequest, api: ControlPlane, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Detector]:
    """The detector of a pool, on a host on which all is well."""
    if why := can_run():
        pytest.skip(f"no mount namespace: {why}")
    or_skip(locate, ["remediation"])
    name: str = request.param
    site = all_sites()[POOLS[name]]
    (pool,) = (each for each in site.file.pools if each.name == name)
    host = Host(tmp_path_factory.mktemp(name) / "host")
    all_well(host)
    if name == "v100":
        host.cards(8)
        host.smi(8)
    elif name == "h100":
        linked(host)
    else:
        host.cards(8, BOARD)
        boards(host, 8)
    with running(site, pool, host, api) as found:
        yield found


def well(detector: Detector) -> Detector:
    """The detector, on whose host all is well again."""
    for fault in detector.site.faults(detector.pool):
        detector.until_status(fault, "False")
    return detector


EACH = pytest.mark.parametrize("detector", sorted(POOLS), indirect=True, scope="module")
ON_V100 = pytest.mark.parametrize("detector", ["v100"], indirect=True, scope="module")


@EACH
def test_nothing_is_reported_before_it_was_seen(detector: Detector) -> None:
    """Each condition is Unknown first, as nothing is settled at the first look."""
    faults = detector.site.faults(detector.pool)
    well(detector)
    for fault in faults:
        statuses = [status for kind, status in detector.history if kind == CONDITIONS[fault]]
        assert statuses[0] == "Unknown"
    assert {kind for kind, _ in detector.history} == {CONDITIONS[fault] for fault in faults}


@pytest.mark.parametrize(
    ("detector", "case"),
    [pytest.param(case.pool, case, id=f"{case.pool}-{case.says}") for case in CASES],
    indirect=["detector"],
    scope="module",
)
def test_a_condition_is_set_and_taken_back(detector: Detector, case: Case) -> None:
    found = well(detector)
    case.come(found.host)
    found.until_status(case.fault, "True")
    said = found.condition(case.fault)
    assert (said["reason"], said["message"]) == (CONDITIONS[case.fault], case.says)
    gauge = f'problem_gauge{{reason="{CONDITIONS[case.fault]}",type="{CONDITIONS[case.fault]}"}}'
    assert f"{gauge} 1" in (found.metrics() or "")
    case.go(found.host)
    found.until_status(case.fault, "False")
    assert f"{gauge} 0" in (found.metrics() or "")


def _text(path: Path) -> str:
    return path.read_text() if path.exists() else ""


@ON_V100
def test_a_restart_in_a_fault_never_says_that_it_is_gone(detector: Detector) -> None:
    """The check takes longer than the detector waits before it writes what it has: a second
    (pkg/exporters/k8sexporter/condition/manager.go)."""
    found = well(detector)
    kind = CONDITIONS[Fault.ACCELERATOR_MISSING]
    found.host.smi(6, seconds=4)
    found.until_status(Fault.ACCELERATOR_MISSING, "True")

    def told() -> str:
        return str(found.condition(Fault.ACCELERATOR_MISSING)["lastHeartbeatTime"])

    running = found.host.state / "accelerator-missing/running"
    first = _text(running)
    # The new one waits for what is left of a check: so a check that has just begun.
    found.until("another check", lambda: _text(running) not in (first, ""))
    found.stop()
    begin, before = len(found.history), told()
    found.start()
    # The new detector only writes conditions that it has a result of, or made up.
    found.until("word of the new one", lambda: told() > before)
    # And a second time: the first one could have been made up.
    found.host.filled((99, 99))
    found.until_status(Fault.DISK_FULL, "True")
    assert {status for each, status in found.history[begin:] if each == kind} == {"True"}
    found.host.filled((50, 50))
    found.host.smi(8)


@ON_V100
def test_a_reboot_that_did_not_help_never_says_that_the_fault_is_gone(detector: Detector) -> None:
    found = well(detector)
    kind = CONDITIONS[Fault.PCIE_LINK_DEGRADED]
    found.host.lanes("0000:1c:00.0", 4)
    found.until_status(Fault.PCIE_LINK_DEGRADED, "True")
    begin = len(found.history)
    found.stop()
    found.host.boot("reboot-in-vain")
    found.start()
    found.until_status(Fault.PCIE_LINK_DEGRADED, "Unknown")
    found.until_status(Fault.PCIE_LINK_DEGRADED, "True")
    assert "False" not in {status for each, status in found.history[begin:] if each == kind}
    found.host.lanes("0000:1c:00.0", 16)


@ON_V100
@pytest.mark.parametrize(
    ("line", "reason"),
    [
        (XID_79, "Xid79"),
        ("NVRM: Xid (PCI:0000:3b:00): 48, pid=1, name=python, DBE", "Xid48"),
        ("NVRM: Xid (PCI:0000:3b:00 GPU-I:05): 94, Contained", "Xid94"),
        ("Out of memory: Killed process 71 (python3) total-vm:1kB, anon-rss:2kB", "OOMKilling"),
        ("INFO: task jbd2/nvme0n1p2:512 blocked for more than 120 seconds.", "TaskHung"),
        ("BUG: kernel NULL pointer dereference, address: 0000000000000010", "KernelOops"),
        ("EXT4-fs error (device nvme0n1p2): ext4_find_entry:1463: inode #2", "FilesystemError"),
        ("XFS (md0): Corruption detected. Unmount and run xfs_repair", "FilesystemError"),
        ("I/O error, dev nvme1n1, sector 2048 op 0x0:(READ) flags 0x0", "IOError"),
        ("EDAC MC0: 1 UE memory read error on CPU_SrcID#0_MC#0_Chan#0", "MemoryError"),
        (
            "pcieport 0000:00:01.0: AER: Uncorrectable (Fatal) \n SUBSYSTEM=pci\n DEVICE=+pci:1",
            "PCIeError",
        ),
    ],
    ids=lambda value: value if len(value) < 20 else "",
)
def test_a_line_of_the_kernels_log_is_told_as_an_event(
    detector: Detector, line: str, reason: str
) -> None:
    found = well(detector)
    found.kernel(line)
    found.until(f"event {reason}", lambda: (reason, line) in found.events())
    counted = [each for each in (found.metrics() or "").splitlines() if f'"{reason}"' in each]
    assert counted
    assert not counted[0].endswith(" 0")


@ON_V100
def test_other_lines_of_the_kernels_log_are_no_events(detector: Detector) -> None:
    found = well(detector)
    others = (
        "NVRM: Xid (PCI:0000:3b:00): 31, pid=1, name=python, MMU Fault",
        "NVRM: Xid (PCI:0000:3b:00): 790, x",
        "python[3]: segfault NVRM: Xid (PCI:0000:3b:00): 63, x",
        "Memory cgroup out of memory: Killed process 71 (python3) total-vm:1kB",
    )
    for line in others:
        found.kernel(line)
    # Messages are told in their order.
    last = "NVRM: Xid (PCI:0000:3b:00): 64, the last"
    found.kernel(last)
    found.until("the last", lambda: ("Xid64", last) in found.events())
    assert not {message for _, message in found.events()} & set(others)
