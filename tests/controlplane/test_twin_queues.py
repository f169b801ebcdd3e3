"""Queues of teams at work: the real Kueue, JobSet and Volcano hold what the site's objects say, and
a change of these objects does what the preview says.

Jobs are those that ``foresite job`` writes. Kueue has the configuration that `foresite
prerequisites` lists, with less patience.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import pytest

from components.accelerators.objects import objects as accelerators
from components.effects.vocabulary import Impact
from components.making.manifest import Json, Manifest
from components.schedulers.objects import objects as schedulers
from components.teams.objects import objects as teams
from components.training.request import JobRequest, Template
from controlplane import ApiError
from foresite.delivery.servers.prerequisites import TABLE
from schemas.facts.site import Site
from schemas.kubernetes.objects import load_crds, store
from schemas.model.scheduling import Scheduling
from schemas.model.vocabulary import TopologyLevel
from tests.components.teams.test_effects import change, effects
from tests.controlplane.test_twin_models import parts
from tests.golden import with_pool
from tests.kit.accelerator_sites import site as accelerated
from tests.kit.scheduling_world import eventually
from tests.kit.training_site import H100, IMAGE, KUEUE, MNCORE, V100, VOLCANO, made, scheduling
from tests.kit.twin import operators
from tests.kit.twin.cluster import Parts
from tests.kit.twin.pods import pod
from tests.kit.twin.world import World
from tests.kit.twin.world import world as running

pytestmark = [pytest.mark.scheduling, pytest.mark.proof]
QUEUES = "kueue.x-k8s.io/v1beta2"
GROUPS = "scheduling.volcano.sh/v1beta1"
PRIORITIES: list[Json] = [
    {"name": "high", "value": 1000},
    {"name": "normal", "value": 100, "default": True},
    {"name": "low", "value": 10},
]
VISION: Json = {
    "name": "vision",
    "namespaces": ["vision", "vision-dev"],
    "priorities": ["high", "low"],
    "accelerators": {V100: 16, H100: 24, MNCORE: 8},
}
ROBOTICS: Json = {
    "name": "robotics",
    "namespaces": ["robotics"],
    "priorities": ["high", "low"],
    "accelerators": {V100: 16, MNCORE: 16},
}
SPACES = {space: team["name"] for team in (VISION, ROBOTICS) for space in team["namespaces"]}
OTHERS = ("kueue.x-k8s.io", "jobset.x-k8s.io", "nfd.k8s-sigs.io", "scheduling.volcano.sh",
          "batch.volcano.sh", "trainer.kubeflow.org")  # fmt: skip
CONFIGURATION: Json = TABLE["operators"]["kubernetes-sigs/kueue"]["configuration"]
PATIENCE = 8
"""Seconds in which the pods of a job have to be ready."""


def queued(
    teams: Sequence[Json] = (VISION, ROBOTICS), priorities: Sequence[Json] = PRIORITIES, **v100: Any
) -> Site:
    """Three hosts of v100 and three of h100 by Kueue, two of mncore by Volcano; teams may be
    guaranteed more than there is. ``v100`` are fields of that pool."""
    given = scheduling(KUEUE, VOLCANO, off_peak=None, teams=[*teams], priorities=[*priorities])
    section = Scheduling.model_validate({**given, "overcommit_percent": {}})
    (pool,) = (each for each in accelerated().file.pools if each.name == "v100")
    fields = type(pool).model_validate({**pool.model_dump(), **v100})
    made = with_pool(accelerated(), "v100", **{key: getattr(fields, key) for key in v100})
    return replace(made, file=made.file.model_copy(update={"scheduling": section}))


def kueue_configuration() -> Json:
    waiting = {"timeout": f"{PATIENCE}s", "recoveryTimeout": f"{PATIENCE}s",
               "requeuingStrategy": {"backoffBaseSeconds": 1}}  # fmt: skip
    assert CONFIGURATION["waitForPodsReady"].keys() <= waiting.keys()
    return {**CONFIGURATION, "waitForPodsReady": waiting}


@pytest.fixture(scope="module")
def here(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    found, of = operators.tools(), queued()
    crds = load_crds([name for name in store.kinds() if name.partition("/")[0] in OTHERS])
    known = {crd["metadata"]["name"] for crd in crds}
    crds += [crd for crd in operators.own_crds(found) if crd["metadata"]["name"] not in known]
    own: Parts = {**parts(of), "crds": [operators.installed(crd) for crd in crds]}
    with running(tmp_path_factory.mktemp("queues"), of, **own) as world:
        operators.kueue(world.t, found, kueue_configuration())
        operators.jobset(world.t, found)
        operators.volcano(world.t, found)
        for each in [*teams(of), *schedulers(of)]:
            world.t.client.apply(each.body)
        yield world
        world.t.check()


@dataclass
class Jobs:
    """Jobs of the teams, by their names."""

    world: World

    def start(self, name: str, space: str = "vision", **said: Any) -> None:
        """Create what ``foresite job`` writes; ``queued_as`` is a priority for the queue alone."""
        label = said.pop("queued_as", None)
        fields = {"model": V100, "workers": 1, "per_worker": 8, **said}
        template = fields.pop("template", Template.ALL_REDUCE)
        asked = JobRequest(template, image=IMAGE, team=SPACES[space], namespace=space, name=name,
                           command=("python", "train.py"), **fields)  # fmt: skip
        for body in made(self.world.site, asked):
            if label and body["kind"] == "Job":
                body["metadata"]["labels"]["kueue.x-k8s.io/priority-class"] = label
            self.world.t.client.create(body)

    def end(self, name: str, space: str = "vision") -> None:
        path = f"/apis/batch/v1/namespaces/{space}/jobs/{name}?propagationPolicy=Background"
        self.world.t.client.request("DELETE", path)

    def pods(self) -> dict[str, Json]:
        """The pods that have a node, by their uids."""
        every = [each for space in SPACES for each in self.world.watch.pods(space)]
        return {each["metadata"]["uid"]: each for each in every if "nodeName" in each["spec"]}

    def run(self) -> list[str]:
        """The jobs whose pods have a node, as often as they have such pods."""
        return sorted(_job(each["metadata"]) for each in self.pods().values())

    def wait(self) -> list[str]:
        """The jobs that Kueue has looked at and holds."""
        held = []
        for each in self.world.t.client.items(QUEUES, "Workload"):
            said = {c["type"]: c for c in each.get("status", {}).get("conditions", ())}
            reserved = said.get("QuotaReserved", {})
            if reserved.get("status") == "False" and reserved.get("message"):
                held += [each["name"] for each in each["metadata"]["ownerReferences"]]
        return sorted(held)

    def settle(self, run: str, wait: str = "", seconds: float = 40) -> None:
        """Wait until these jobs run and those wait, and no others."""
        wanted = (sorted(run.split()), sorted(wait.split()))
        found: list[Any] = []

        def done() -> bool:
            found[:] = [(self.run(), self.wait())]
            return found == [wanted]

        try:
            eventually("", done, seconds)
        except AssertionError:
            raise AssertionError(f"run and wait: {found[0]}, not {wanted}") from None


def _job(metadata: Json) -> str:
    labels = metadata.get("labels", {})
    name: str = labels.get("jobset.sigs.k8s.io/jobset-name") or labels.get(
        "batch.kubernetes.io/job-name", metadata["name"]
    )
    return name


@pytest.fixture
def jobs(here: World) -> Iterator[Jobs]:
    found, client = Jobs(here), here.t.client
    own = queue_objects(here.site).values()
    yield found
    kinds = [("jobset.x-k8s.io/v1alpha2", "JobSet"), ("batch/v1", "Job"), ("v1", "Service"),
             (GROUPS, "PodGroup"), ("v1", "Pod")]  # fmt: skip
    for api, kind in kinds:
        for space in SPACES:
            for each in client.items(api, kind, space):
                path = f"{client._path(api, kind, space)}/{each['metadata']['name']}"
                try:
                    client.request("DELETE", f"{path}?propagationPolicy=Background")
                except ApiError as error:
                    if error.status != 404:  # else it went with another one
                        raise
    eventually("the end of all jobs", lambda: not client.items(QUEUES, "Workload"))
    here.watch.until("no pods", lambda: not any(here.watch.pods(space) for space in SPACES))
    eventually("the queues", lambda: all(restored(here, each.body) for each in own))


def restored(here: World, body: Json) -> bool:
    """Apply an object; false where one of its name is still on its way out."""
    return "deletionTimestamp" not in here.t.client.apply(body)["metadata"]


def queue_objects(of: Site) -> dict[str, Manifest]:
    groups = (QUEUES, GROUPS)
    return {each.name: each for each in teams(of) if each.body["apiVersion"] in groups}


def hosts(here: World, pool: str) -> list[str]:
    return [each["metadata"]["name"] for each in here.watch.nodes()
            if each["metadata"]["labels"]["node.cluster.x-k8s.io/pool"] == pool]  # fmt: skip


def asking(here: World, name: str, space: str, model: str = V100) -> Json:
    """A pod of nobody that asks for the whole of a host."""
    return pod(name, space, requests={here.site.resource(model): "8"})


# --- Kueue: limits ---


def test_a_team_is_held_at_its_limit_of_a_model_over_all_its_namespaces(
    here: World, jobs: Jobs
) -> None:
    jobs.start("one")
    jobs.settle("one")
    here.t.client.create(asking(here, "bare", "vision-dev"))
    jobs.settle("one bare")
    jobs.start("two", "vision-dev")
    here.t.client.create(asking(here, "late", "vision"))
    jobs.settle("one bare", "late two")
    # Another model has a limit of its own, and the taint of its hosts is tolerated.
    jobs.start("other", model=H100)
    jobs.settle("one bare other", "late two")
    jobs.end("one")
    here.t.client.delete("v1", "Pod", "late", "vision")
    jobs.settle("bare other two")


def test_what_no_team_uses_is_lent_and_a_higher_priority_gets_it_back_from_any_team(
    here: World, jobs: Jobs
) -> None:
    jobs.start("v-one")
    jobs.start("v-two", priority="low")
    jobs.settle("v-one v-two")
    jobs.start("r-one", "robotics")
    jobs.settle("v-one v-two r-one")
    # Within its guarantee, but others have all there is; an equal priority waits.
    jobs.start("r-two", "robotics")
    jobs.settle("v-one v-two r-one", "r-two")
    jobs.start("r-high", "robotics", priority="high")
    jobs.settle("v-one r-one r-high", "v-two r-two")
    # Above its guarantee a team takes only from itself.
    jobs.start("r-more", "robotics", priority="high")
    jobs.settle("v-one r-high r-more", "v-two r-one r-two")


def test_a_priority_of_another_team_is_refused_in_the_queue(here: World, jobs: Jobs) -> None:
    """The policy on Workloads judges what Kueue really writes."""
    body = {"apiVersion": QUEUES, "kind": "WorkloadPriorityClass", "value": 5000,
            "metadata": {"name": "others"}}  # fmt: skip
    here.t.client.apply(body)
    jobs.start("sly", queued_as="others")
    jobs.start("plain", queued_as="high")
    jobs.settle("plain")
    assert "not the team's" in here.t.log("kueue").read_text("utf-8")
    here.t.client.delete(QUEUES, "WorkloadPriorityClass", "others")


# --- Kueue: gangs ---


def test_a_job_that_does_not_get_all_its_pods_gives_all_back(here: World, jobs: Jobs) -> None:
    """Kueue counts devices, not hosts: some pods start. What is not whole in time starts over."""
    off = [*hosts(here, "v100")[1:], *hosts(here, "h100")]
    for each in off:
        here.cordon(each)
    jobs.start("gang", workers=2)
    jobs.settle("gang")
    first = set(jobs.pods())
    here.watch.until("the end of its pod", lambda: not first & set(jobs.pods()))
    # A pod of nobody goes for good.
    here.t.client.create(asking(here, "bare", "vision-dev", H100))
    here.watch.until("the pod", lambda: here.watch.pods("vision-dev"))
    here.watch.until("its end", lambda: not here.watch.pods("vision-dev"))
    for each in off:
        here.cordon(each, on=False)
    jobs.settle("gang gang")


def test_a_job_of_several_kinds_of_pods_is_let_in_as_one(here: World, jobs: Jobs) -> None:
    """JobSet makes a Job of each kind; Kueue counts them together, and none of them by itself."""
    jobs.start("one")
    jobs.settle("one")
    jobs.start("servers", template=Template.PARAMETER_SERVER, workers=2, servers=1)
    jobs.settle("one", "servers")
    jobs.end("one")
    jobs.settle("servers servers servers")


# --- what the preview says of changes ---


TAINT: Json = {"key": "example.com/new", "value": "a", "effect": "NoSchedule"}
CHANGES: dict[str, tuple[Json, str, str, str]] = {
    # what is changed; the object; who runs afterwards; who waits
    "limit lowered": (
        {"teams": [{**VISION, "accelerators": {**VISION["accelerators"], V100: 8}}, ROBOTICS]},
        "ClusterQueue/vision",
        "one two",
        "late third",
    ),
    "limit raised": (
        {"teams": [{**VISION, "accelerators": {**VISION["accelerators"], V100: 24}}, ROBOTICS]},
        "ClusterQueue/vision",
        "one two third",
        "late",
    ),
    "team removed": ({"teams": [ROBOTICS]}, "LocalQueue/vision", "one two", "late third"),
    "taint of the pool": (
        {"taints": [TAINT]},
        "ResourceFlavor/v100-sxm2-32gb",
        "one two",
        "late third",
    ),
    "cohort smaller": ({"spares": 3}, "Cohort", "one two", "late third"),
}


@pytest.mark.parametrize("name", CHANGES)
def test_a_change_of_queues_ends_nobody(here: World, jobs: Jobs, name: str) -> None:
    changed, object_name, run, wait = CHANGES[name]
    made = change(here.site, queued(**changed))
    predicted = {
        key: said for key, said in effects(made).items() if key in queue_objects(here.site)
    }
    assert {each.impact for each in predicted[object_name]} == {Impact.NONE}
    for job in ("one", "two"):
        jobs.start(job)
    jobs.settle("one two")
    jobs.start("third")
    jobs.settle("one two", "third")
    pods = set(jobs.pods())
    apply(here, predicted, queued(**changed))
    jobs.settle(run, "third" if "third" in wait else "")
    # Kueue does not look twice at what is alike: this one is of another size.
    jobs.start("late", per_worker=4)
    jobs.settle(run, wait)
    assert pods <= set(jobs.pods()), "a pod that ran is gone"


def apply(here: World, names: Any, after: Site) -> None:
    """Apply the objects of these logical names as a changed site has them."""
    old, new = queue_objects(here.site), queue_objects(after)
    for name in names:
        if name in new:
            here.t.client.apply(new[name].body)
        else:
            api, kind, space, each = old[name].key
            here.t.client.delete(api, kind, each, space or None)


def test_a_lower_limit_lets_a_higher_priority_end_all_that_is_above_it(
    here: World, jobs: Jobs
) -> None:
    for job in ("one", "two"):
        jobs.start(job)
    jobs.settle("one two")
    after = queued(**CHANGES["limit lowered"][0])
    apply(here, ["ClusterQueue/vision"], after)
    jobs.start("high", priority="high")
    jobs.settle("high", "one two")
    (said,) = effects(change(here.site, after))["ClusterQueue/vision"][:1]
    assert "may preempt all that is above the limit" in said.why


def test_another_order_of_priorities_lets_those_that_wait_take_the_place_of_others(
    here: World, jobs: Jobs
) -> None:
    after = queued(priorities=[*PRIORITIES[:2], {"name": "low", "value": 500}])
    (said,) = effects(change(here.site, after))["WorkloadPriorityClass/low"]
    assert said.impact is Impact.DRAIN
    jobs.start("low", queued_as="low")
    jobs.settle("low")
    jobs.start("normal", queued_as="normal", workers=2)
    jobs.settle("normal normal", "low")
    apply(here, ["WorkloadPriorityClass/low"], after)
    jobs.settle("low", "normal")


def test_a_queue_that_goes_waits_for_its_jobs(here: World, jobs: Jobs) -> None:
    jobs.start("one")
    jobs.settle("one")
    client = here.t.client
    client.delete(QUEUES, "ClusterQueue", "vision")
    jobs.start("late")
    jobs.settle("one", "late")
    assert client.get(QUEUES, "ClusterQueue", "vision")
    jobs.end("one")
    eventually("its end", lambda: client.get(QUEUES, "ClusterQueue", "vision") is None)
    # A flavour stays as long as a queue names it.
    client.delete(QUEUES, "ResourceFlavor", V100)
    flavor = client.get(QUEUES, "ResourceFlavor", V100)
    assert flavor and "deletionTimestamp" in flavor["metadata"]
    client.delete(QUEUES, "ClusterQueue", "robotics")
    client.delete(QUEUES, "Cohort", here.site.name)
    eventually("the flavour", lambda: client.get(QUEUES, "ResourceFlavor", V100) is None)


def test_without_its_queue_a_namespace_starts_nothing(here: World, jobs: Jobs) -> None:
    """With manageJobsWithoutQueueName; without it such a job would start past every limit."""
    client = here.t.client
    client.delete(QUEUES, "LocalQueue", "default", "vision")
    client.create(asking(here, "bare", "vision"))
    jobs.settle("", "bare")
    move = {"spec": {"clusterQueue": "vision"}}
    path = f"/apis/{QUEUES}/namespaces/robotics/localqueues/default"
    with pytest.raises(ApiError, match="self == oldSelf"):
        client.request("PATCH", path, move, "application/merge-patch+json")


# --- Volcano ---


def test_volcano_starts_a_gang_whole_or_not_at_all_within_the_queue_of_its_team(
    here: World, jobs: Jobs
) -> None:
    node = hosts(here, "mncore")[0]
    here.cordon(node)
    jobs.start("gang", "robotics", model=MNCORE, workers=2)
    here.watch.until("a try", lambda: len(here.watch.refused("robotics")) == 2)
    assert jobs.run() == []
    here.cordon(node, on=False)
    jobs.settle("gang gang")
    # The group stays when its job is gone, and keeps nothing from others.
    jobs.end("gang", "robotics")
    jobs.settle("")
    jobs.start("one", model=MNCORE)
    jobs.settle("one")
    jobs.start("two", model=MNCORE)
    here.watch.until("a try", lambda: here.watch.refused("vision"))
    jobs.start("theirs", "robotics", model=MNCORE)
    jobs.settle("one theirs")


@pytest.mark.parametrize(
    "after", [[VISION, {**ROBOTICS, "accelerators": {MNCORE: 8}}], [VISION]], ids=["lower", "gone"]
)
def test_a_change_of_a_queue_of_volcano_ends_nobody(
    here: World, jobs: Jobs, after: list[Json]
) -> None:
    jobs.start("gang", "robotics", model=MNCORE, workers=2)
    jobs.settle("gang gang")
    pods, late = set(jobs.pods()), f"late-{len(after)}"
    changed = queued(teams=after)
    (said,) = {each.impact for each in effects(change(here.site, changed))["Queue/robotics"]}
    assert said is Impact.NONE
    apply(here, ["Queue/robotics"], changed)
    jobs.start(late, "robotics", model=MNCORE)
    # Kueue, which has no limit of this model, lets it in, and gives up when it does not start.
    deletions = here.watch.deletions
    here.watch.until("its end", lambda: any(d.pod.startswith(late) for d in deletions("robotics")))
    assert not any(bind.pod.startswith(late) for bind in here.watch.binds("robotics"))
    assert set(jobs.pods()) == pods


# --- Node Feature Discovery ---


def test_devices_on_the_bus_become_labels(here: World) -> None:
    nodes = {pool: hosts(here, pool)[0] for pool in ("v100", "h100", "mncore", "cpu")}
    operators.node_feature_discovery(here.t, operators.tools(), nodes["cpu"])
    gpu, network = ("0302", "10de"), ("0200", "15b3", "1017")
    seen = {
        nodes["v100"]: [(*gpu, "1db5")] * 7 + [network],
        nodes["h100"]: [(*gpu, "2330")] * 8,
        nodes["mncore"]: [("1200", "1e37", "0002")] * 8,
        nodes["cpu"]: [network],
    }
    rules = [each.body for each in accelerators(here.site) if each.kind == "NodeFeatureRule"]
    for node, devices in seen.items():
        # A kubelet writes it; the master wants some annotation to be there.
        note = {"volumes.kubernetes.io/controller-managed-attach-detach": "true"}
        path, merge = f"/api/v1/nodes/{node}", "application/merge-patch+json"
        here.t.client.request("PATCH", path, {"metadata": {"annotations": note}}, merge)
        here.t.client.apply(operators.node_feature(node, devices))
    for body in rules:
        here.t.client.apply(body)

    def labels() -> dict[str, dict[str, str]]:
        return {
            each["metadata"]["name"]: {
                key.partition("/")[2]: value
                for key, value in each["metadata"]["labels"].items()
                if key.startswith("seen.foresite.dev/")
            }
            for each in here.watch.nodes()
            if each["metadata"]["name"] in seen
        }

    def counted(pool: str) -> str | None:
        """What a node has of its model's own resource; a kubelet offers pods as much."""
        (node,) = (each for each in here.watch.nodes() if each["metadata"]["name"] == nodes[pool])
        resource = here.site.resource(V100 if pool == "v100" else H100)
        found: str | None = node["status"]["capacity"].get(resource)
        return found

    wanted = {nodes["v100"]: {V100: "7"}, nodes["h100"]: {H100: "8"},
              nodes["mncore"]: {MNCORE: "8"}, nodes["cpu"]: {}}  # fmt: skip
    here.watch.until("the labels", lambda: labels() == wanted)
    # A device that falls off the bus is counted no more; without a rule there is no label.
    here.t.client.apply(operators.node_feature(nodes["v100"], [(*gpu, "1db5")] * 6))
    here.t.client.delete(rules[-1]["apiVersion"], "NodeFeatureRule", rules[-1]["metadata"]["name"])
    wanted |= {nodes["v100"]: {V100: "6"}, nodes["mncore"]: {}}
    here.watch.until("the change", lambda: labels() == wanted)
    # With a topology nodes that show all cards have the model's resource, and no others.
    assert counted("h100") is None
    (kueue,) = (each for each in here.site.scheduling.backends if each.name == KUEUE["name"])
    by_rack = kueue.model_copy(update={"topology": [TopologyLevel.RACK]})
    section = here.site.scheduling.model_copy(update={"backends": [by_rack]})
    file = here.site.file.model_copy(update={"scheduling": section})
    for each in accelerators(replace(here.site, file=file)):
        if each.kind == "NodeFeatureRule":
            here.t.client.apply(each.body)
    here.watch.until("the resource", lambda: counted("h100") == "8")
    assert counted("v100") is None
    offered = {"status": {"allocatable": {here.site.resource(H100): "8"}}}
    here.t.client.request("PATCH", f"/api/v1/nodes/{nodes['h100']}/status", offered, merge)
    here.t.client.apply(operators.node_feature(nodes["h100"], [(*gpu, "2330")] * 7))
    here.watch.until("its end", lambda: counted("h100") is None)
