"""A site's teams on a real API server: their objects, and jobs in queues."""

import pytest

from components.making.manifest import Json
from components.teams.objects import objects
from controlplane import ApiError, Client
from schemas.facts.site import Site
from tests.kit.teams_server import SITE, pod_group, refused, workload
from tests.kit.teams_site import KUEUE, LANGUAGE, VISION, V, site, with_rdma
from tests.kit.waiting import until

pytestmark = pytest.mark.controlplane


SITES: dict[str, Site] = {"throttler": site(), "kueue": site(KUEUE), "everything": SITE}


@pytest.mark.parametrize("name", SITES)
def test_every_object_passes_a_strict_dry_run(client: Client, name: str) -> None:
    made = [each for each in objects(SITES[name]) if each.kind != "Namespace"]
    assert made
    for each in made:
        client.apply(each.body, dry_run=True)


def test_a_strict_dry_run_finds_a_misspelt_field(client: Client) -> None:
    (made,) = [m for m in objects(site()) if m.name == "ClusterThrottle/vision/gang-scheduler"]
    selector = made.body["spec"]["selector"]
    wrong = {**made.body["spec"], "selector": {"selecterTerms": selector["selectorTerms"]}}
    with pytest.raises(ApiError, match="selecterTerms"):
        client.apply({**made.body, "spec": wrong}, dry_run=True)


# --- jobs in queues ---


@pytest.mark.parametrize(
    ("tier", "good"),
    [(None, True), ("project", True), ("normal", True), ("low", False), ("nor", False)],
)
def test_a_job_goes_first_only_by_a_tier_of_its_team(
    client: Client, tier: str | None, good: bool
) -> None:
    said = refused(client, workload(tier, "vision"))
    assert not said if good else "PriorityClass that is not the team's" in said


def test_a_job_that_runs_is_written_even_if_its_team_lost_the_tier(client: Client) -> None:
    client.create(workload("project", "vision-dev"))
    lost = {"metadata": {"annotations": {"foresite.dev/priorities": "normal"}}}
    merge = "application/merge-patch+json"
    client.request("PATCH", "/api/v1/namespaces/vision-dev", lost, merge)
    other = workload("project", "vision-dev")
    other["metadata"]["name"] = "b"
    until(lambda: refused(client, other), 30)
    path = "/apis/kueue.x-k8s.io/v1beta2/namespaces/vision-dev/workloads/a"
    client.request("PATCH", path, {"metadata": {"labels": {"a": "b"}}}, merge)
    with pytest.raises(ApiError, match="not the team's"):
        client.request("PATCH", path, {"spec": {"priorityClassRef": {"name": "low"}}}, merge)


@pytest.mark.parametrize(
    ("queue", "good"), [("robots", True), ("vision", False), ("default", False), (None, False)]
)
def test_a_job_waits_in_its_teams_queue(client: Client, queue: str | None, good: bool) -> None:
    """Volcano writes a namespace's queue into a job that names none before this is judged."""
    said = refused(client, pod_group(queue))
    assert not said if good else "queue that is not the team's" in said


# --- what cannot change ---


@pytest.mark.parametrize(
    ("kind", "name", "namespace", "change"),
    [
        ("PriorityClass", "project", None, {"value": 1001}),
        ("PriorityClass", "project", None, {"preemptionPolicy": "Never"}),
        # A second default, while another one still is.
        ("PriorityClass", "project", None, {"globalDefault": True}),
        ("LocalQueue", "default", "vision", {"spec": {"clusterQueue": "language"}}),
    ],
)
def test_the_server_refuses_what_the_rules_say_it_refuses(
    client: Client, kind: str, name: str, namespace: str | None, change: Json
) -> None:
    (made,) = [
        m.body
        for m in objects(SITE)
        if m.kind == kind and m.key[3] == name and m.key[2] == (namespace or "")
    ]
    with pytest.raises(ApiError) as error:
        client.apply({**made, **change}, dry_run=True)
    assert error.value.status in (403, 422)


def test_limits_can_change(client: Client) -> None:
    other = [{**VISION, "accelerators": {V: 1}, "off_peak": {}}, {**LANGUAGE, "accelerators": {}}]
    changed = with_rdma(site(KUEUE, teams=other, off_peak=None), "v100")
    limits = ("ClusterThrottle", "ClusterQueue", "Cohort", "ResourceFlavor")
    made = [each for each in objects(changed) if each.kind in limits]
    assert {each.kind for each in made} == set(limits)
    for each in made:
        client.apply(each.body, dry_run=True)
