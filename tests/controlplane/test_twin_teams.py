"""Limits and tiers of teams at work: the real kube-throttler, quotas and preemption on tokyo-1.

The throttler's scheduler has the configuration that the site's objects give it; pods ask for a
model as researchers do, and for the plugin's resource beside it as admission adds it. Both
schedulers do the same: kube-throttler's own, and that of images/scheduler/ with the gang plugin.
"""

import datetime as dt
import itertools
from collections.abc import Iterator
from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest

from components.making.manifest import Json
from components.schedulers.configuration import configuration
from components.teams.objects import objects
from controlplane import ApiError
from schemas.facts.site import Site
from tests.kit.go_programs import SCHEDULER, given, program
from tests.kit.scheduling_site import A100, H100, IMAGE
from tests.kit.scheduling_site import site as with_backends
from tests.kit.teams_site import A, H
from tests.kit.twin.cluster import Scheduler
from tests.kit.twin.pods import gang, on, pod
from tests.kit.twin.schedulers import GANG, SETTINGS
from tests.kit.twin.world import World
from tests.kit.waiting import until

pytestmark = pytest.mark.scheduling
THROTTLED = "teams-scheduler"
BACKEND: Json = {
    "name": THROTTLED,
    "kind": "kube-scheduler",
    "pools": ["a100", "h100"],
    "scheduler": {"image": IMAGE, "throttler": "teams"},
}
WHOLE: Json = {
    **BACKEND,
    "scheduler": {
        **BACKEND["scheduler"],
        "gang": {
            "annotation_prefix": SETTINGS.annotation_prefix,
            "timeout_seconds": 3,
            "jitter_seconds": 1,
        },
    },
}
"""The same backend with gangs: its executable has both plugins."""
TIERS: list[Json] = [{"name": "first", "value": 1000}, {"name": "second", "value": 10}]
"""None of them is the default: other tests' pods are in the same cluster."""
GPU = "nvidia.com/gpu"


def made(team: Json, off_peak: Json | None = None, backend: Json = BACKEND) -> Site:
    """A site with one team."""
    whole = {"name": "vision", "namespaces": ["vision"], **team}
    return with_backends(backend, teams=[whole], priorities=TIERS, off_peak=off_peak)


def binary_of(backend: Json) -> Path:
    """The executable of a scheduler; the test is skipped where it is not at hand."""
    return program(SCHEDULER) if backend is WHOLE else given("kube-throttler")


@pytest.fixture(scope="module", params=[BACKEND, WHOLE], ids=["throttler", "both"])
def throttler(request: pytest.FixtureRequest, world: World) -> Iterator[World]:
    """The cluster with kube-throttler in the site's own scheduler."""
    backend_of_site: Json = request.param
    binary = binary_of(backend_of_site)
    site = made({}, backend=backend_of_site)
    assert site.file.scheduling
    (backend,) = site.file.scheduling.backends
    assert backend.scheduler
    config = configuration(site, backend, backend.scheduler)
    assert config["profiles"][0]["pluginConfig"][0]["args"]["ignoredResources"]
    config.pop("leaderElection")  # whose lease it is, is no part of this
    files = {"kube-throttler": {"kubeconfig": "{kubeconfig}"}}
    if backend_of_site is WHOLE:
        files["gang"] = {"healthCheckAddr": "{address}"}
    command = () if backend_of_site is WHOLE else ("kube-scheduler",)
    world.t.start(Scheduler(THROTTLED, binary, config, command=command, plugin_args=files))
    yield world
    world.t.stop(THROTTLED)


class Teams:
    """Puts a site's team into the cluster, in namespaces of its own, and takes it out again."""

    numbers = itertools.count()

    def __init__(self, world: World) -> None:
        self.world = world
        number = next(self.numbers)
        self.space, self.other = self.spaces = (f"vision-{number}", f"vision-dev-{number}")
        self.bodies: list[Json] = []

    def site(self, hours: Json | None = None, **team: Any) -> Site:
        """A site with the team, and ``hours`` that are off-peak."""
        return made({"namespaces": [*self.spaces], **team}, hours)

    def apply(self, site: Site, *edits: Json) -> None:
        """The teams of a site, ``edits`` in place of objects of the same name."""
        names = [(edit["kind"], edit["metadata"]["name"]) for edit in edits]
        kept = [each.body for each in objects(site) if (each.kind, each.key[3]) not in names]
        self.bodies = [*kept, *edits]
        for body in self.bodies:
            self.world.t.client.apply(body)
        until(lambda: all(map(self._usable, self.bodies)), 60)

    def _usable(self, body: Json) -> bool:
        """A quota that nobody has counted lets no pod in, and a pod needs an account."""
        client, metadata = self.world.t.client, body["metadata"]
        if body["kind"] == "Namespace":
            return client.get("v1", "ServiceAccount", "default", metadata["name"]) is not None
        if body["kind"] != "ResourceQuota":
            return True
        found = client.get("v1", "ResourceQuota", metadata["name"], metadata["namespace"]) or {}
        return bool(found.get("status", {}).get("hard") == found.get("spec", {}).get("hard", ""))

    def remove(self) -> None:
        for body in self.bodies:
            metadata = body["metadata"]
            if body["kind"] == "Namespace":
                self.world.clear(metadata["name"])
            elif "namespace" not in metadata:
                self.world.t.client.delete(body["apiVersion"], body["kind"], metadata["name"])

    def bound(self) -> set[str]:
        """The team's pods that have a node."""
        return {name for space in self.spaces for name in self.world.watch.bound(space)}

    def settle(self, bound: int, held: int) -> None:
        """Wait until so many of the team's pods are bound, and so many held by the throttle."""

        def done() -> bool:
            refused = [why for each in self.spaces for why in watch.refused(each).values()]
            throttled = [why for why in refused if "clusterthrottle" in why]
            return len(self.bound()) == bound and len(throttled) == held

        watch = self.world.watch
        watch.until(f"{bound} bound and {held} held", done)

    def worker(self, name: str, resource: str = A100, count: int = 8) -> Json:
        """A pod that asks for a model, as admission leaves it."""
        both = {resource: str(count), GPU: str(count)}
        return pod(name, self.space, scheduler=THROTTLED, requests=both)

    def gang(self, name: str, size: int, **shape: Any) -> list[Json]:
        """A gang of such workers."""
        both = {A100: "8", GPU: "8"}
        return gang(name, self.space, size, scheduler=THROTTLED, requests=both, **shape)


@pytest.fixture
def teams(world: World) -> Iterator[Teams]:
    found = Teams(world)
    yield found
    found.remove()


def around(start: float, end: float) -> Json:
    """Off-peak hours from so many hours from now until so many, on each day around today."""
    now = dt.datetime.now(dt.UTC)
    clocks = [f"{now + dt.timedelta(hours=each):%H:%M}" for each in (start, end)]
    days = [f"{now + dt.timedelta(days=each):%Y-%m-%d}" for each in (-2, 2)]
    zone: Json = {"time_zone": "UTC", "weekends": False, "start": clocks[0], "end": clocks[1]}
    return {**zone, "first_day": days[0], "last_day": days[1]}


NOW, LATER = (-2, 2), (3, 5)


# --- limits ---


def test_a_team_is_held_at_its_limit_over_all_its_namespaces(
    throttler: World, teams: Teams
) -> None:
    teams.apply(teams.site(accelerators={A: 24}))
    pods = [teams.worker(f"a-{number}") for number in range(5)]
    for each in pods[3:]:
        each["metadata"]["namespace"] = teams.other
    throttler.run(pods)
    teams.settle(bound=3, held=2)
    # What ends makes room.
    first = min(teams.bound())
    space = teams.space if first in throttler.watch.bound(teams.space) else teams.other
    throttler.t.client.delete("v1", "Pod", first, space)
    teams.settle(bound=3, held=1)


def test_a_team_gets_nothing_of_a_model_that_it_is_not_promised(
    throttler: World, teams: Teams
) -> None:
    teams.apply(teams.site(accelerators={A: 8}))
    throttler.run([teams.worker("a"), teams.worker("h", resource=H100, count=1)])
    teams.settle(bound=1, held=1)
    assert teams.bound() == {"a"}


def test_another_limit_evicts_nobody_and_lets_the_next_in(throttler: World, teams: Teams) -> None:
    teams.apply(teams.site(accelerators={A: 16}))
    throttler.run([teams.worker(f"a-{number}") for number in range(3)])
    teams.settle(bound=2, held=1)
    before = teams.bound()
    teams.apply(teams.site(accelerators={A: 8}))
    throttler.run([teams.worker("late")])
    teams.settle(bound=2, held=2)
    assert teams.bound() == before
    teams.apply(teams.site(accelerators={A: 32}))
    teams.settle(bound=4, held=0)


@pytest.mark.parametrize(("when", "count"), [(NOW, 3), (LATER, 1)])
def test_off_peak_another_limit_holds(
    throttler: World, teams: Teams, when: tuple[float, float], count: int
) -> None:
    teams.apply(teams.site(around(*when), accelerators={A: 8}, off_peak={A: 24}))
    throttler.run([teams.worker(f"a-{number}") for number in range(4)])
    teams.settle(bound=count, held=4 - count)


@pytest.mark.parametrize(("trap", "count"), [(False, 2), (True, 4)])
def test_off_peak_a_model_without_other_limits_keeps_its_own(
    throttler: World, teams: Teams, trap: bool, count: int
) -> None:
    """An override takes the place of the whole threshold: one that left a model out, as none of
    ours does, would leave it without a limit."""
    site = teams.site(around(*NOW), accelerators={A: 16}, off_peak={H: 8})
    (throttle,) = [deepcopy(m.body) for m in objects(site) if m.kind == "ClusterThrottle"]
    for override in throttle["spec"]["temporaryThresholdOverrides"] if trap else ():
        del override["threshold"]["resourceRequests"][A100]
    teams.apply(site, throttle)
    throttler.run([teams.worker(f"a-{number}") for number in range(4)])
    teams.settle(bound=count, held=4 - count)


def test_without_a_throttler_a_pod_too_many_is_refused(world: World, teams: Teams) -> None:
    team = {"name": "vision", "namespaces": [teams.space], "accelerators": {A: 8}}
    teams.apply(with_backends(teams=[team]))
    world.t.client.create(pod("a", teams.space, requests={A100: "8"}))
    said = refusal(world, pod("b", teams.space, requests={A100: "1"}))
    assert "exceeded quota: accelerators" in said and A100 in said


def refusal(world: World, body: Json) -> str:
    """The server's message on a pod that it refuses."""
    with pytest.raises(ApiError) as error:
        world.t.client.create(body)
    return error.value.message


# --- limits and gangs, in one scheduler ---


in_one = pytest.mark.parametrize("throttler", [WHOLE], indirect=True, ids=["both"])


@in_one
def test_a_gang_starts_whole_within_the_limit_or_not_at_all(throttler: World, teams: Teams) -> None:
    """The throttler looks first (its plugin comes first in the profile): it counts the whole gang,
    so none of its pods gets as far as to wait for the others."""
    teams.apply(teams.site(accelerators={A: 24}))
    throttler.run(teams.gang("large", 4))
    throttler.jostle(THROTTLED, "a try", lambda: throttler.watch.refused(teams.space))
    teams.settle(bound=0, held=4)
    # A smaller one has room beside it, as the limit is of what runs.
    throttler.run(teams.gang("small", 3))
    throttler.jostle(THROTTLED, "the smaller gang", lambda: len(teams.bound()) == 3)
    assert all(name.startswith("small-") for name in teams.bound())
    throttler.t.delete(throttler.watch.pods(teams.space))
    throttler.watch.until("an empty namespace", lambda: not throttler.watch.pods(teams.space))
    teams.apply(teams.site(accelerators={A: 32}))
    throttler.run(teams.gang("again", 4))
    throttler.jostle(THROTTLED, "the gang within the limit", lambda: len(teams.bound()) == 4)


@in_one
def test_a_gang_that_cannot_start_keeps_nothing_of_the_limit(
    throttler: World, teams: Teams
) -> None:
    """Its pods reserve while they wait for the others, and give that back when they stop."""
    teams.apply(teams.site(accelerators={A: 32}))
    three = hosts(throttler, 3, "a100")
    throttler.run(teams.gang("parked", 4, affinity=three))
    throttler.run([teams.worker(f"a-{number}") for number in range(4)])
    throttler.jostle(THROTTLED, "the others", lambda: len(teams.bound()) == 4, seconds=90)
    assert all(name.startswith("a-") for name in teams.bound())


@in_one
def test_a_higher_tier_ends_a_whole_gang_of_this_scheduler(throttler: World, teams: Teams) -> None:
    teams.apply(teams.site(accelerators={A: 64}, priorities=["first", "second"]))
    four = hosts(throttler, 4, "a100")
    throttler.run(teams.gang("low", 4, priority="second", affinity=four))
    throttler.jostle(THROTTLED, "the gang", lambda: len(teams.bound()) == 4)
    (high,) = teams.gang("high", 1, priority="first", affinity=four)
    high["metadata"]["annotations"] = {}
    throttler.run([high])
    throttler.watch.until("the higher one", lambda: teams.bound() == {"high-0"})
    gone = {each.pod for each in throttler.watch.deletions(teams.space)}
    assert gone == {f"low-{number}" for number in range(4)}, "one node was enough"


# --- tiers ---


def test_a_pod_of_a_tier_that_is_not_its_teams_is_refused(world: World, teams: Teams) -> None:
    teams.apply(teams.site(priorities=["second"]))
    (first, _) = [m.body for m in objects(teams.site()) if m.kind == "PriorityClass"]
    others = {**first, "metadata": {"name": "made-by-others"}, "value": 500}
    teams.bodies.append(world.t.client.apply(others))
    for tier in ("first", "made-by-others", "system-cluster-critical", "system-node-critical"):
        said = refusal(world, pod("a", teams.space, priority=tier))
        assert "exceeded quota: other-priorities" in said, tier
    world.t.client.create(pod("own", teams.space, priority="second"))
    world.t.client.create(pod("none", teams.space))


def test_a_higher_tier_takes_the_place_of_a_whole_gang(world: World, teams: Teams) -> None:
    """Preemption asks for the node of one pod; the gang plugin lets the others go with it."""
    world.needs(GANG)
    teams.apply(teams.site(priorities=["first", "second"]))
    whole: dict[str, Any] = {"scheduler": GANG, "affinity": hosts(world, 4)}
    whole["requests"] = {GPU: "8"}
    world.run(gang("low", teams.space, 4, priority="second", **whole))
    world.jostle(GANG, "the gang", lambda: len(teams.bound()) == 4)
    world.run([pod("high", teams.other, priority="first", **whole)])
    world.watch.until("the higher one", lambda: world.watch.bound(teams.other))
    world.watch.until("the end of the gang", lambda: not world.watch.pods(teams.space))
    gone = {each.pod for each in world.watch.deletions(teams.space)}
    assert gone == {f"low-{number}" for number in range(4)}, "one node was enough"


def test_an_equal_tier_waits(world: World, teams: Teams) -> None:
    teams.apply(teams.site(priorities=["second"]))
    whole: dict[str, Any] = {"affinity": hosts(world, 1), "requests": {GPU: "8"}}
    world.run([pod("early", teams.space, priority="second", **whole)])
    world.watch.until("the first", teams.bound)
    world.run([pod("late", teams.space, priority="second", **whole)])
    world.watch.until("a try", lambda: "late" in world.watch.refused(teams.space))
    assert teams.bound() == {"early"}


def hosts(world: World, count: int, of: str = "v100") -> dict[str, Any]:
    """So many nodes with eight GPUs each, and no others."""
    pool = next(each for each in world.site.file.pools if each.name == of)
    return on(*(host.name for host in world.site.hosts_of(pool)[:count]))


# --- space on disk ---


def disk(body: Json) -> tuple[str, str]:
    """The requests of a pod's container, and its limits."""
    resources = body["spec"]["containers"][0]["resources"]
    return resources["requests"]["ephemeral-storage"], resources["limits"]["ephemeral-storage"]


def test_a_container_that_says_nothing_gets_space_on_disk(world: World, teams: Teams) -> None:
    sizes = {"request": "1Gi", "limit": "2Gi", "max": "3Gi"}
    teams.apply(teams.site(ephemeral_storage=sizes))
    assert disk(world.t.client.create(pod("a", teams.space))) == ("1Gi", "2Gi")
    sized = pod("b", teams.space, requests={"ephemeral-storage": "3Gi"})
    assert disk(world.t.client.create(sized)) == ("3Gi", "3Gi")
    large = pod("c", teams.space, requests={"ephemeral-storage": "4Gi"})
    assert "maximum ephemeral-storage usage per Container is 3Gi" in refusal(world, large)
