"""Real schedulers with the configuration, the rights and the canary that a site's objects give
them: what they bind, what wakes a gang, and what a standby does."""

import json
import os
import signal
import subprocess
from collections.abc import Iterator
from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest
import yaml

from components.making.gang import POSITION, key
from components.making.manifest import Json
from schemas.kubernetes.node_labels import TEAM_LABEL
from tests.kit.go_programs import given
from tests.kit.scheduling_site import GANG_SCHEDULER, THROTTLED_SCHEDULER, by_name
from tests.kit.scheduling_world import (
    GANGS,
    HOSTS,
    PPROF,
    REPLICAS,
    SPACE,
    Running,
    eventually,
    schedulers_running,
)
from tests.kit.twin.cluster import RUN_FOR
from tests.kit.twin.cluster.held import hold_ports
from tests.kit.twin.pods import gang, pod

pytestmark = [pytest.mark.scheduling, pytest.mark.proof]
EVERYWHERE = [{"operator": "Exists"}]
WHOLE = {"nvidia.com/gpu": "8"}


@pytest.fixture(scope="module")
def here(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    with schedulers_running(tmp_path_factory.mktemp("schedulers")) as found:
        yield found


@pytest.fixture
def space(here: Running) -> Iterator[str]:
    """A namespace of a team: the policies judge what is made there."""
    name = here.world.t.namespace("team")
    label = {"metadata": {"labels": {TEAM_LABEL: "vision"}}}
    path = f"/api/v1/namespaces/{name}"
    here.world.t.client.request("PATCH", path, label, "application/merge-patch+json")
    yield name
    here.world.clear(name)


def canary_job(here: Running, name: str) -> Json:
    """A run of the canary as its CronJob makes it; KWOK is told how long ``sleep`` takes."""
    template = deepcopy(by_name(here.site)[f"CronJob/{GANG_SCHEDULER}"].body["spec"]["jobTemplate"])
    pods = template["spec"]["template"]
    (container,) = pods["spec"]["containers"]
    assert container["command"][0] == "sleep"
    pods["metadata"]["annotations"] = {RUN_FOR: f"{container['command'][1]}s"}
    metadata = {**template["metadata"], "name": name, "namespace": SPACE}
    return {"apiVersion": "batch/v1", "kind": "Job", "metadata": metadata, "spec": template["spec"]}


def finished(here: Running, run: Json) -> None:
    """Wait until all pods of a Job have passed, and take it away."""
    name, client = run["metadata"]["name"], here.world.t.client

    def succeeded() -> bool:
        found = client.get("batch/v1", "Job", name, SPACE)
        wanted: int = run["spec"]["completions"]
        return found is not None and found["status"].get("succeeded") == wanted

    try:
        eventually("the canary's end", succeeded, run["spec"]["activeDeadlineSeconds"])
    finally:
        client.delete("batch/v1", "Job", name, SPACE)


def bound(here: Running, namespace: str, count: int, **labels: str) -> None:
    """Wait until so many pods are bound."""
    watch = here.world.watch
    watch.until(f"{count} pods", lambda: len(watch.bound(namespace, **labels)) == count)


def start(here: Running, namespace: str, name: str, size: int) -> None:
    """Start a gang, with a canary of the test's own."""
    watch = here.world.watch
    there = len(watch.bound(namespace))
    here.world.run(gang(name, namespace, size, GANGS, scheduler=GANG_SCHEDULER))
    here.world.jostle(
        GANG_SCHEDULER, f"gang {name}", lambda: len(watch.bound(namespace)) == there + size
    )


def test_replicas_run_apart_on_the_control_plane(here: Running) -> None:
    """Pods that the Deployments' controller made and the default scheduler placed; Pod Security
    has looked at them."""
    for backend in (GANG_SCHEDULER, THROTTLED_SCHEDULER):
        label = {"app.kubernetes.io/instance": backend}
        bound(here, SPACE, 2, **label)
        assert len(set(here.world.watch.bound(SPACE, **label).values())) == 2
    assert here.pools(SPACE) == {"control"}


def test_a_gang_waits_for_the_canary_and_starts_with_it(here: Running, space: str) -> None:
    watch = here.world.watch
    here.world.run(gang("job", space, 6, GANGS, scheduler=GANG_SCHEDULER, requests=WHOLE))
    position = key(GANGS, POSITION)

    def parked() -> bool:
        said = [each["metadata"]["annotations"].get(position) for each in watch.pods(space)]
        return said == ["ReadyToSchedule"] * 6

    watch.until("a parked gang", parked)
    assert watch.binds(space) == []
    run = canary_job(here, "canary-once")
    here.world.t.create([run])
    bound(here, space, 6)
    assert here.pools(space) <= {"v100", "h100"}
    finished(here, run)


def test_a_canary_passes_on_whichever_pool_has_room(here: Running) -> None:
    """With one pool shut on the other, whose taint it tolerates."""
    shut = [host.name for host in here.site.by_pool["v100"]]
    shut = [name for name in shut if name in here.world.watch.ready_nodes()]
    run = canary_job(here, "canary-elsewhere")
    for name in shut:
        here.world.cordon(name)
    try:
        here.world.t.create([run])
        finished(here, run)
    finally:
        for name in shut:
            here.world.cordon(name, on=False)
    binds = here.world.watch.binds(SPACE)
    nodes = {each.node for each in binds if each.pod.startswith("canary-elsewhere")}
    assert here.pools_of(nodes) == {"h100"}


def test_two_schedulers_stay_out_of_each_others_pools(here: Running, space: str) -> None:
    """Though their pods would fit, and name no pool."""
    for backend, own in ((GANG_SCHEDULER, {"v100", "h100"}), (THROTTLED_SCHEDULER, {"a100"})):
        shape: Any = {"requests": {"nvidia.com/gpu": "1"}, "tolerations": EVERYWHERE}
        shape |= {"scheduler": backend, "labels": {"by": backend}}
        here.world.run(pod(f"{backend}-{number}", space, **shape) for number in range(50))
        bound(here, space, 50, by=backend)
        assert here.pools(space, by=backend) <= own


def test_a_full_pool_keeps_pods_waiting(here: Running, space: str) -> None:
    """Though the pools of the other scheduler are empty."""
    watch, room = here.world.watch, HOSTS["a100"]
    shape: Any = {"scheduler": THROTTLED_SCHEDULER, "requests": WHOLE, "tolerations": EVERYWHERE}
    here.world.run(pod(f"whole-{number}", space, **shape) for number in range(room + 1))
    bound(here, space, room)
    watch.until("a refusal", lambda: len(watch.refused(space)) == 1)
    assert here.pools(space) == {"a100"}


def test_a_standby_is_healthy_idle_and_not_ready(here: Running, space: str) -> None:
    """Why no probe asks for /readyz; and it writes no positions while another leads."""
    first = here.leader()
    (standby,) = set(REPLICAS) - {first}
    start(here, space, "job", 2)
    said = {path: here.answer(standby, path) for path in ("/livez", "/healthz", "/readyz")}
    assert said == {"/livez": 200, "/healthz": 200, "/readyz": 500}
    assert here.lock_health(first) == here.lock_health(standby) == 200
    assert "position updated" in here.world.t.log(first).read_text()
    assert "position updated" not in here.world.t.log(standby).read_text()


def test_when_the_leader_goes_the_standby_takes_over(here: Running, space: str) -> None:
    """Pods that are bound stay, and the gang that waited starts with the next canary."""
    start(here, space, "old", 2)
    here.world.run(gang("new", space, 2, GANGS, scheduler=GANG_SCHEDULER))
    first = here.leader()
    pid = here.world.t.pids()[first]
    assert pid
    os.kill(pid, signal.SIGTERM)
    (second,) = set(REPLICAS) - {first}
    eventually("another leader", lambda: here.answer(second, "/readyz") == 200)
    watch = here.world.watch
    here.world.jostle(GANG_SCHEDULER, "the new gang", lambda: len(watch.bound(space)) == 4)
    assert watch.deletions(space) == []


def test_nothing_that_the_schedulers_do_is_forbidden(here: Running, space: str) -> None:
    """Binding, positions, the end of a gang, leases, throttles: with their accounts' rights."""
    start(here, space, "job", 3)
    here.world.run([pod("single", space, scheduler=THROTTLED_SCHEDULER)])
    bound(here, space, 4)
    here.world.t.client.delete("v1", "Pod", "job-1", space)
    here.world.watch.until("the end", lambda: len(here.world.watch.pods(space)) == 1)
    for name in (*REPLICAS, THROTTLED_SCHEDULER):
        assert here.world.denied(name) == []


@pytest.mark.parametrize(
    ("binary", "backend"),
    [("kube-scheduler-gang", GANG_SCHEDULER), ("kube-throttler", THROTTLED_SCHEDULER)],
)
def test_a_scheduler_reads_the_configuration_as_it_is_meant(
    here: Running, tmp_path: Path, binary: str, backend: str
) -> None:
    """The configuration as the scheduler reads it, written down by itself: types and defaults are
    Kubernetes' own, and an unknown field is an error."""
    body = yaml.safe_load(by_name(here.site)[f"ConfigMap/{backend}"].body["data"]["config.yaml"])
    kubeconfig = str(here.world.t.kubeconfig)
    body["clientConnection"]["kubeconfig"] = kubeconfig
    for each in body["profiles"][0]["pluginConfig"]:
        # In a cluster it finds the API server by itself.
        each["args"] |= {"kubeconfig": kubeconfig} if each["name"] == "kube-throttler" else {}
    handed, taken = tmp_path / "handed.yaml", tmp_path / "taken.yaml"
    handed.write_text(json.dumps(body))
    command = [str(given(binary)), *(["kube-scheduler"] if binary == "kube-throttler" else [])]
    flags = [f"--config={handed}", f"--write-config-to={taken}", "--secure-port=0"]
    with hold_ports([PPROF]):
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
