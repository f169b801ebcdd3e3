"""Limits and tiers of teams at work: the real kube-throttler, quotas and preemption on tokyo-1.

The throttler's scheduler has the configuration that the site's objects give it; pods ask for a
model as researchers do, and for the plugin's resource beside it as admission adds it.
"""

import datetime as dt
from collections.abc import Iterator
from copy import deepcopy
from typing import Any

import pytest

from components.manifest import Json
from components.schedulers.configuration import configuration
from components.teams.objects import objects
from controlplane import ApiError
from controlplane.twin import Scheduler
from schemas.site import Site
from tests.scheduling_site import A100, H100, IMAGE
from tests.scheduling_site import site as with_backends
from tests.teams_site import A, H
from tests.twin.pods import gang, on, pod
from tests.twin.schedulers import GANG
from tests.twin.world import World
from tools.toolchain import ToolchainError
from tools.toolchain.given import find

pytestmark = pytest.mark.scheduling
THROTTLED = "teams-scheduler"
BACKEND: Json = {
    "name": THROTTLED,
    "kind": "kube-scheduler",
    "pools": ["a100", "h100"],
    "scheduler": {"image": IMAGE, "throttler": "teams"},
}
TIERS: list[Json] = [{"name": "first", "value": 1000}, {"name": "second", "value": 10}]
"""None of them is the default: other tests' pods are in the same cluster."""
RESERVED = {"key": "example.com/reserved", "operator": "Exists"}
GPU = "nvidia.com/gpu"


def made(team: Json, off_peak: Json | None = None) -> Site:
    """A site with one team, of two namespaces where it says nothing else."""
    whole = {"name": "vision", "namespaces": ["vision", "vision-dev"], **team}
    return with_backends(BACKEND, teams=[whole], priorities=TIERS, off_peak=off_peak)


@pytest.fixture(scope="module")
def throttler(world: World) -> Iterator[World]:
    """The cluster with kube-throttler as the site's own scheduler."""
    try:
        binary = find("kube-throttler").path
    except ToolchainError as error:
        pytest.skip(str(error))
    site = made({})
    assert site.file.scheduling
    (backend,) = site.file.scheduling.backends
    assert backend.scheduler
    config = configuration(site, backend, backend.scheduler)
    assert config["profiles"][0]["pluginConfig"][0]["args"]["ignoredResources"]
    # What is not a part of this: whose lease it is.
    config = {key: value for key, value in config.items() if key != "leaderElection"}
    files = {"kube-throttler": {"kubeconfig": "{kubeconfig}"}}
    world.t.start(
        Scheduler(THROTTLED, binary, config, command=("kube-scheduler",), plugin_args=files)
    )
    yield world
    world.t.stop(THROTTLED)


class Teams:
    """Puts a site's teams into the cluster, and takes them out again."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.bodies: list[Json] = []

    def apply(self, site: Site, *edits: Json) -> None:
        """The teams of a site, ``edits`` in place of objects of the same name."""
        mine = {each.key: each.body for each in objects(site)}
        for edit in edits:
            metadata = edit["metadata"]
            mine[edit["apiVersion"], edit["kind"], "", metadata["name"]] = edit
        self.bodies = list(mine.values())
        for body in self.bodies:
            self.world.t.client.apply(body)
        self.world.watch.until("service accounts and quotas", self._counted)

    def _counted(self) -> bool:
        """Until a quota has been counted it lets no pod in, and a pod needs an account."""
        client = self.world.t.client
        for body in self.bodies:
            where = (body["metadata"]["name"], body["metadata"].get("namespace"))
            if body["kind"] == "ResourceQuota":
                found = client.get("v1", "ResourceQuota", *where)
                if not found or found.get("status", {}).get("hard") != body["spec"]["hard"]:
                    return False
            if body["kind"] == "Namespace" and not client.get(
                "v1", "ServiceAccount", "default", where[0]
            ):
                return False
        return True

    def remove(self) -> None:
        for body in self.bodies:
            if body["kind"] == "Namespace":
                self.world.clear(body["metadata"]["name"])
        for body in self.bodies:
            metadata = body["metadata"]
            if body["kind"] != "Namespace" and "namespace" not in metadata:
                self.world.t.client.delete(body["apiVersion"], body["kind"], metadata["name"])
        gone = [b["metadata"]["name"] for b in self.bodies if b["kind"] == "Namespace"]
        self.world.watch.until(
            "the end of the namespaces",
            lambda: not any(self.world.t.client.get("v1", "Namespace", name) for name in gone),
        )


@pytest.fixture
def teams(world: World) -> Iterator[Teams]:
    found = Teams(world)
    yield found
    found.remove()


def worker(name: str, namespace: str = "vision", resource: str = A100, count: int = 8) -> Json:
    """A pod that asks for a model, as admission leaves it."""
    both = {resource: str(count), GPU: str(count)}
    return pod(name, namespace, scheduler=THROTTLED, requests=both, tolerations=[RESERVED])


def bound(world: World) -> set[str]:
    return {name for space in ("vision", "vision-dev") for name in world.watch.bound(space)}


def settles(world: World, count: int, held: int) -> None:
    """So many pods are bound, and so many are held by the throttle."""

    def done() -> bool:
        refused = {
            name: why
            for space in ("vision", "vision-dev")
            for name, why in world.watch.refused(space).items()
        }
        throttled = [name for name, why in refused.items() if "clusterthrottle" in why]
        return len(bound(world)) == count and len(throttled) == held

    world.watch.until(f"{count} bound and {held} held", done)


def hours(world_now: dt.datetime, start: float, end: float) -> Json:
    """Off-peak hours, so many hours from now until then, on each day around today."""
    clocks = [f"{world_now + dt.timedelta(hours=each):%H:%M}" for each in (start, end)]
    days = [f"{world_now + dt.timedelta(days=each):%Y-%m-%d}" for each in (-2, 2)]
    return {
        "time_zone": "UTC", "weekends": False, "start": clocks[0], "end": clocks[1],
        "first_day": days[0], "last_day": days[1],
    }  # fmt: skip


NOW, LATER = (-2, 2), (3, 5)


def now() -> dt.datetime:
    return dt.datetime.now(dt.UTC)


# --- limits ---


def test_a_team_is_held_at_its_limit_over_all_its_namespaces(
    throttler: World, teams: Teams
) -> None:
    teams.apply(made({"accelerators": {A: 24}}))
    throttler.run([worker(f"a-{n}") for n in range(3)])
    throttler.run([worker(f"b-{n}", "vision-dev") for n in range(2)])
    settles(throttler, count=3, held=2)
    # What ends makes room.
    (first, *_) = sorted(throttler.watch.bound("vision"))
    throttler.t.client.delete("v1", "Pod", first, "vision")
    settles(throttler, count=3, held=1)


def test_a_team_gets_nothing_of_a_model_that_it_is_not_promised(
    throttler: World, teams: Teams
) -> None:
    teams.apply(made({"accelerators": {A: 8}}))
    throttler.run([worker("a"), worker("h", resource=H100, count=1)])
    settles(throttler, count=1, held=1)
    assert bound(throttler) == {"a"}


def test_another_limit_evicts_nobody_and_lets_the_next_in(throttler: World, teams: Teams) -> None:
    teams.apply(made({"accelerators": {A: 16}}))
    throttler.run([worker(f"a-{n}") for n in range(3)])
    settles(throttler, count=2, held=1)
    before = bound(throttler)
    teams.apply(made({"accelerators": {A: 8}}))
    throttler.run([worker("late")])
    settles(throttler, count=2, held=2)
    assert bound(throttler) == before
    teams.apply(made({"accelerators": {A: 32}}))
    settles(throttler, count=4, held=0)


@pytest.mark.parametrize(("when", "count"), [(NOW, 3), (LATER, 1)])
def test_off_peak_another_limit_holds(
    throttler: World, teams: Teams, when: tuple[float, float], count: int
) -> None:
    team = {"accelerators": {A: 8}, "off_peak": {A: 24}}
    teams.apply(made(team, hours(now(), *when)))
    throttler.run([worker(f"a-{n}") for n in range(4)])
    settles(throttler, count=count, held=4 - count)


def test_off_peak_a_model_without_other_limits_keeps_its_own(
    throttler: World, teams: Teams
) -> None:
    """An override takes the place of the whole threshold, so each of ours names every model."""
    team = {"accelerators": {A: 16}, "off_peak": {H: 8}}
    teams.apply(made(team, hours(now(), *NOW)))
    throttler.run([worker(f"a-{n}") for n in range(4)])
    settles(throttler, count=2, held=2)


def test_off_peak_a_model_that_an_override_left_out_would_have_no_limit(
    throttler: World, teams: Teams
) -> None:
    """The trap that the one before is about, in kube-throttler itself."""
    team = {"accelerators": {A: 16}, "off_peak": {H: 8}}
    site = made(team, hours(now(), *NOW))
    (throttle,) = [deepcopy(m.body) for m in objects(site) if m.kind == "ClusterThrottle"]
    for override in throttle["spec"]["temporaryThresholdOverrides"]:
        del override["threshold"]["resourceRequests"][A100]
    teams.apply(site, throttle)
    throttler.run([worker(f"a-{n}") for n in range(4)])
    settles(throttler, count=4, held=0)


def test_without_a_throttler_a_pod_too_many_is_refused(world: World, teams: Teams) -> None:
    site = with_backends(
        teams=[{"name": "vision", "namespaces": ["vision"], "accelerators": {A: 8}}]
    )
    teams.apply(site)
    plain = pod("a", "vision", requests={A100: "8"})
    world.t.client.create(plain)
    said = refusal(world, pod("b", "vision", requests={A100: "1"}))
    assert "exceeded quota: accelerators" in said and A100 in said


def refusal(world: World, body: Json) -> str:
    """What the server says of a pod that it does not take."""
    with pytest.raises(ApiError) as error:
        world.t.client.create(body)
    return error.value.message


# --- tiers ---


def test_a_pod_of_a_tier_that_is_not_its_teams_is_refused(world: World, teams: Teams) -> None:
    teams.apply(made({"priorities": ["second"]}))
    others = {
        "apiVersion": "scheduling.k8s.io/v1",
        "kind": "PriorityClass",
        "metadata": {"name": "made-by-others"},
        "value": 500,
    }
    teams.bodies.append(world.t.client.apply(others))
    for tier in ("first", "made-by-others", "system-cluster-critical", "system-node-critical"):
        said = refusal(world, pod("a", "vision", priority=tier))
        assert "exceeded quota: other-priorities" in said, tier
    world.t.client.create(pod("own", "vision", priority="second"))
    world.t.client.create(pod("none", "vision"))


def test_a_higher_tier_takes_the_place_of_a_whole_gang(world: World, teams: Teams) -> None:
    """Preemption asks for the node of one pod; the gang plugin lets the others go with it."""
    world.needs(GANG)
    teams.apply(made({"priorities": ["first", "second"]}))
    pool = next(each for each in world.site.file.pools if each.name == "v100")
    four = [host.name for host in world.site.hosts_of(pool)[:4]]
    whole: dict[str, Any] = {"scheduler": GANG, "affinity": on(*four), "requests": {GPU: "8"}}
    world.run(gang("low", "vision", 4, priority="second", **whole))
    world.jostle(GANG, "the gang", lambda: len(world.watch.bound("vision")) == 4)
    world.run([pod("high", "vision-dev", priority="first", **whole)])
    world.watch.until("the higher one", lambda: world.watch.bound("vision-dev"))
    world.watch.until("the end of the gang", lambda: not world.watch.pods("vision"))
    gone = {each.pod for each in world.watch.deletions("vision")}
    assert gone == {f"low-{n}" for n in range(4)}, "one node was enough"


def test_an_equal_tier_waits(world: World, teams: Teams) -> None:
    teams.apply(made({"priorities": ["second"]}))
    pool = next(each for each in world.site.file.pools if each.name == "v100")
    one = on(world.site.hosts_of(pool)[0].name)
    whole: dict[str, Any] = {"affinity": one, "requests": {GPU: "8"}, "priority": "second"}
    world.run([pod("early", "vision", **whole)])
    world.watch.until("the first", lambda: world.watch.bound("vision"))
    world.run([pod("late", "vision", **whole)])
    world.watch.until("a try", lambda: "late" in world.watch.refused("vision"))
    assert set(world.watch.bound("vision")) == {"early"}


# --- space on disk ---


def disk(body: Json) -> tuple[str, str]:
    """What a pod's container asks for, and may use."""
    resources = body["spec"]["containers"][0]["resources"]
    return resources["requests"]["ephemeral-storage"], resources["limits"]["ephemeral-storage"]


def test_a_container_that_says_nothing_gets_space_on_disk(world: World, teams: Teams) -> None:
    teams.apply(made({"ephemeral_storage": {"request": "1Gi", "limit": "2Gi", "max": "3Gi"}}))
    assert disk(world.t.client.create(pod("a", "vision"))) == ("1Gi", "2Gi")
    sized = pod("b", "vision", requests={"ephemeral-storage": "3Gi"})
    assert disk(world.t.client.create(sized)) == ("3Gi", "3Gi")
    large = pod("c", "vision", requests={"ephemeral-storage": "4Gi"})
    assert "maximum ephemeral-storage usage per Container is 3Gi" in refusal(world, large)
