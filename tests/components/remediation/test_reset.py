"""Resets of accelerators before a reboot: the scripts with a fake nvidia-smi, what a site makes of
it, and the repair on a real API server, where the tests play the pod that resets."""

import json
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import pytest
from node_repair.cluster import ClusterError
from node_repair.names import HISTORY

from components.accelerators.objects import objects as accelerator_objects
from components.admission_policies.objects import objects as policies
from components.making.faults import RESET_LABEL, TURN_LABEL
from components.remediation.checks import SCRIPTS, checks
from components.remediation.names import REBOOTS, settings_of
from components.remediation.reset import request, resets
from components.remediation.rights import rights
from components.site import site_objects
from controlplane import ApiError, Client
from controlplane.access import read_kubeconfig, write_kubeconfig
from foresite.cli import main
from foresite.commands.repairs import COLUMNS
from schemas.model.remediation import Xids
from schemas.model.vocabulary import Fault
from tests.kit.remediation_devices import SHELLS, Host, Said
from tests.kit.remediation_host import (
    ASKED,
    HOST,
    NODE,
    SITE,
    Rebooting,
    boots,
    host,
    make,
    outcome,
    patch_host,
    rebooting,
    until_asked,
)
from tests.kit.remediation_host import told as told_job
from tests.kit.remediation_rounds import ago
from tests.kit.remediation_server import HOST_API, SECONDS, Server
from tests.kit.repository import FLEET, all_sites, with_resets
from tests.kit.waiting import until

XIDS, RESETS = ",".join(map(str, Xids().reboot)), "46,119,154"
GSP = "NVRM: Xid (PCI:0000:3b:00): 119, pid=1, Timeout after 6s of waiting for RPC response"
LOST = "NVRM: Xid (PCI:0000:5e:00): 79, GPU has fallen off the bus."
ACTION = "NVRM: Xid (PCI:0000:3b:00): 154, GPU recovery action changed from 0x0 (None) to {}"
BAD, ASKS = "XID 119 of 0000:3b:00", "XID 119 of 0000:3b:00: reset"
FAULT, CONDITION = "accelerator-error", "AcceleratorError"
OTHERS = "1 of 8 devices is gone: 0000:9a:00"


# --- on the host ---


@pytest.fixture(params=[*SHELLS.values()], ids=[*SHELLS])
def shell(request: pytest.FixtureRequest) -> list[str]:
    found: list[str] = request.param
    return found


@pytest.fixture
def machine(tmp_path: Path) -> Host:
    return Host(tmp_path)


def errors(shell: list[str], host: Host, resets: str = RESETS) -> Said:
    return host.run(shell, "accelerator-error.sh", host.state, host.boot_id, XIDS, resets)


@contextmanager
def resetting(
    shell: list[str], host: Host, fake: str = "exit 0", seconds: int = 30
) -> Iterator[None]:
    """The pod at work, with a fake nvidia-smi, until it has noted an end."""
    host.command("nvidia-smi", f'echo "$@" >>{host.root}/asked\n{fake}')
    given = [host.state, host.boot_id, host.log, seconds, "", "nvidia-smi", "--gpu-reset"]
    process = subprocess.Popen(
        [*shell, str(SCRIPTS / "gpu-reset.sh"), *map(str, given)],
        env={"PATH": host.path},
        stdout=subprocess.DEVNULL,
        start_new_session=True,
    )
    try:
        until(lambda: note(host).endswith(("done", "failed")))
        yield
    finally:
        subprocess.run(["kill", "--", f"-{process.pid}"], check=False)
        process.wait(SECONDS)


def note(host: Host) -> str:
    path = host.state / "reset"
    return path.read_text().strip() if path.exists() else ""


def tries(host: Host) -> int:
    path = host.root / "asked"
    return len(path.read_text().splitlines()) if path.exists() else 0


@pytest.mark.parametrize(
    ("lines", "resets", "asks"),
    [
        ([GSP], RESETS, True),
        ([GSP], "46", False),
        ([GSP], "", False),
        ([GSP, LOST], RESETS, False),
        ([ACTION.format("0x1 (GPU Reset Required)")], RESETS, True),
        ([ACTION.format("0x2 (OS Reboot)")], RESETS, False),
        ([GSP, ACTION.format("0x2 (OS Reboot)")], RESETS, False),
    ],
)
def test_a_reset_is_asked_for_where_all_errors_need_no_more(
    shell: list[str], machine: Host, lines: list[str], resets: str, asks: bool
) -> None:
    for line in lines:
        machine.says(line)
    found = errors(shell, machine, resets)
    assert found.code == 1 and found.line.endswith(": reset") == asks


def test_errors_before_a_reset_that_worked_count_no_more(shell: list[str], machine: Host) -> None:
    machine.says(GSP)
    assert errors(shell, machine) == (1, ASKS)
    with resetting(shell, machine):
        # dmesg shows what is written into the kernel's log with its time.
        machine.log.write_text(machine.log.read_text().replace("foresite:", "[ 9.1] foresite:"))
        assert errors(shell, machine).code == 0
    machine.says(GSP)
    assert errors(shell, machine) == (1, BAD), "a second reset would end the same"
    machine.log.write_text("")
    assert errors(shell, machine) == (1, BAD)
    machine.boot("another")
    machine.says(GSP)
    assert errors(shell, machine) == (1, ASKS)


def test_an_error_of_the_reset_itself_counts(shell: list[str], machine: Host) -> None:
    machine.says(GSP)
    assert errors(shell, machine) == (1, ASKS)
    with resetting(shell, machine, f"echo '{GSP}' >>{machine.log}"):
        assert errors(shell, machine) == (1, BAD)


@pytest.mark.parametrize("remembered", [False, True])
def test_an_error_that_needs_a_reboot_outlasts_a_reset(
    shell: list[str], machine: Host, remembered: bool
) -> None:
    for line in (GSP, LOST):
        machine.says(line)
    if remembered:
        assert errors(shell, machine).code == 1
        machine.log.write_text("")
    with resetting(shell, machine):
        found = errors(shell, machine)
        assert found.code == 1 and "79" in found.line, found


@pytest.mark.parametrize("fake", ["echo 'GPU is in use by another client.'; exit 255", "sleep 60"])
def test_a_reset_that_fails_asks_for_a_reboot(shell: list[str], machine: Host, fake: str) -> None:
    machine.says(GSP)
    with resetting(shell, machine, fake, seconds=1):
        assert errors(shell, machine) == (1, BAD)


def test_those_that_have_the_devices_open_may_leave_meanwhile(
    shell: list[str], machine: Host
) -> None:
    with resetting(shell, machine, f"[ -e {machine.root}/left ] || ! >{machine.root}/left"):
        assert note(machine).endswith("done") and tries(machine) == 2


def test_nothing_is_reset_twice_between_two_starts(shell: list[str], machine: Host) -> None:
    """Not by a pod that is made anew either, nor by one that was killed in the middle."""
    with resetting(shell, machine):
        pass
    with resetting(shell, machine):
        assert tries(machine) == 1
    boot = machine.boot_id.read_text().strip()
    (machine.state / "reset").write_text(f"{boot} begun\n")
    machine.says(GSP)
    with resetting(shell, machine):
        assert tries(machine) == 1 and errors(shell, machine) == (1, BAD)


# --- what a site makes of it ---


def test_resets_where_the_site_asks_and_the_catalogue_says_how() -> None:
    """And the programs that have the devices open leave meanwhile."""
    site = with_resets()
    pools = {each.name: each for each in site.file.pools}
    made = {each.body["metadata"]["name"]: each.body["spec"] for each in resets(site)}
    assert set(made) == {"accelerator-reset-a100", "accelerator-reset-h100"}
    for name in ("v100", "a100", "h100", "cpu"):
        found = [
            each for each in checks(site, pools[name]) if each.fault is Fault.ACCELERATOR_ERROR
        ]
        assert all((len(each.arguments) == 4) == bool(request(site, pools[name])) for each in found)
    assert request(site, pools["h100"]) == f"{FAULT},{CONDITION},270"
    assert request(site, pools["v100"]) == ""
    leaving = {
        each.name
        for each in accelerator_objects(site)
        if each.kind == "DaemonSet"
        and RESET_LABEL in str(each.body["spec"]["template"]["spec"].get("affinity"))
    }
    assert leaving == {
        f"DaemonSet/{n}/{p}" for n in ("device-plugin", "exporter") for p in ("a100", "h100")
    }
    pod = made["accelerator-reset-h100"]["template"]["spec"]
    assert pod["nodeSelector"][RESET_LABEL] == "true"


def test_nothing_of_a_reset_is_made_where_a_site_does_not_ask_for_it() -> None:
    """Its effects on power limits and clocks are for a site to know."""
    plain, asking = (
        {(each.name, each.target): str(each.body) for part in made.values() for each in part}
        for made in map(site_objects, (all_sites()[SITE], with_resets()))
    )
    more = {name for name, _ in asking.keys() - plain.keys()}
    assert more == {f"DaemonSet/accelerator-reset/{pool}" for pool in ("a100", "h100")}
    changed = {name for name, to in plain if plain[name, to] != asking[name, to]}
    assert {name.split("/")[1] for name in changed} == {
        "device-plugin", "exporter", "node-problem-detector", "node-marks", "gpu",
    }  # fmt: skip
    assert not any(name.endswith(("/v100", "/cpu", "/control")) for name in changed)
    assert not any(RESET_LABEL in text for text in plain.values())


# --- on a real API server ---


@pytest.fixture(scope="module")
def shared(repairs: Server, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """With the site's accounts, and its policy on labels of nodes."""
    site, found = with_resets(), replace(repairs, folder=tmp_path_factory.mktemp("reset"))
    for name in (SITE, "other", settings_of(site).namespace):
        found.client.apply({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}})
    marks = [each.body for each in policies(site) if each.name.endswith("/node-marks")]
    for body in (*(each.body for each in rights(site)), *marks):
        found.client.apply(body)
    found.clear()
    make(found)
    found.as_account(settings_of(site).namespace, REBOOTS)
    found.as_account(SITE, REBOOTS)
    with Client(read_kubeconfig(account(found))) as client:
        until(lambda: refused(client))
    yield found
    for body in marks:
        found.client.delete(body["apiVersion"], body["kind"], body["metadata"]["name"])


def account(server: Server, space: str = "node-remediation") -> Path:
    """The access that the Job has."""
    return server.folder / f"{space}-{REBOOTS}.kubeconfig"


def refused(client: Client) -> bool:
    """True once the policy keeps the Job from labels that are not its own."""
    body, kind = {"metadata": {"labels": {TURN_LABEL: "f"}}}, "application/merge-patch+json"
    try:
        client.request("PATCH", f"/api/v1/nodes/{NODE}?dryRun=All", body, kind)
    except ApiError as error:
        return "site file" in error.message
    return False


@pytest.fixture
def server(shared: Server) -> Server:
    shared.clear()
    make(shared)
    shared.patch(NODE, {"metadata": {"labels": {TURN_LABEL: FAULT}}})
    told(shared, "True", ASKS)
    hardware = {"systemVendor": {"serialNumber": "SN 4711;"}}
    state = {"state": "provisioned", "ID": "1", "image": {"url": ""}}
    needed = {"errorMessage": "", "operationalStatus": "OK", "poweredOn": True}
    vendor = {"status": {**needed, "provisioning": state, "hardware": hardware}}
    path = f"/apis/{HOST_API}/namespaces/{SITE}/baremetalhosts/{HOST}/status"
    shared.client.request("PATCH", path, vendor, "application/merge-patch+json")
    return shared


def told(server: Server, status: str, message: str = "") -> None:
    """Say of the node what its detector does."""
    mine = {"type": CONDITION, "status": status, "reason": "Test", "message": message}
    # Another fault, which comes first and is not repaired here.
    other = {**mine, "type": "AcceleratorMissing", "status": "True", "message": OTHERS}
    path, kind = f"/api/v1/nodes/{NODE}/status", "application/strategic-merge-patch+json"
    server.client.request("PATCH", path, {"status": {"conditions": [other, mine]}}, kind)


@contextmanager
def repairing(server: Server, seconds: int = 3600) -> Iterator[Rebooting]:
    told = {"KUBECONFIG": account(server), "MANAGEMENT_KUBECONFIG": account(server, SITE)}
    asked = {"RESET": f"{FAULT},{CONDITION},{seconds}", "JOB_NAMESPACE": "node-remediation"}
    with rebooting(server, **asked, **{k: str(path) for k, path in told.items()}) as process:
        yield process


def labelled(server: Server) -> bool:
    return RESET_LABEL in server.get(NODE)["metadata"]["labels"]


def repaired(server: Server) -> list[str]:
    """What the host, and the node's copy, say of repairs, without times and operations."""
    (note,) = {host(server)[HISTORY], server.note(NODE, "history")}
    serial, *entries = (note or "").split(";")
    return [serial, *(",".join(each.split(",")[1:4]) for each in entries)]


def rebooted(server: Server, process: Rebooting) -> None:
    until_asked(server, process)
    assert not labelled(server)
    boots(server)
    told(server, "False")
    assert process.wait(SECONDS) == 0


@pytest.mark.controlplane
def test_a_reset_that_helps_ends_the_repair_without_a_reboot(server: Server) -> None:
    with repairing(server) as process:
        until(lambda: labelled(server))
        assert outcome(server) == "resetting"
        # Nothing is known while the detector restarts.
        told(server, "Unknown")
        told(server, "False")
        assert process.wait(SECONDS) == 0
    assert outcome(server) == "reset" and not labelled(server)
    assert ASKED not in host(server) and server.note(NODE, "reboots") is None
    assert repaired(server) == ["SN4711", f"reset,{FAULT},0000:3b:00"]


@pytest.mark.controlplane
@pytest.mark.parametrize("why", ["failed", "late", "killed"])
def test_a_reset_that_does_not_help_is_followed_by_a_reboot(server: Server, why: str) -> None:
    with repairing(server, 3 if why == "late" else 3600) as process:
        until(lambda: labelled(server))
        if why == "killed":
            process.kill()
        if why != "late":
            told(server, "True", BAD)
        if why != "killed":
            rebooted(server, process)
    if why == "killed":
        with repairing(server) as process:
            rebooted(server, process)
    assert outcome(server) == "done"
    assert repaired(server)[1:] == [f"reset-reboot,{FAULT},0000:3b:00"]


@pytest.mark.controlplane
@pytest.mark.parametrize("fails", ["the node", "the host, once"])
def test_a_reset_is_in_the_history_when_its_node_asks_for_it(server: Server, fails: str) -> None:
    refused: list[str] = []

    def refuse(method: str, path: str) -> None:
        mine = "/nodes/" if fails == "the node" else "/baremetalhosts/"
        if method == "PATCH" and mine in path and (fails == "the node" or not refused):
            refused.append(path)
            raise ClusterError("conflict", 409)

    given = {**told_job(server, 7200), "RESET": f"{FAULT},{CONDITION},3600"}
    process = Rebooting(given, refuse)
    until(lambda: len(refused) > 1 or (bool(refused) and HISTORY in host(server)))
    if fails == "the node":
        assert HISTORY not in host(server)
    else:
        told(server, "False")
        assert process.wait(SECONDS) == 0
        assert repaired(server)[1:] == [f"reset,{FAULT},0000:3b:00"]
    process.kill()


@pytest.mark.controlplane
def test_a_node_that_is_cordoned_during_its_reset_is_not_rebooted(server: Server) -> None:
    """It loses its slot (decide.py), which the Job awaits."""
    with repairing(server) as process:
        until(lambda: labelled(server))
        server.patch(NODE, {"spec": {"unschedulable": True}})
        told(server, "True", BAD)
        before = len(process.calls)
        until(lambda: len(process.calls) > before + 5)
        server.patch(NODE, {"metadata": {"labels": {TURN_LABEL: None, RESET_LABEL: None}}})
        assert process.wait(SECONDS) == 0
    assert ASKED not in host(server) and server.note(NODE, "reboots") is None


@pytest.mark.controlplane
def test_the_history_outlives_the_node_and_is_listed(
    server: Server, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A re-imaged host is a new node: its next repair brings what was before."""
    patch_host(server, {HISTORY: f"SN4711;{ago(86_400)},reboot,{FAULT},0000:3b:00"})
    told(server, "True", BAD)
    with rebooting(server) as process:
        until_asked(server, process)
        boots(server)
        assert process.wait(SECONDS) == 0
    assert repaired(server) == ["SN4711", *[f"reboot,{FAULT},0000:3b:00"] * 2]
    server.client.delete("v1", "Node", NODE)
    bin_, context = server.folder / "bin", all_sites()[SITE].file.management
    bin_.mkdir(exist_ok=True)
    (bin_ / "kubectl").symlink_to(server.kubectl)
    write_kubeconfig(
        server.folder / "listing", read_kubeconfig(server.plane.kubeconfig()), [context]
    )
    monkeypatch.setenv("PATH", str(bin_), prepend=":")
    monkeypatch.setenv("KUBECONFIG", str(server.folder / "listing"))
    assert main(["--root", str(FLEET), "repairs", SITE, "--format", "json"]) == 0
    host_row, device_row = json.loads(capsys.readouterr().out)
    assert host_row["serial"] == "SN4711" and host_row["repairs"] == 2
    assert (host_row["device"], device_row["device"]) == ("", "0000:3b:00")
    assert main(["--root", str(FLEET), "repairs", SITE]) == 0
    assert f"SN4711 ({HOST}, device 0000:3b:00): 2 repairs, 0 by reset" in capsys.readouterr().out
    assert main(["--root", str(FLEET), "repairs", SITE, "--format", "csv"]) == 0
    assert capsys.readouterr().out.splitlines()[0] == ",".join(COLUMNS)
