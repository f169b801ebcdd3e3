"""The objects of the detectors as plain data: what follows from which field of the site file."""

import json
import re
from dataclasses import replace

import pytest

from components.making.faults import CONDITIONS
from components.making.manifest import Json, Target
from components.remediation import devicechoice, kernellog
from components.remediation.checks import (
    DRIVER_ROOT,
    HOST,
    KILL_SECONDS,
    PROGRAMS,
    SCRIPTS,
    SECONDS,
    checks,
    stem,
)
from components.remediation.detector import detectors
from schemas.facts.site import Site
from schemas.kubernetes.objects import check_object
from schemas.model.accelerators import Health
from schemas.model.faults import fault_of
from schemas.model.remediation import Xids
from schemas.model.vocabulary import Fault
from tests.golden import every_site
from tests.kit import accelerator_sites
from tests.kit.remediation_detectors import configuration, osaka, pod, pool, with_detector

SITES = sorted(every_site())
EVERYWHERE = [Fault.DISK_FULL, Fault.READ_ONLY_FILESYSTEM, Fault.KERNEL_DEADLOCK]


def monitors(site: Site, name: str) -> dict[str, Json]:
    """The monitors that run checks of faults, by their files."""
    texts = configuration(site, name).items()
    found = {file: json.loads(text) for file, text in texts if file.endswith(".json")}
    del found[kernellog.FILE]
    found.pop(devicechoice.FILE, None)
    return found


def told(site: Site, name: str, fault: str) -> list[str]:
    """The settings of a check, without its damping."""
    (rule,) = monitors(site, name)[f"{stem(fault)}.json"]["rules"]
    arguments: list[str] = rule["args"]
    return arguments[8:]


def of_each_pool(name: str) -> list[tuple[Site, str]]:
    site = every_site()[name]
    return [(site, each.name) for each in site.file.pools if checks(site, each)]


def test_a_site_that_looks_for_no_faults_has_no_detector() -> None:
    assert detectors(accelerator_sites.site()) == []


@pytest.mark.parametrize("name", SITES)
def test_every_object_is_what_kubernetes_takes(name: str) -> None:
    found = detectors(every_site()[name])
    assert found
    for each in found:
        assert each.target is Target.SITE
        assert check_object(each.body) == [], each.name


@pytest.mark.parametrize("name", SITES)
def test_every_fault_of_a_pool_has_its_check_and_no_other(name: str) -> None:
    for site, of in of_each_pool(name):
        faults = site.faults(pool(site, of))
        assert sorted(monitors(site, of)) == sorted(f"{stem(fault)}.json" for fault in faults)
        for fault in faults:
            found = monitors(site, of)[f"{stem(fault)}.json"]
            # A result publishes all conditions of its file, also those that nobody has looked at.
            assert [each["type"] for each in found["conditions"]] == [CONDITIONS[fault]]
            assert [each["condition"] for each in found["rules"]] == [CONDITIONS[fault]]
            assert found["pluginConfig"]["skip_initial_status"] is True
            assert found["pluginConfig"]["concurrency"] == 1


def test_pools_have_the_faults_that_they_can_have() -> None:
    """T4's link is not known, and mncore2 is not NVIDIA's."""
    accelerator = [Fault.ACCELERATOR_MISSING, Fault.ACCELERATOR_ERROR, Fault.PCIE_LINK_DEGRADED]
    expected = {
        "cpu": EVERYWHERE,
        "v100": [*accelerator, *EVERYWHERE],
        "t4": [*accelerator[:2], *EVERYWHERE],
        "mncore": [*accelerator[:1], *EVERYWHERE],
    }
    for name, faults in expected.items():
        assert {each.fault for each in checks(osaka(), pool(osaka(), name))} == set(faults)


def test_switches_and_links_are_looked_at_where_hosts_have_them() -> None:
    tokyo = every_site()["tokyo-1"]
    found = {each.name: set(tokyo.faults(each)) for each in tokyo.file.pools}
    of_links = {Fault.NETWORK_LINK_DOWN, Fault.NETWORK_LINK_ERRORS}
    assert {name for name, faults in found.items() if Fault.FABRIC_DOWN in faults} == {
        "a100",
        "h100",
    }
    assert {name for name, faults in found.items() if faults & of_links} == {"h100"}
    links = [f"ib{rail}:{rail}:400" for rail in range(8)]
    assert told(tokyo, "h100", Fault.NETWORK_LINK_DOWN) == [f"{HOST}/sys", *links]
    assert told(tokyo, "h100", Fault.NETWORK_LINK_ERRORS)[-8:] == links
    fabric = told(tokyo, "h100", Fault.FABRIC_DOWN)
    assert fabric[:4] == ["/proc", "nv-fabricmanager", "8", "40"]
    assert fabric[-5:] == ["18", "3", "nvidia-smi", "nvlink", "--status"]
    for remediator in tokyo.file.remediation.healers if tokyo.file.remediation else ():
        assert not {*of_links, Fault.FABRIC_DOWN} & set(
            tokyo.repairs(pool(tokyo, "h100"), remediator)
        )


def test_a_sites_own_check_is_a_fault_like_others() -> None:
    own = {"name": "scratch-slow", "pools": ["v100"], "command": ["/opt/probe", "a b; c"],
           "message": "slow", "runbook": "call ops"}  # fmt: skip
    made = osaka(checks=[own])
    assert "scratch-slow" in made.faults(pool(made, "v100"))
    assert "scratch-slow" not in made.faults(pool(made, "cpu"))
    assert told(made, "v100", "scratch-slow") == ["20", HOST, "", "/opt/probe", "a b; c"]
    made = osaka(checks=[{**own, "threshold": 40, "root": "/opt/root"}])
    assert told(made, "v100", "scratch-slow")[1:3] == [f"{HOST}/opt/root", "40"]
    assert CONDITIONS["scratch-slow"] == "ScratchSlow"
    assert [fault_of(CONDITIONS[each]) for each in [*Fault, "scratch-slow", "gpu-x2"]] == [
        *Fault, "scratch-slow", "gpu-x2"
    ]  # fmt: skip
    assert fault_of("Ready") is fault_of("odd_Type") is None


def test_other_vendors_messages_of_the_kernel_are_looked_for() -> None:
    made = osaka()
    board = made.accelerators["mncore2"].model_copy(update={"kernel_log": ["^a", "b$"]})
    made = replace(made, accelerators={**made.accelerators, "mncore2": board})
    assert told(made, "mncore", Fault.ACCELERATOR_ERROR)[-1] == "(^a)|(b$)"
    assert "Xid" not in configuration(made, "mncore")[kernellog.FILE]


def seconds(text: str) -> int:
    found = re.fullmatch(r"([0-9]+)s", text)
    assert found
    return int(found[1])


@pytest.mark.parametrize("name", SITES)
def test_time_limits_nest(name: str) -> None:
    """A check's command ends before the check's bound, and that before the rule's timeout."""
    for site, of in of_each_pool(name):
        for file, each in monitors(site, of).items():
            (rule,) = each["rules"]
            bound = int(rule["args"][5])
            assert bound + 10 < seconds(rule["timeout"])
            assert seconds(rule["timeout"]) <= seconds(each["pluginConfig"]["timeout"])
            limit = 0
            if file == f"{Fault.ACCELERATOR_MISSING}.json" and len(rule["args"]) > 13:
                limit = int(rule["args"][13])
            script = rule["args"][7].removeprefix(f"{PROGRAMS}/")
            if script == "own-check.sh":
                limit = int(rule["args"][8])
            texts = (SCRIPTS / script).read_text()
            own = [int(found) for found in re.findall(r"timeout --foreground -k 1 (\d+)", texts)]
            assert "timeout --foreground -k 1" in texts or "timeout" not in texts
            assert max([limit, *own]) + 1 < bound


@pytest.mark.parametrize("name", SITES)
def test_what_a_rule_runs_is_in_the_configuration(name: str) -> None:
    """The detector ends at its start where a rule's path is not there."""
    for site, of in of_each_pool(name):
        texts = configuration(site, of)
        for each in monitors(site, of).values():
            (rule,) = each["rules"]
            paths = [rule["path"], *(a for a in rule["args"] if a.startswith(f"{PROGRAMS}/"))]
            assert len(paths) == 2
            assert {path.removeprefix(f"{PROGRAMS}/") for path in paths} <= texts.keys()
        sourced = {
            found for text in texts.values() for found in re.findall(r"\$\{0%/\*\}/(\S+)\"", text)
        }
        assert sourced <= texts.keys()
        (container,) = pod(site, of)["spec"]["containers"]
        named = {
            path.removeprefix(f"{PROGRAMS}/")
            for flag in container["args"][:2]
            for path in flag.partition("=")[2].split(",")
        }
        assert named == {file for file in texts if file.endswith(".json")}


def test_a_check_is_told_what_the_site_says() -> None:
    made = osaka(disks=["/", "/srv/nvme"], disk_full_percent=90, blocked_seconds=700)
    assert told(made, "cpu", Fault.DISK_FULL) == [HOST, "90", "/", "/srv/nvme"]
    assert told(made, "cpu", Fault.READ_ONLY_FILESYSTEM) == [
        HOST,
        "/proc/1/mounts",
        "/",
        "/srv/nvme",
    ]
    assert told(made, "cpu", Fault.KERNEL_DEADLOCK)[-1] == "700"
    assert told(made, "v100", Fault.PCIE_LINK_DEGRADED) == ["/sys", "16", "10de", "0302", "1db5"]


def test_how_often_and_how_long_are_the_sites() -> None:
    made = osaka(interval_seconds=45, bad_after=4, good_after=5)
    for each in monitors(made, "v100").values():
        assert each["pluginConfig"]["invoke_interval"] == "45s"
        assert each["rules"][0]["args"][3:5] == ["4", "5"]


def test_the_expected_count_is_the_profiles() -> None:
    for name, count in (("v100", "8"), ("t4", "1"), ("mncore", "8")):
        assert told(osaka(), name, Fault.ACCELERATOR_MISSING)[:2] == ["/sys", count]


def test_without_a_command_the_bus_alone_is_asked() -> None:
    arguments = ["/sys", "8", "1e37", "1200", "0002"]
    assert told(osaka(), "mncore", Fault.ACCELERATOR_MISSING) == arguments


def test_a_command_is_run_on_the_host() -> None:
    assert told(osaka(), "v100", Fault.ACCELERATOR_MISSING)[5:] == [
        "20",
        HOST,
        "^GPU [0-9]+:",
        "9",
        "nvidia-smi",
        "-L",
    ]


def test_a_command_that_hangs_is_bad_and_may_take_what_the_model_says() -> None:
    made = osaka()
    record = made.accelerators["mncore2"]
    health = Health(command=["/opt/status", "--all"], root="/opt/boards", timeout_seconds=90)
    models = {**made.accelerators, "mncore2": record.model_copy(update={"health": health})}
    made = replace(made, accelerators=models)
    (rule,) = monitors(made, "mncore")["accelerator-missing.json"]["rules"]
    assert rule["args"][5:7] == [str(90 + KILL_SECONDS), "1"]
    arguments = told(made, "mncore", Fault.ACCELERATOR_MISSING)
    assert arguments[5:] == ["90", f"{HOST}/opt/boards", ".", "", "/opt/status", "--all"]
    others = monitors(made, "mncore")["disk-full.json"]["rules"][0]
    assert others["args"][5:7] == [str(SECONDS), "2"]


@pytest.mark.parametrize(
    ("drivers", "root"), [(True, f"{HOST}{DRIVER_ROOT}"), (False, HOST)], ids=["operator", "image"]
)
def test_the_tools_are_where_the_driver_is(drivers: bool, root: str) -> None:
    made = with_detector(accelerator_sites.operated_by(drivers=drivers))
    assert told(made, "v100", Fault.ACCELERATOR_MISSING)[6] == root


def test_errors_by_class() -> None:
    made = osaka(xids=Xids(reboot=[79, 120], watch=[48, 79]).model_dump())
    assert told(made, "v100", Fault.ACCELERATOR_ERROR)[-1] == "79,120"
    log = json.loads(configuration(made, "v100")[kernellog.FILE])
    reasons = [each["reason"] for each in log["rules"]]
    assert [each for each in reasons if each.startswith("Xid")] == ["Xid48", "Xid79", "Xid120"]
    assert "Xid" not in configuration(made, "mncore")[kernellog.FILE]


@pytest.mark.parametrize("name", SITES)
def test_the_kernels_log_sets_no_condition(name: str) -> None:
    for site, of in of_each_pool(name):
        log = json.loads(configuration(site, of)[kernellog.FILE])
        assert log["conditions"] == []
        assert {each["type"] for each in log["rules"]} == {"temporary"}


def test_hosts_with_nvidias_runtime_are_asked_whom_it_obeys() -> None:
    made = accelerator_sites.site()
    found = {pool.name: devicechoice.files(made, pool) for pool in made.file.pools}
    assert {name for name, texts in found.items() if texts} == {"v100", "h100", "t4"}
    (rule,) = json.loads(found["v100"][devicechoice.FILE])["rules"]
    assert (rule["type"], rule["args"]) == ("temporary", ["1", f"/host{devicechoice.CONFIG}"])
    operated = accelerator_sites.operated_by()
    (v100,) = (each for each in operated.file.pools if each.name == "v100")
    (rule,) = json.loads(devicechoice.files(operated, v100)[devicechoice.FILE])["rules"]
    assert rule["args"] == ["2", f"/host{devicechoice.OPERATOR_CONFIG}"]
