"""Real schedulers with the configuration, the rights and the canary that a site's objects give
them: two replicas of the gang scheduler, and kube-throttler, on some hosts of tokyo-1."""

import http.client
import json
import os
import signal
import subprocess
import time
import urllib.request
from collections.abc import Callable, Iterator
from copy import deepcopy
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeVar

import pytest
import yaml

from components.gang import POSITION, key
from components.manifest import Json
from controlplane import ApiError
from controlplane.twin import RUN_FOR, Scheduler
from controlplane.twin.held import held
from controlplane.twin.process import Process
from controlplane.twin.schedulers import scheduler_program
from schemas.nodelabels import POOL_LABEL, TEAM_LABEL
from schemas.scheduling import Gang
from schemas.site import Site
from tests.scheduling_site import GANG, GANG_SCHEDULER, THROTTLED, THROTTLED_SCHEDULER, by_name, site
from tests.twin.pods import gang, pod
from tests.twin.world import CRDS, World
from tests.twin.world import world as running
from tools.toolchain import ToolchainError, locate
from tools.toolchain.given import find

T = TypeVar("T")
pytestmark = pytest.mark.scheduling
SPACE = "scheduling"
PPROF = 6060
REPLICAS = ("gang-scheduler-a", "gang-scheduler-b")
HOSTS = {"control": 3, "cpu": 4, "v100": 12, "a100": 10, "h100": 8}
"""How many hosts of each pool take part; two of v100 are spares."""
SHORT = {"timeout_seconds": 5, "jitter_seconds": 1}


def some(whole: Site) -> Site:
    """A site with the first hosts of each pool."""
    found = [host for pool, count in HOSTS.items() for host in whole.by_pool[pool][:count]]
    return replace(whole, hosts=tuple(found))


@pytest.fixture(scope="module")
def made() -> Site:
    from tests.scheduling_site import with_gang

    return some(site(with_gang(**SHORT), THROTTLED))


@pytest.fixture(scope="module")
def settings(made: Site) -> Gang:
    assert made.file.scheduling
    (gangs,) = [each.scheduler.gang for each in made.file.scheduling.backends
                if each.scheduler and each.scheduler.gang]
    return gangs


def program(name: str) -> Path:
    try:
        return find(name).path
    except ToolchainError as error:
        pytest.skip(str(error))


def schedulers(made: Site) -> list[Scheduler]:
    """The binaries with what the ConfigMaps say, each with the token of its account."""
    objects = by_name(made)

    def text(backend: str) -> str:
        content: str = objects[f"ConfigMap/{backend}"].body["data"]["config.yaml"]
        return content

    gangs = Scheduler(
        REPLICAS[0],
        program("kube-scheduler-gang"),
        text(GANG_SCHEDULER),
        account=(SPACE, GANG_SCHEDULER),
        plugin_args={"gang": {"healthCheckAddr": "{address}"}},
        elect=True,
        held_ports=(PPROF,),
    )
    throttled = Scheduler(
        THROTTLED_SCHEDULER,
        program("kube-throttler"),
        text(THROTTLED_SCHEDULER),
        command=("kube-scheduler",),
        account=(SPACE, THROTTLED_SCHEDULER),
        plugin_args={"kube-throttler": {"kubeconfig": "{kubeconfig}"}},
        elect=True,
    )
    return [gangs, throttled]


@pytest.fixture(scope="module")
def here(made: Site, tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    """The site with all of its schedulers' objects, but for the canary, which tests start."""
    bodies = [each.body for each in by_name(made).values() if each.kind != "CronJob"]
    directory = tmp_path_factory.mktemp("schedulers")
    parts: Any = {"schedulers": schedulers(made), "objects": bodies}
    with running(directory, made, tools=locate(["controlplane", "scheduling"]), **parts) as found:
        standby = second_replica(found, parts["schedulers"][0])
        try:
            yield found
        finally:
            standby.stop()


def second_replica(here: World, first: Scheduler) -> Process:
    """Another replica, with the first one's account; it counts as started before it is ready."""
    own = replace(first, name=REPLICAS[1])
    kubeconfig = here.t.directory / f"{first.name}.kubeconfig"
    program = scheduler_program(own, here.t.directory, kubeconfig, {})
    process = Process(replace(program, health="/livez"), here.t.directory)
    process.start()
    process.wait()
    here.t._processes[own.name] = process
    return process


@pytest.fixture
def space(here: World) -> Iterator[str]:
    name = here.t.namespace("team")
    label = {"metadata": {"labels": {TEAM_LABEL: "vision"}}}
    path = f"/api/v1/namespaces/{name}"
    here.t.client.request("PATCH", path, label, "application/merge-patch+json")
    yield name
    here.clear(name)


def canary_job(made: Site, name: str) -> Json:
    """A run of the canary as its CronJob makes it; KWOK is told how long ``sleep`` takes."""
    template = deepcopy(by_name(made)[f"CronJob/{GANG_SCHEDULER}"].body["spec"]["jobTemplate"])
    pods = template["spec"]["template"]
    (container,) = pods["spec"]["containers"]
    assert container["command"][0] == "sleep"
    pods["metadata"]["annotations"] = {RUN_FOR: f"{container['command'][1]}s"}
    metadata = {**template["metadata"], "name": name, "namespace": SPACE}
    return {"apiVersion": "batch/v1", "kind": "Job", "metadata": metadata, "spec": template["spec"]}


def leader(here: World) -> str:
    """The replica that holds the lease, once one does; its identity has the host's name alone,
    so the one whose caches are filled."""
    def ready() -> list[str]:
        return [name for name in REPLICAS if answer(here, name, "/readyz") == 200]

    (found,) = eventually("a leader", ready)
    return found


def eventually(what: str, done: Callable[[], T], seconds: float = 60.0) -> T:
    """What ``done()`` gives when it is true: of things that a watch of pods does not see."""
    deadline = time.monotonic() + seconds
    while not (found := done()):
        assert time.monotonic() < deadline, what
        time.sleep(0.2)
    return found


def answer(here: World, name: str, path: str) -> int:
    """What a scheduler's own port answers; 0 where nobody does."""
    client = here.t._processes[name]._client
    assert client
    try:
        client.request("GET", path)
    except ApiError as error:
        return error.status
    except (OSError, http.client.HTTPException):
        return 0
    return 200


def lock_health(here: World, name: str) -> int:
    """What the gang plugin's health says."""
    config = yaml.safe_load((here.t.directory / f"{name}.yaml").read_text())
    (arguments,) = [each["args"] for each in config["profiles"][0]["pluginConfig"]
                    if each["name"] == "gang"]
    with urllib.request.urlopen(
        f"http://{arguments['healthCheckAddr']}/gang-healthz", timeout=5
    ) as found:
        return int(found.status)


def pools_of(here: World, namespace: str) -> set[str]:
    labels = {each["metadata"]["name"]: each["metadata"]["labels"] for each in here.watch.nodes()}
    return {labels[node][POOL_LABEL] for node in here.watch.bound(namespace).values()}


def test_replicas_run_apart_on_the_control_plane(here: World) -> None:
    """Pods that the Deployments' controllers made, and the default scheduler placed; admission has
    looked at them, Pod Security and the policies too."""
    for backend in (GANG_SCHEDULER, THROTTLED_SCHEDULER):
        def bound(backend: str = backend) -> dict[str, str]:
            label = {"app.kubernetes.io/instance": backend}
            return here.watch.bound(SPACE, **label)

        here.watch.until(f"replicas of {backend}", lambda: len(bound()) == 2)
        nodes = set(bound().values())
        assert len(nodes) == 2
    assert pools_of(here, SPACE) == {"control"}


def test_a_gang_waits_for_the_canary_and_starts_with_it(
    here: World, made: Site, space: str, settings: Gang
) -> None:
    shape: Any = {"scheduler": GANG_SCHEDULER, "requests": {"nvidia.com/gpu": "8"}}
    here.run(gang("job", space, 6, settings, **shape))
    position = key(settings, POSITION)

    def parked() -> bool:
        pods = here.watch.pods(space)
        return all(
            each["metadata"]["annotations"].get(position) == "ReadyToSchedule" for each in pods
        )

    here.watch.until("a parked gang", parked)
    assert here.watch.binds(space) == []
    run = canary_job(made, "canary-once")
    here.t.create([run])
    here.watch.until("the gang", lambda: len(here.watch.bound(space)) == 6)
    assert pools_of(here, space) <= {"v100", "h100"}
    finished(here, run)


def finished(here: World, run: Json) -> None:
    """Wait until all pods of a Job have passed, and take it away."""
    name = run["metadata"]["name"]

    def succeeded() -> bool:
        found = here.t.client.get("batch/v1", "Job", name, SPACE)
        wanted: int = run["spec"]["completions"]
        return found is not None and found["status"].get("succeeded") == wanted

    try:
        eventually("the canary's end", succeeded, 90)
    finally:
        here.t.client.delete("batch/v1", "Job", name, SPACE)


def test_a_canary_passes_every_pool_and_no_other(here: World, made: Site) -> None:
    """With one pool shut, on the other, whose taint it tolerates."""
    names = [f"{POOL_LABEL}=v100"]
    shut = [
        each["metadata"]["name"]
        for each in here.watch.nodes()
        if f"{POOL_LABEL}={each['metadata']['labels'][POOL_LABEL]}" in names
    ]
    run = canary_job(made, "canary-elsewhere")
    for name in shut:
        here.cordon(name)
    try:
        here.t.create([run])
        finished(here, run)
        canaries = {bind.node for bind in here.watch.binds(SPACE)
                    if bind.pod.startswith("canary-elsewhere")}
    finally:
        for name in shut:
            here.cordon(name, on=False)
    labels = {each["metadata"]["name"]: each["metadata"]["labels"] for each in here.watch.nodes()}
    assert {labels[node][POOL_LABEL] for node in canaries} == {"h100"}


def test_two_schedulers_stay_out_of_each_others_pools(here: World, space: str) -> None:
    """Pods that would fit anywhere but on the other's nodes."""
    for backend, own in ((GANG_SCHEDULER, {"v100", "h100"}), (THROTTLED_SCHEDULER, {"a100"})):
        tolerant: Any = {"tolerations": [{"operator": "Exists"}]}
        size: Any = {"requests": {"nvidia.com/gpu": "1"}}
        pods = [
            pod(f"{backend}-{number}", space, scheduler=backend, labels={"by": backend},
                **size, **tolerant)
            for number in range(50)
        ]
        here.run(pods)
        here.watch.until(
            f"50 pods of {backend}",
            lambda backend=backend: len(here.watch.bound(space, by=backend)) == 50,
        )
        labels = {
            each["metadata"]["name"]: each["metadata"]["labels"] for each in here.watch.nodes()
        }
        nodes = here.watch.bound(space, by=backend).values()
        assert {labels[node][POOL_LABEL] for node in nodes} <= own


def test_a_full_pool_keeps_pods_waiting(here: World, space: str) -> None:
    """Though the pools of the other scheduler are empty."""
    pods = [
        pod(f"whole-{number}", space, scheduler=THROTTLED_SCHEDULER,
            requests={"nvidia.com/gpu": "8"}, tolerations=[{"operator": "Exists"}])
        for number in range(HOSTS["a100"] + 1)
    ]
    here.run(pods)
    here.watch.until("a refusal", lambda: len(here.watch.refused(space)) == 1)
    assert len(here.watch.bound(space)) == HOSTS["a100"]


def test_a_standby_is_healthy_idle_and_not_ready(here: World, space: str, settings: Gang) -> None:
    """Why no probe asks for /readyz; and it writes no positions while another leads."""
    first = leader(here)
    (standby,) = [name for name in REPLICAS if name != first]
    here.run(gang("job", space, 2, settings, scheduler=GANG_SCHEDULER))
    here.jostle(GANG_SCHEDULER, "the gang", lambda: len(here.watch.bound(space)) == 2)
    assert {path: answer(here, standby, path) for path in ("/livez", "/healthz", "/readyz")} == {
        "/livez": 200, "/healthz": 200, "/readyz": 500,
    }
    assert lock_health(here, first) == lock_health(here, standby) == 200
    assert "position updated" in here.t.log(first).read_text()
    assert "position updated" not in here.t.log(standby).read_text()


def test_when_the_leader_goes_the_standby_takes_over(
    here: World, space: str, settings: Gang
) -> None:
    """Pods that are bound stay, and the gang that waited starts with the next canary."""
    here.run(gang("old", space, 2, settings, scheduler=GANG_SCHEDULER))
    here.jostle(GANG_SCHEDULER, "the old gang", lambda: len(here.watch.bound(space)) == 2)
    here.run(gang("new", space, 2, settings, scheduler=GANG_SCHEDULER))
    first = leader(here)
    pid = here.t.pids()[first]
    assert pid
    os.kill(pid, signal.SIGTERM)
    (second,) = [name for name in REPLICAS if name != first]
    eventually("another leader", lambda: answer(here, second, "/readyz") == 200)
    here.jostle(GANG_SCHEDULER, "the new gang", lambda: len(here.watch.bound(space)) == 4)
    assert here.watch.deletions(space) == []


def test_nothing_that_the_schedulers_do_is_forbidden(
    here: World, space: str, settings: Gang
) -> None:
    """Binding, positions, the end of a gang, leases, throttles: with their accounts' rights."""
    here.run(gang("job", space, 3, settings, scheduler=GANG_SCHEDULER))
    here.run([pod("single", space, scheduler=THROTTLED_SCHEDULER)])
    here.jostle(GANG_SCHEDULER, "the gang", lambda: len(here.watch.bound(space)) == 4)
    here.t.client.delete("v1", "Pod", "job-1", space)
    here.watch.until("the gang's end", lambda: len(here.watch.pods(space)) == 1)
    for name in (*REPLICAS, THROTTLED_SCHEDULER):
        assert here.denied(name) == []


@pytest.mark.parametrize(
    ("binary", "backend"),
    [("kube-scheduler-gang", GANG_SCHEDULER), ("kube-throttler", THROTTLED_SCHEDULER)],
)
def test_a_scheduler_reads_the_configuration_as_it_is_meant(
    here: World, made: Site, tmp_path: Path, binary: str, backend: str
) -> None:
    """What it takes the file for, written down by itself: types and defaults are Kubernetes' own,
    and a field that it does not know is an error."""
    body = yaml.safe_load(by_name(made)[f"ConfigMap/{backend}"].body["data"]["config.yaml"])
    kubeconfig = str(here.t.kubeconfig)
    body["clientConnection"]["kubeconfig"] = kubeconfig
    for each in body["profiles"][0]["pluginConfig"]:
        # In a cluster it finds the API server by itself.
        each["args"] |= {"kubeconfig": kubeconfig} if each["name"] == "kube-throttler" else {}
    given, taken = tmp_path / "given.yaml", tmp_path / "taken.yaml"
    given.write_text(json.dumps(body))
    command = [str(program(binary)), *(["kube-scheduler"] if binary == "kube-throttler" else [])]
    flags = [f"--config={given}", f"--write-config-to={taken}", "--secure-port=0"]
    with held([PPROF]):
        subprocess.run([*command, *flags], check=True, timeout=60, capture_output=True)
    found = yaml.safe_load(taken.read_text())
    (profile,) = found["profiles"]
    arguments = {each["name"]: each["args"] for each in profile["pluginConfig"]}
    for each in body["profiles"][0]["pluginConfig"]:
        assert each["args"].items() <= arguments[each["name"]].items()
    assert found["leaderElection"]["resourceName"] == backend
    assert found["delayCacheUntilActive"] is True
    enabled = {each["name"] for each in profile["plugins"]["multiPoint"]["enabled"]}
    assert {"DefaultPreemption", "NodeResourcesFit"} < enabled
