"""Host lists from the real NetBox, and from BMCs of sushy-tools' emulator (not of real ones)."""

import shutil
import socket
from collections.abc import Iterator
from pathlib import Path

import pytest

from controlplane.ports import free_port
from foresite.cli import main
from foresite.inventory import netbox
from tests.kit import netbox_server
from tests.kit.netbox_recording import row, rows
from tests.kit.netbox_server import TOKEN, bring_up, wait
from tests.kit.repository import FLEET

EMULATOR = Path.home() / ".cache/foresite/sushy-tools-2.2.0/venv/bin/sushy-emulator"
pytestmark = [pytest.mark.proof, pytest.mark.slow]


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A repository with lab-1."""
    others = shutil.ignore_patterns("tokyo*", "tsukuba*", "sapporo*")
    shutil.copytree(FLEET, tmp_path / "r", ignore=others)
    return tmp_path / "r"


@pytest.mark.skipif(bool(netbox_server.absent()), reason=f"no {netbox_server.absent()}")
def test_forty_devices_of_the_real_netbox(
    root: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    command = ["--root", str(root), "hosts", "import", "lab-1", "--from", "netbox", "--url"]
    with netbox_server.running() as url:
        netbox_server.fill(url, [*rows(), *(row(number) for number in range(10, 43))])
        said, texts = [], []
        for page, token in ((1000, TOKEN), (7, TOKEN), (7, "cd" * 20)):
            monkeypatch.setenv("NETBOX_TOKEN", token)
            monkeypatch.setattr(netbox, "PAGE", page)
            code = main([*command, url])
            out = capsys.readouterr()
            said.append((code, " ".join((out.out + out.err).split())))
            texts.append((root / "sites/lab-1.hosts.proposed.csv").read_text())
        monkeypatch.setenv("NETBOX_TOKEN", TOKEN)
        assert main([*command, url, "--query", "site=nowhere"]) == 2
        assert "has the site another slug" in capsys.readouterr().err
    assert said[0] == said[1] and texts[0] == texts[1] and len(texts[0].splitlines()) == 42
    assert said[2][0] == 2 and "HTTP 403; NETBOX_TOKEN is not valid" in said[2][1]
    assert "40 hosts of netbox: 38 new, 0 filled, 0 taken, 2 differs, 1 left" in said[0][1]
    for problem in ("2 values may be its mac", "is in a network of /25", "name LAB-1-LAB-005"):
        assert problem in said[0][1]


@pytest.fixture
def bmc(tmp_path: Path) -> Iterator[str]:
    """An emulated BMC with a system of one NIC and one of two."""
    if not EMULATOR.exists():
        pytest.skip(f"no {EMULATOR}")
    uuids = "27946b59-9e44-4fa7-8e91-f3527a1ef09{}"
    systems = [
        {"uuid": uuids.format(at), "name": f"fake{at}", "power_state": "Off",
         "nics": [{"mac": f"52:54:00:03:0{nic}:0{at}", "ip": "10.18.0.9"} for nic in range(at)]}
        for at in (1, 2)
    ]  # fmt: skip
    settings = {"SUSHY_EMULATOR_FAKE_SYSTEMS": systems, "SUSHY_EMULATOR_STATE_DIR": str(tmp_path)}
    text = "".join(f"{name} = {value!r}\n" for name, value in settings.items())
    (tmp_path / "emulator.conf").write_text(text)
    port, settings_file = free_port(), tmp_path / "emulator.conf"
    command = (EMULATOR, "--fake", "-i", "127.0.0.1", "-p", port, "--config", settings_file)
    with bring_up(*command):
        wait(lambda: socket.create_connection(("127.0.0.1", port), 1).close())
        yield f"http://127.0.0.1:{port}"


def test_an_emulated_bmc(
    root: Path, bmc: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("REDFISH_USERNAME", "admin")
    monkeypatch.setenv("REDFISH_PASSWORD", "word-canary")
    command = ["--root", str(root), "hosts", "import", "lab-1", "--from", "redfish", "--bmc", bmc]
    assert main([*command, "--bmc", "http://127.0.0.1:1"]) == 1
    said = " ".join(capsys.readouterr().out.split())
    assert "2 hosts of redfish: 2 new" in said and "canary" not in said
    assert "http://127.0.0.1:1: host-source bmc the BMC gives no answer" in said
    assert "2 values may be its mac: 52:54:00:03:00:02" in said
    new = (root / "sites/lab-1.hosts.proposed.csv").read_text().splitlines()[4:]
    system = f"{bmc.partition('://')[2]}/redfish/v1/Systems/27946b59-9e44-4fa7-8e91-f3527a1ef09"
    assert new == [f",,,,{system}1,52:54:00:03:00:01,,", f",,,,{system}2,,,"]
