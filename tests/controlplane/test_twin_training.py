"""Jobs as ``foresite job`` writes them, on a control plane with the real Job controller, the real
gang scheduler as the site configures it, and the admission of the site's accelerators.

Nodes are simulated. A pod that is deleted ends as a kubelet ends it: first its status says Failed
with the exit code of its container, then it goes once its finalizers are gone. The code is that of
the script that runs every command (tests/components/training/test_script.py has it in a real
shell).
"""

import contextlib
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from components.accelerators.objects import objects as accelerators
from components.making.manifest import Json
from components.schedulers.configuration import configuration
from components.schedulers.objects import objects as schedulers
from components.teams.recorder import ANNOTATION
from components.training.request import JobRequest, Template
from components.training.stopping import STOPPED
from schemas.facts.site import Site
from tests.kit.accelerator_pods import in_force, namespaces
from tests.kit.disruption_recorder import recording
from tests.kit.go_programs import given
from tests.kit.repository import all_sites
from tests.kit.scheduling_site import GANG, GANG_SCHEDULER, with_gang
from tests.kit.scheduling_site import site as scheduled
from tests.kit.scheduling_world import eventually
from tests.kit.training_pods import expanded
from tests.kit.training_site import IMAGE, made
from tests.kit.twin.cluster import EXIT_CODE, RUN_FOR, Scheduler, kwok
from tests.kit.twin.pods import on, pod
from tests.kit.twin.world import World
from tests.kit.twin.world import world as running
from tools.toolchain import locate

pytestmark = [pytest.mark.scheduling, pytest.mark.slow, pytest.mark.proof]
MODEL, DEVICE = "v100-sxm2-32gb", "nvidia.com/gpu"
NODES = 5
"""Machines with the model, of eight accelerators each."""
PPROF = 6060
HIGH: Json = {
    "apiVersion": "scheduling.k8s.io/v1",
    "kind": "PriorityClass",
    "metadata": {"name": "high"},
    "value": 1000,
}
STOPPING = f"""
apiVersion: kwok.x-k8s.io/v1alpha1
kind: Stage
metadata: {{name: pod-stopped}}
spec:
  resourceRef: {{apiGroup: v1, kind: Pod}}
  selector:
    matchExpressions:
      - {{key: .metadata.deletionTimestamp, operator: Exists}}
      - {{key: .status.phase, operator: In, values: [Running]}}
  next:
    statusTemplate: |
      {{{{ $now := Now }}}}
      {{{{ $started := .status.startTime }}}}
      phase: Failed
      conditions:
      - type: Ready
        status: "False"
        lastTransitionTime: {{{{ $now | Quote }}}}
      containerStatuses:
      {{{{ range .spec.containers }}}}
      - name: {{{{ .name | Quote }}}}
        image: {{{{ .image | Quote }}}}
        imageID: ""
        restartCount: 0
        ready: false
        started: false
        state:
          terminated:
            exitCode: {STOPPED}
            reason: Error
            startedAt: {{{{ $started | Quote }}}}
            finishedAt: {{{{ $now | Quote }}}}
      {{{{ end }}}}
---
apiVersion: kwok.x-k8s.io/v1alpha1
kind: Stage
metadata: {{name: pod-gone}}
spec:
  resourceRef: {{apiGroup: v1, kind: Pod}}
  selector:
    matchExpressions:
      - {{key: .metadata.deletionTimestamp, operator: Exists}}
      - {{key: .status.phase, operator: NotIn, values: [Running]}}
  next: {{delete: true}}
"""
"""Instead of the twin's own last stage, in which a deleted pod is gone at once."""


def site() -> Site:
    """tokyo-1 with few hosts and a gang scheduler, without teams."""
    whole = scheduled(with_gang(GANG, timeout_seconds=5, jitter_seconds=1))
    counts = {"control": 1, "cpu": 2, "v100": NODES, "h100": 1}
    found = [host for pool, count in counts.items() for host in whole.by_pool[pool][:count]]
    pools = [each.model_copy(update={"spares": 0}) for each in whole.file.pools]
    return replace(whole, hosts=tuple(found), file=whole.file.model_copy(update={"pools": pools}))


def scheduler(here: Site) -> Scheduler:
    """The site's gang scheduler, with the site's own configuration."""
    section = here.file.scheduling
    assert section is not None
    (backend,) = section.backends
    assert backend.scheduler is not None
    return Scheduler(
        GANG_SCHEDULER,
        given("kube-scheduler-gang"),
        configuration(here, backend, backend.scheduler),
        account=(section.namespace, GANG_SCHEDULER),
        plugin_args={"gang": {"healthCheckAddr": "{address}"}},
        held_ports=(PPROF,),
    )


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    here, folder = site(), tmp_path_factory.mktemp("training")
    policies = ("RuntimeClass", "AdmissionPolicy", "AdmissionPolicyBinding")
    objects = [
        *(each.body for each in schedulers(here) if each.kind not in ("CronJob", "Deployment")),
        *(each.body for each in accelerators(here) if each.kind.endswith(policies)),
        HIGH,
    ]
    parts: Any = {
        "schedulers": [scheduler(here)],
        "objects": objects,
        "crds": [],
        "tools": locate(["controlplane", "scheduling"]),
    }
    with stages(folder), running(folder / "twin", here, **parts) as world:
        namespaces(world.t.client)
        in_force(world.t.client, here.resource("v100-sxm2-32gb"), schedulerName=GANG_SCHEDULER)
        yield world


@contextlib.contextmanager
def stages(folder: Path) -> Iterator[None]:
    """Simulated nodes that end pods as a kubelet does."""
    own, _, last = kwok.STAGES.read_text("utf-8").rpartition("\n---\n")
    assert "name: pod-gone" in last
    path = folder / "stages.yaml"
    path.write_text(f"{own}\n---\n{STOPPING}", "utf-8")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(kwok, "STAGES", path)
        yield


@pytest.fixture
def namespace(cluster: World) -> Iterator[str]:
    name = cluster.t.namespace()
    yield name
    # First the Job: it holds on to its pods until others take their places, which none can in a
    # namespace that goes.
    cluster.t.client.delete("batch/v1", "Job", "train", name)
    cluster.clear(name)


def wanted(namespace: str, template: Template = Template.ALL_REDUCE, **said: Any) -> JobRequest:
    """A job on all machines with the model."""
    fields: dict[str, Any] = {"model": MODEL, "workers": NODES, "image": IMAGE, "name": "train"}
    return JobRequest(
        template, namespace=namespace, command=("python", "train.py"), **{**fields, **said}
    )


def start(cluster: World, request: JobRequest) -> None:
    """Make a job's objects, and wait for its pods."""
    for body in made(cluster.site, request):
        cluster.t.client.create(body)
    assert request.namespace
    waiting(cluster, request.namespace, request.workers)


def waiting(cluster: World, namespace: str, count: int, seconds: float = 120) -> None:
    """Wait until a namespace has so many pods that have not ended and are not about to."""
    cluster.watch.until("pods", lambda: len(alive(cluster, namespace)) == count, seconds)


def alive(cluster: World, namespace: str) -> dict[str, Json]:
    """The pods that have not ended and are not about to, by their uids."""
    return {
        each["metadata"]["uid"]: each
        for each in cluster.watch.pods(namespace)
        if "deletionTimestamp" not in each["metadata"]
        and each["status"].get("phase") not in ("Succeeded", "Failed")
    }


def bound(cluster: World, namespace: str) -> list[str]:
    """The nodes of the pods that live."""
    pods = alive(cluster, namespace).values()
    return [each["spec"]["nodeName"] for each in pods if "nodeName" in each["spec"]]


def whole(cluster: World, namespace: str, count: int = NODES) -> set[str]:
    """Wait until all pods of a job run, each on a machine of its own; their uids."""
    what = "the whole job"
    cluster.jostle(
        GANG_SCHEDULER, what, lambda: len(bound(cluster, namespace)) == count, seconds=120
    )
    assert len(set(bound(cluster, namespace))) == count
    cluster.watch.until(what, lambda: len(running_pods(cluster, namespace)) == count)
    return running_pods(cluster, namespace)


def running_pods(cluster: World, namespace: str) -> set[str]:
    pods = alive(cluster, namespace)
    return {uid for uid, each in pods.items() if each["status"].get("phase") == "Running"}


def conditions(cluster: World, namespace: str) -> set[str]:
    """The conditions that the Job controller sets on the job."""
    job = cluster.t.client.get("batch/v1", "Job", "train", namespace)
    assert job is not None
    found = job.get("status", {}).get("conditions", [])
    return {each["type"] for each in found if each["status"] == "True"}


def some_pod(cluster: World, namespace: str) -> str:
    name: str = next(iter(alive(cluster, namespace).values()))["metadata"]["name"]
    return name


def test_a_job_starts_whole_or_not_at_all(cluster: World, namespace: str) -> None:
    node = next(
        each["metadata"]["name"]
        for each in cluster.watch.nodes()
        if DEVICE in each["status"]["capacity"]
        and each["metadata"]["labels"]["node.cluster.x-k8s.io/accelerator"] == MODEL
    )
    cluster.cordon(node)
    try:
        start(cluster, wanted(namespace))
        refused = cluster.watch.refused
        cluster.jostle(GANG_SCHEDULER, "a try", lambda: len(refused(namespace)) == NODES)
        assert bound(cluster, namespace) == []
    finally:
        cluster.cordon(node, on=False)
    whole(cluster, namespace)
    for each in alive(cluster, namespace).values():
        (box,) = each["spec"]["containers"]
        # What the site's admission adds: without it no pod would have found a node.
        assert box["resources"]["limits"][DEVICE] == "8"


def test_a_job_that_loses_a_pod_comes_back_whole(cluster: World, namespace: str) -> None:
    start(cluster, wanted(namespace))
    first = whole(cluster, namespace)
    cluster.t.client.delete("v1", "Pod", some_pod(cluster, namespace), namespace)
    cluster.watch.until("the end of the gang", lambda: not first & running_pods(cluster, namespace))
    waiting(cluster, namespace, NODES)
    second = whole(cluster, namespace)
    assert not first & second
    assert conditions(cluster, namespace) == set()
    job = cluster.t.client.get("batch/v1", "Job", "train", namespace)
    assert job is not None
    # Pods that were stopped are none that failed.
    assert job["status"].get("failed", 0) == 0


def told_why(cluster: World, namespace: str) -> bool:
    """True if the Job says that one pod was preempted, and that its gang went with it."""
    job = cluster.t.client.get("batch/v1", "Job", "train", namespace)
    assert job is not None
    said = job["metadata"].get("annotations", {}).get(ANNOTATION, "")
    gang = said.count("DeletedAsPartOfGang: ")
    return "PreemptionByScheduler: " in said and "Preempted by pod " in said and gang >= 1


def test_a_preempted_job_waits_whole_and_comes_back_whole(
    cluster: World, namespace: str, tmp_path: Path
) -> None:
    start(cluster, wanted(namespace))
    first = whole(cluster, namespace)
    other = cluster.t.namespace("urgent")
    urgent = pod("urgent", other, scheduler=GANG_SCHEDULER, priority="high",
                 requests={DEVICE: "8"}, affinity=on(*bound(cluster, namespace)))  # fmt: skip
    with recording(all_sites()["tokyo-1"], cluster.t.client, cluster.t.access, tmp_path):
        cluster.run([urgent])
        cluster.watch.until("the urgent pod", lambda: cluster.watch.bound(other))
        cluster.watch.until(
            "the end of the gang", lambda: not first & running_pods(cluster, namespace)
        )
        eventually("who did it", lambda: told_why(cluster, namespace))
    waiting(cluster, namespace, NODES)
    cluster.jostle(
        GANG_SCHEDULER, "a try", lambda: len(cluster.watch.refused(namespace)) == NODES, 120
    )
    assert bound(cluster, namespace) == [], "four machines are free, and the job needs five"
    assert conditions(cluster, namespace) == set()
    cluster.clear(other)
    assert not first & whole(cluster, namespace)


def test_a_job_of_which_a_worker_fails_fails(cluster: World, namespace: str) -> None:
    start(cluster, wanted(namespace))
    whole(cluster, namespace)
    path = f"/api/v1/namespaces/{namespace}/pods/{some_pod(cluster, namespace)}"
    notes = {RUN_FOR: "0s", EXIT_CODE: "7"}
    change = {"metadata": {"annotations": notes}}
    cluster.t.client.request("PATCH", path, change, "application/merge-patch+json")
    eventually("the failure", lambda: "Failed" in conditions(cluster, namespace))
    assert not alive(cluster, namespace)


def test_a_job_that_ends_well_is_complete(cluster: World, namespace: str) -> None:
    service, job = made(cluster.site, wanted(namespace, workers=2))
    job["spec"]["template"]["metadata"]["annotations"][RUN_FOR] = "1s"
    for body in (service, job):
        cluster.t.client.create(body)
    waiting(cluster, namespace, 2)

    def ended() -> bool:
        pods = cluster.watch.pods(namespace)
        return [each["status"].get("phase") for each in pods] == ["Succeeded"] * 2

    cluster.jostle(GANG_SCHEDULER, "the end", ended)
    eventually("the count", lambda: "Complete" in conditions(cluster, namespace))


@pytest.mark.parametrize("template", [Template.PARAMETER_SERVER, Template.MPI])
def test_pods_of_two_kinds_start_at_once(
    cluster: World, namespace: str, template: Template
) -> None:
    """The pods are those that JobSet would make; none of MPI's launcher, which comes later."""
    servers = 2 if template is Template.PARAMETER_SERVER else None
    request = wanted(namespace, template, workers=4, servers=servers)
    pods = expanded(cluster.site, made(cluster.site, request))
    members = [each.body(namespace) for each in pods if each.part != "launcher"]
    assert len(members) == 4 + (servers or 0)
    cluster.run(members)
    cluster.jostle(
        GANG_SCHEDULER, "the gang", lambda: len(bound(cluster, namespace)) == len(members)
    )
    assert set(bound(cluster, namespace)) <= {host.name for host in cluster.site.by_pool["v100"]}


def test_no_pod_starts_where_one_kind_does_not_fit(cluster: World, namespace: str) -> None:
    request = wanted(namespace, Template.PARAMETER_SERVER, workers=4, servers=2)
    members = [each.body(namespace) for each in expanded(cluster.site, made(cluster.site, request))]
    for body in members:
        if "-ps-" in body["metadata"]["name"]:
            size = body["spec"]["containers"][0]["resources"]
            for each in size.values():
                each["cpu"] = "1000"
    cluster.run(members)
    refused = cluster.watch.refused
    cluster.jostle(GANG_SCHEDULER, "a try", lambda: len(refused(namespace)) == len(members))
    assert cluster.watch.binds(namespace) == []


# --- racks ----------------------------------------------------------------------------------------


def racks(cluster: World, namespace: str) -> list[str]:
    """The racks of the pods that live, one for each."""
    of = {host.name: host.rack for host in cluster.site.hosts}
    return sorted(of[each] for each in bound(cluster, namespace))


def members(cluster: World, namespace: str, template: Template, **said: Any) -> list[Json]:
    """The pods of a job with its workers in a rack, as its controllers label them."""
    request = wanted(namespace, template, **said)
    found = []
    for each in expanded(cluster.site, made(cluster.site, request)):
        if each.part == "launcher":
            continue
        body = each.body(namespace)
        body["metadata"]["labels"] = (
            {"batch.kubernetes.io/job-name": "train"}
            if template is Template.ALL_REDUCE
            else {
                "jobset.sigs.k8s.io/jobset-name": "train",
                "jobset.sigs.k8s.io/replicatedjob-name": each.part,
            }
        )
        found.append(body)
    return found


def of_workers(cluster: World, namespace: str) -> list[str]:
    of = {host.name: host.rack for host in cluster.site.hosts}
    pods = alive(cluster, namespace).values()
    return [
        of[each["spec"]["nodeName"]]
        for each in pods
        if "nodeName" in each["spec"] and "-ps-" not in each["metadata"]["name"]
    ]


@pytest.mark.parametrize("template", Template)
def test_workers_of_a_job_start_in_one_rack_or_not_at_all(
    cluster: World, namespace: str, template: Template
) -> None:
    """Of the five machines four are in one rack; while one of them is lost nothing starts."""
    found = [host.rack for host in cluster.site.by_pool["v100"]]
    (rack,) = {each for each in found if found.count(each) == 4}
    lost = next(host.name for host in cluster.site.by_pool["v100"] if host.rack == rack)
    cluster.cordon(lost)
    try:
        pods = members(cluster, namespace, template, workers=4, rack="required")
        cluster.run(pods)
        refused = cluster.watch.refused
        cluster.jostle(GANG_SCHEDULER, "a try", lambda: refused(namespace))
        assert bound(cluster, namespace) == [], "four are free, in two racks"
    finally:
        cluster.cordon(lost, on=False)
    cluster.jostle(
        GANG_SCHEDULER, "the gang", lambda: len(bound(cluster, namespace)) == len(pods), 120
    )
    assert of_workers(cluster, namespace) == [rack] * 4


def test_workers_that_fit_in_no_rack_start_in_several_where_one_is_preferred(
    cluster: World, namespace: str
) -> None:
    cluster.run(members(cluster, namespace, Template.ALL_REDUCE, rack="preferred"))
    whole(cluster, namespace)
    assert len({*racks(cluster, namespace)}) == 2


def test_workers_prefer_the_rack_of_the_first(cluster: World, namespace: str) -> None:
    cluster.run(members(cluster, namespace, Template.ALL_REDUCE, workers=3, rack="preferred"))
    whole(cluster, namespace, 3)
    found = racks(cluster, namespace)
    # The first may have gone to the rack of one machine; the others are together.
    assert max(map(found.count, found)) >= 2
