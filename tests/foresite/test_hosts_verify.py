"""Hosts compared with their inspection: each thing that may differ is told at the line's cell."""

import copy
import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from controlplane import ControlPlane
from foresite.cli import main
from tests.kit.repository import FLEET, all_sites
from tools.toolchain import locate

Json = dict[str, Any]
HOSTS = all_sites()["lab-1"].hosts
ROOT_DISK = {
    "name": "/dev/disk/by-path/pci-0000:01:00.0-nvme-1", "alternateNames": ["/dev/nvme0n1"],
    "model": "PM9A3", "rotational": False, "sizeBytes": 960 * 10**9, "type": "NVME",
}  # fmt: skip
DATA_DISK = {**ROOT_DISK, "name": "/dev/nvme1n1", "alternateNames": [], "sizeBytes": 1920 * 10**9}


def inspected(at: int) -> Json:
    """A host of lab-1 as its line and its profile say."""
    host = HOSTS[at]
    hardware = {
        "systemVendor": {"serialNumber": host.serial.lower()},
        "nics": [{"mac": host.mac.upper(), "pxe": True}, {"mac": f"52:54:00:99:00:0{at}"}],
        "cpu": {"arch": "x86_64", "count": 64}, "ramMebibytes": 261_000,
        "storage": [ROOT_DISK, DATA_DISK],
    }  # fmt: skip
    return {
        "apiVersion": "metal3.io/v1alpha1", "kind": "HardwareData",
        "metadata": {"name": host.name, "namespace": "lab-1"}, "spec": {"hardware": hardware},
    }  # fmt: skip


Verify = Callable[[list[Json]], tuple[int, str]]


@pytest.fixture
def verify(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Verify:
    """Verify lab-1 with some objects: the exit code, and what it says."""

    def once(objects: list[Json]) -> tuple[int, str]:
        file = tmp_path / "objects.json"
        file.write_text(json.dumps({"items": objects}))
        code = main(["--root", str(FLEET), "hosts", "verify", "lab-1", "--from", str(file)])
        said = capsys.readouterr()
        return code, " ".join((said.out + said.err).split())

    return once


def test_all_are_what_their_lines_say(verify: Verify) -> None:
    code, said = verify([inspected(at) for at in range(3)])
    assert code == 0 and "3 hosts are what their lines say, 0 are not, 0 not known" in said
    assert "accelerators are not known" in said
    stranger = {**inspected(0), "metadata": {"name": "other"}}
    assert "on no line: other" in verify([stranger, *(inspected(at) for at in range(3))])[1]
    elsewhere = [{**inspected(0), "metadata": {"name": n, "namespace": n}} for n in ("x", "y")]
    assert "on no line" not in verify([*elsewhere, *(inspected(at) for at in range(3))])[1]
    assert "hosts of x, y, and none of lab-1" in verify(elsewhere)[1]


def test_what_is_not_inspected_is_never_fine(verify: Verify) -> None:
    host = {"kind": "BareMetalHost", "metadata": {"name": HOSTS[1].name}, "status": {}}
    code, said = verify([inspected(0), host])
    assert code == 1 and "1 hosts are what their lines say, 0 are not, 2 not known" in said
    assert f"sites/lab-1.hosts.csv:3:1: host-unseen {HOSTS[1].name} is not known" in said
    old = {**host, "status": inspected(1)["spec"]}
    assert "2 hosts are" in verify([inspected(0), old])[1]


@pytest.mark.parametrize(
    ("path", "value", "column", "problem"),
    [
        ("systemVendor.serialNumber", HOSTS[0].serial, 70, "serial"),
        ("systemVendor.serialNumber", "", 70, "serial of lab-1-lab-002 is not known"),
        ("nics.0.mac", HOSTS[2].mac, 41, "that is lab-1-lab-003 of line 4"),
        ("nics.1.pxe", True, 0, ""),
        ("nics.0.pxe", False, 0, ""),
        ("nics", [{"mac": HOSTS[1].mac}, {"mac": "52:54:00:99:00:01", "pxe": True}], 41, "NIC 52"),
        ("nics", [], 41, "NICs of lab-1-lab-002 is not known"),
        ("nics", 7, 41, "is not known"),
        ("cpu.arch", "aarch64", 15, "architecture aarch64, and not amd64"),
        ("cpu.count", 32, 0, ""),
        ("cpu.count", 48, 15, "logical processors 48, and not those of 32 cores"),
        ("ramMebibytes", 245_760, 15, "memory 240 GiB, and not 256 GiB"),
        ("ramMebibytes", "x", 15, "memory of lab-1-lab-002 is not known"),
        ("storage.0.name", "/dev/sda", 15, "and not deviceName /dev/disk/by-path"),
        ("storage.0.rotational", True, 15, "rotational False"),
        ("storage", [ROOT_DISK], 15, "NVMe data disks 0, and not 1"),
        ("storage", [], 15, "disks of lab-1-lab-002 is not known"),
        ("storage.1.sizeBytes", 960 * 10**9, 15, "NVMe space beside the root disk 960 GB"),
    ],
)  # fmt: skip
def test_what_differs(verify: Verify, path: str, value: object, column: int, problem: str) -> None:
    changed = copy.deepcopy(inspected(1))
    at: Any = changed["spec"]["hardware"]
    *steps, last = (int(step) if step.isdigit() else step for step in path.split("."))
    for step in steps:
        at = at[step]
    at[last] = value
    code, said = verify([inspected(0), changed, inspected(2)])
    assert code == (1 if problem else 0), said
    assert problem in said and (f"sites/lab-1.hosts.csv:3:{column}: host-" in said or not problem)


def test_hints_of_a_line(verify: Verify, tmp_path: Path) -> None:
    from foresite.inventory.comparison import _fits

    disk = {**ROOT_DISK, "serialNumber": "S1", "vendor": "Samsung", "hctl": "0:0:0:0", "wwn": "0xA"}
    for hints in ({"serialNumber": "s1", "wwn": "0xa"}, {"model": "9A3", "vendor": "sam"},
                  {"minSizeGigabytes": 894}, {"hctl": "0:0:0:0"}):  # fmt: skip
        assert _fits(disk, hints), hints
    for wrong in ({"serialNumber": "S"}, {"minSizeGigabytes": 895}, {"deviceName": "/dev/sda"}):
        assert not _fits(disk, wrong), wrong


@pytest.mark.controlplane
def test_the_management_cluster_is_asked(
    api: ControlPlane,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    (tmp_path / "kubectl").symlink_to(locate(["controlplane"])["kubectl"].path)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    monkeypatch.setenv("KUBECONFIG", str(api.kubeconfig(["mgmt-lab"])))
    with api.client() as client:
        client.apply({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "lab-1"}})
        for at in (0, 1):
            client.apply(inspected(at))
        code = main(["--root", str(FLEET), "hosts", "verify", "lab-1"])
        for at in (0, 1):
            client.delete("metal3.io/v1alpha1", "HardwareData", HOSTS[at].name, "lab-1")
    said = " ".join(capsys.readouterr().out.split())
    assert code == 1 and "2 hosts are what their lines say, 0 are not, 1 not known" in said
