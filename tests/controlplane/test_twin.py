"""The twin: real schedulers bind real pods to a site's simulated nodes."""

import dataclasses
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from components.making.gang import POSITION, key
from controlplane import ControlPlaneError
from tests.kit.repository import ROOT
from tests.kit.twin.cluster import DOWN, Scheduler
from tests.kit.twin.cluster.schedulers import PLAIN_CONFIG
from tests.kit.twin.pods import gang, on, pod
from tests.kit.twin.schedulers import GANG, SETTINGS
from tests.kit.twin.world import World
from tools.toolchain import locate

pytestmark = pytest.mark.scheduling
WHOLE = {"nvidia.com/gpu": "8"}
"""Requests of a pod that has a node's accelerators to itself."""


@pytest.fixture
def namespace(world: World) -> Iterator[str]:
    name = world.t.namespace()
    yield name
    world.clear(name)


@pytest.fixture
def eight(world: World) -> list[str]:
    """Nodes with eight GPUs each."""
    pool = next(each for each in world.site.file.pools if each.name == "v100")
    return [host.name for host in world.site.hosts_of(pool)[:8]]


def test_every_machine_of_the_site_is_a_node_that_is_ready(world: World) -> None:
    pools = world.site.file.pools
    hosts, spares = len(world.site.hosts), sum(pool.spares for pool in pools)
    assert (hosts, spares) == (400, 2), "the site has changed; no pool with spares is by_zone"
    assert len(world.watch.ready_nodes()) == hosts - spares


def test_a_gang_is_bound_whole(world: World, namespace: str, eight: list[str]) -> None:
    world.needs(GANG)
    world.run(gang("job", namespace, 8, scheduler=GANG, affinity=on(*eight), requests=WHOLE))
    world.jostle(GANG, "the gang", lambda: len(world.watch.bound(namespace)) == 8)
    assert set(world.watch.bound(namespace).values()) == set(eight)


def test_no_pod_of_a_gang_is_bound_until_all_fit(
    world: World, namespace: str, eight: list[str]
) -> None:
    world.needs(GANG)
    world.cordon(eight[0])
    try:
        world.run(gang("job", namespace, 8, scheduler=GANG, affinity=on(*eight), requests=WHOLE))
        world.jostle(GANG, "a try", lambda: len(world.watch.refused(namespace)) == 8)
        bound = world.watch.binds(namespace)
    finally:
        world.cordon(eight[0], on=False)
    assert bound == []
    world.jostle(GANG, "the gang", lambda: len(world.watch.bound(namespace)) == 8)


def test_a_gang_goes_when_one_of_it_goes(world: World, namespace: str) -> None:
    world.needs(GANG)
    world.run(gang("job", namespace, 4, scheduler=GANG))
    world.jostle(GANG, "the gang", lambda: len(world.watch.bound(namespace)) == 4)
    world.t.client.delete("v1", "Pod", "job-2", namespace)
    world.watch.until("the end of the gang", lambda: not world.watch.pods(namespace))


def test_a_scheduler_has_the_rights_of_its_account(world: World, namespace: str) -> None:
    """Its position is what the gang scheduler may write by a right beyond those of others."""
    world.needs(GANG)
    world.run(gang("job", namespace, 2, scheduler=GANG))
    position = key(SETTINGS, POSITION)

    def written() -> bool:
        pods = world.watch.pods(namespace)
        return all(position in body["metadata"]["annotations"] for body in pods)

    world.jostle(GANG, "positions", written)
    assert world.denied(GANG) == []


@pytest.mark.parametrize(("code", "phase"), [(0, "Succeeded"), (7, "Failed")])
def test_a_pod_ends_as_its_annotations_say(
    world: World, namespace: str, code: int, phase: str
) -> None:
    ending = pod("ending", namespace, run_for="1s", exit_code=code)
    world.run([ending, pod("lasting", namespace)])

    def phases() -> dict[str, str]:
        return {each["metadata"]["name"]: each["status"]["phase"] for each in pods()}

    def pods() -> list[dict[str, Any]]:
        return world.watch.pods(namespace)

    expected = {"ending": phase, "lasting": "Running"}
    world.watch.until("the end of the pod", lambda: phases() == expected)
    ended = next(each for each in pods() if each["metadata"]["name"] == "ending")
    assert ended["status"]["containerStatuses"][0]["state"]["terminated"]["exitCode"] == code


def test_a_node_that_is_down_stays_so(world: World, eight: list[str]) -> None:
    name = eight[0]
    broken = {"type": "Ready", "status": "False", "reason": "Broken"}
    change(world, f"/api/v1/nodes/{name}", {"metadata": {"annotations": {DOWN: ""}}})
    try:
        change(world, f"/api/v1/nodes/{name}/status", {"status": {"conditions": [broken]}})
        world.watch.until("the node to go", lambda: name not in world.watch.ready_nodes())
    finally:
        change(world, f"/api/v1/nodes/{name}", {"metadata": {"annotations": {DOWN: None}}})
    world.watch.until("the node to come back", lambda: name in world.watch.ready_nodes())


def test_a_wait_that_fails_says_what_the_scheduler_says(world: World, namespace: str) -> None:
    world.run([pod("large", namespace, requests={"cpu": "1000"})])
    world.watch.until("a try", lambda: world.watch.refused(namespace))
    with pytest.raises(TimeoutError, match=r"large: Unschedulable: .*Insufficient cpu"):
        world.watch.until("a wonder", lambda: world.watch.bound(namespace), seconds=0)


def change(world: World, path: str, patch: dict[str, Any]) -> None:
    world.t.client.request("PATCH", path, patch, "application/strategic-merge-patch+json")


# Its programs


def test_all_of_it_listens_on_the_loopback_alone(world: World) -> None:
    sockets = {name: listening(pid) for name, pid in world.t.pids().items() if pid}
    addresses = {(name, each) for name, found in sockets.items() for each in found}
    assert len(addresses) >= len(sockets) - 1, "all but etcd, which has a socket in its directory"
    assert {each for each in addresses if each[1] != LOOPBACK} == set()


LOOPBACK = "0100007F"
"""127.0.0.1 as /proc/net/tcp has it (proc_net_tcp(5))."""


def listening(pid: int) -> set[str]:
    """The addresses that a process listens on, in hexadecimal."""
    mine = {str(each.readlink()) for each in Path(f"/proc/{pid}/fd").iterdir()}
    rows = [
        line.split()
        for name in ("tcp", "tcp6")
        for line in Path(f"/proc/{pid}/net/{name}").read_text().splitlines()[1:]
    ]
    return {
        row[1].partition(":")[0] for row in rows if row[3] == "0A" and f"socket:[{row[9]}]" in mine
    }


def test_a_replica_waits_until_the_leader_goes(world: World, namespace: str) -> None:
    config = {**PLAIN_CONFIG, "leaderElection": {"resourceName": "replicas"}}
    config["delayCacheUntilActive"] = True  # as in components/schedulers/configuration.yaml
    config["profiles"] = [{"schedulerName": "replicated"}]
    binary = locate(["scheduling"])["kube-scheduler"].path
    first, second = (Scheduler(name, binary, config, elect=True) for name in ("first", "second"))
    world.t.start(first)
    world.t.start(dataclasses.replace(second, health="/livez"))
    try:
        assert world.t.answer("second", "/readyz") != 200, "its caches are empty until it leads"
        world.t.stop("first")
        world.run([pod("late", namespace, scheduler="replicated")])
        world.watch.until("the replica", lambda: world.watch.bound(namespace))
    finally:
        world.t.stop("second")


def test_a_scheduler_that_cannot_start_is_an_error_with_its_last_words(world: World) -> None:
    binary = locate(["scheduling"])["kube-scheduler"].path
    plugins = {"multiPoint": {"enabled": [{"name": "unheard-of"}]}}
    wrong = {**PLAIN_CONFIG, "profiles": [{"plugins": plugins}]}
    with pytest.raises(ControlPlaneError, match="wrong ended while it was starting") as caught:
        world.t.start(Scheduler("wrong", binary, wrong))
    assert "unheard-of" in caught.value.details
    world.t.check()


@pytest.mark.parametrize("name", ["kube-scheduler", "etcd"])
def test_a_name_that_is_taken_is_an_error(world: World, name: str) -> None:
    with pytest.raises(ControlPlaneError, match=f"two programs are called {name}"):
        world.t.start(Scheduler(name, Path("/bin/true"), PLAIN_CONFIG))
    world.t.check()


def test_an_account_that_does_not_exist_is_an_error(world: World) -> None:
    absent = Scheduler("nobody", Path("/bin/true"), PLAIN_CONFIG, account=("default", "nobody"))
    with pytest.raises(ControlPlaneError, match="default/nobody") as caught:
        world.t.start(absent)
    assert "ServiceAccount" in caught.value.fix


def test_a_program_that_has_ended_is_told_and_can_be_started_again(world: World) -> None:
    binary = locate(["scheduling"])["kube-scheduler"].path
    world.t.start(Scheduler("short-lived", binary, PLAIN_CONFIG))
    pid = world.t.pids()["short-lived"]
    assert pid
    os.kill(pid, signal.SIGKILL)
    wait_for_the_end([pid])
    try:
        with pytest.raises(ControlPlaneError, match="short-lived has ended"):
            world.t.check()
        world.t.revive("short-lived")
        assert world.t.answer("short-lived", "/readyz") == 200
        world.t.check()
    finally:
        world.t.stop("short-lived")


STARTED = """
import sys, time
from pathlib import Path
from tests.kit.twin.cluster import twin
with twin(Path(sys.argv[1])) as t:
    print(*t.pids().values(), flush=True)
    time.sleep(600)
"""


def test_no_program_outlives_a_killed_test(tmp_path: Path) -> None:
    command = [sys.executable, "-c", STARTED, str(tmp_path / "twin")]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout
        pids = [int(pid) for pid in process.stdout.readline().split()]
        assert len(pids) == 5 and all(map(runs, pids))
        process.send_signal(signal.SIGKILL)
    wait_for_the_end(pids)


def wait_for_the_end(pids: list[int]) -> None:
    deadline = time.monotonic() + 30
    while any(map(runs, pids)) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert [pid for pid in pids if runs(pid)] == []


def runs(pid: int) -> bool:
    """True if a process runs; one that nobody has collected yet does not."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text()
    except FileNotFoundError:
        return False
    return stat.rpartition(")")[2].split()[0] != "Z"
