"""The objects of a site's schedulers: whole, safe, and in step with each other."""

import json
from typing import Any

import pytest

from components.effects.placement import Fit, fits
from components.machines.fleet import side_of
from components.making.gang import annotations
from components.making.manifest import CONFIGURATION_ANNOTATION, Json, Manifest, Target
from components.schedulers.canary import PRIORITY
from components.schedulers.objects import objects
from schemas.facts.site import Site
from schemas.kubernetes.bodies import items, mapping
from schemas.kubernetes.objects import check_object
from schemas.model.scheduling import Gang, Priority
from schemas.rules import site_findings
from tests.kit.scheduling_site import (
    GANG,
    GANG_SCHEDULER,
    PREFIX,
    THROTTLED,
    THROTTLED_SCHEDULER,
    by_name,
    canary,
    container,
    site,
    template,
    with_gang,
    with_scheduler,
)

BOTH = (GANG, THROTTLED)
NAMES = (GANG_SCHEDULER, THROTTLED_SCHEDULER)
KUEUE: Json = {"name": "kueue", "kind": "kueue", "pools": ["cpu"]}
VOLCANO: Json = {"name": "volcano", "kind": "volcano", "pools": ["cpu"]}
LONGEST = "g" * 40


@pytest.mark.parametrize("backends", [(), (KUEUE,)], ids=["none", "Kueue"])
def test_a_site_whose_pods_all_go_to_the_default_scheduler_gets_nothing(backends: Any) -> None:
    assert objects(site(*backends)) == []


def test_volcano_brings_its_own_programs_and_gets_the_policy_alone() -> None:
    kinds = {each.kind for each in objects(site(VOLCANO))}
    assert kinds == {"ValidatingAdmissionPolicy", "ValidatingAdmissionPolicyBinding"}


@pytest.mark.parametrize("backends", [BOTH, (with_scheduler(throttler="all"), KUEUE, THROTTLED)])
def test_objects_are_what_kubernetes_takes_on_the_sites_own_cluster(backends: Any) -> None:
    made = objects(site(*backends))
    assert [fault for each in made for fault in check_object(each.body)] == []
    assert {each.target for each in made} == {Target.SITE}
    assert [each.name for each in made if each.protect] == ["Namespace/scheduling"]
    assert len({each.name for each in made}) == len({each.key for each in made}) == len(made)


def test_the_same_site_gives_the_same_objects() -> None:
    assert objects(site(*BOTH)) == objects(site(*BOTH))


def test_a_name_of_any_length_leaves_room_for_what_is_added() -> None:
    made = site({**GANG, "name": LONGEST})
    for each in objects(made):
        assert check_object(each.body) == []
        # A Job adds eleven characters to its CronJob's name, and a pod's name is a host's.
        limit = {"CronJob": 52, "Service": 63, "ConfigMap": 63, "Deployment": 52}.get(each.kind)
        assert limit is None or len(each.key[3]) <= limit, each.title


# What runs


def test_another_configuration_restarts_the_scheduler_that_reads_it_and_no_other() -> None:
    before, after = site(*BOTH), site(with_gang(jitter_seconds=3), THROTTLED)
    marks = [
        [
            template(made, name)["metadata"]["annotations"][CONFIGURATION_ANNOTATION]
            for name in NAMES
        ]
        for made in (before, after)
    ]
    assert marks[0][0] != marks[1][0]
    assert marks[0][1] == marks[1][1]


def test_schedulers_run_on_the_control_plane() -> None:
    made = site(*BOTH)
    side = side_of(made, {})
    for name in (GANG_SCHEDULER, THROTTLED_SCHEDULER):
        places = fits(side, template(made, name)["spec"])
        there = {host for host, fit in places.items() if fit is Fit.YES}
        assert there == {host.name for host in made.hosts_of(made.control_plane)}


def test_a_command_goes_before_the_flags_and_an_image_keeps_its_own() -> None:
    made = site(*BOTH)
    assert "command" not in container(made, GANG_SCHEDULER)
    assert container(made, THROTTLED_SCHEDULER)["command"] == THROTTLED["scheduler"]["command"]
    assert container(made, THROTTLED_SCHEDULER)["args"][0].startswith("--config=")


@pytest.mark.parametrize("backend", [GANG_SCHEDULER, THROTTLED_SCHEDULER])
def test_probes_and_metrics_ask_ports_that_there_are(backend: str) -> None:
    made = site(*BOTH)
    ports = {each["name"]: each["containerPort"] for each in container(made, backend)["ports"]}
    probes = [value for key, value in container(made, backend).items() if key.endswith("Probe")]
    assert {each["httpGet"]["port"] for each in probes} == set(ports)
    (service,) = by_name(made)[f"Service/{backend}"].body["spec"]["ports"]
    assert ports[service["targetPort"]] == 10259


def test_profiles_of_the_program_are_open_to_nobody() -> None:
    for name in (GANG_SCHEDULER, THROTTLED_SCHEDULER):
        spec = by_name(site(*BOTH))[f"NetworkPolicy/{name}"].body["spec"]
        assert spec["policyTypes"] == ["Ingress"]
        assert [port["port"] for rule in spec["ingress"] for port in rule["ports"]] == [10259]


def test_what_selects_a_schedulers_pods_selects_no_other() -> None:
    made = site(*BOTH)
    every = {
        **{name: template(made, name)["metadata"]["labels"] for name in NAMES},
        "canary": canary(made)["template"]["metadata"]["labels"],
    }
    for name in NAMES:
        selectors = list(_selectors(by_name(made), name))
        assert len(selectors) == 4
        for each in selectors:
            chosen = [who for who, labels in every.items() if each.items() <= labels.items()]
            assert chosen == [name]


def _selectors(made: dict[str, Manifest], name: str) -> Any:
    yield mapping(made[f"Deployment/{name}"].body, "spec", "selector", "matchLabels")
    yield mapping(made[f"PodDisruptionBudget/{name}"].body, "spec", "selector", "matchLabels")
    yield mapping(made[f"NetworkPolicy/{name}"].body, "spec", "podSelector", "matchLabels")
    yield mapping(made[f"Service/{name}"].body, "spec", "selector")


# Rights


def test_each_binding_is_for_the_account_that_the_pods_use() -> None:
    made = by_name(site(*BOTH))
    for name in NAMES:
        account = made[f"ServiceAccount/{name}"].body["metadata"]
        assert template(site(*BOTH), name)["spec"]["serviceAccountName"] == account["name"]
        bindings = [m for m in made.values() if "subjects" in m.body and f"/{name}/" in m.name]
        assert len(bindings) == 5
        for each in bindings:
            (subject,) = each.body["subjects"]
            assert (subject["name"], subject["namespace"]) == (name, account["namespace"])


def test_a_plugin_that_is_not_there_gets_no_rights() -> None:
    made = by_name(site(*BOTH))
    groups = {
        name: {
            group
            for rule in made[f"ClusterRole/{name}/plugins"].body["rules"]
            for group in rule["apiGroups"]
        }
        for name in NAMES
    }
    throttles = "schedule.k8s.everpeace.github.com"
    assert groups == {GANG_SCHEDULER: {""}, THROTTLED_SCHEDULER: {throttles}}


# The canary


def test_each_scheduler_with_gangs_has_a_canary_and_no_other() -> None:
    made = site(GANG, THROTTLED, {**GANG, "name": "more", "pools": ["cpu"]})
    found = {
        each.body["spec"]["jobTemplate"]["spec"]["template"]["spec"]["schedulerName"]
        for each in objects(made)
        if each.kind == "CronJob"
    }
    assert found == {GANG_SCHEDULER, "more"}


def test_a_canary_is_no_gang() -> None:
    made = by_name(site(GANG))[f"CronJob/{GANG_SCHEDULER}"]
    assert PREFIX not in json.dumps(made.body)


def test_a_canary_passes_all_the_time_and_ends_before_the_next() -> None:
    """Pods one after the other, for most of a minute, with at least two seconds to start each."""
    job = canary(site(GANG))
    (pod,) = job["template"]["spec"]["containers"]
    asleep = job["completions"] * int(pod["command"][1])
    assert job["parallelism"] == 1
    assert asleep >= 30
    assert asleep + 2 * job["completions"] <= job["activeDeadlineSeconds"] < 60


def test_a_canary_fits_each_node_of_its_pools_and_no_other() -> None:
    made = site(GANG)
    places = fits(side_of(made, {}), canary(made)["template"]["spec"])
    hosts = {host for host, fit in places.items() if fit is Fit.YES}
    assert hosts == {host.name for pool in GANG["pools"] for host in made.by_pool[pool]}


def test_a_canary_asks_for_nothing_and_takes_nobodys_place() -> None:
    made = site(GANG)
    for each in items(canary(made)["template"]["spec"], "containers"):
        assert set(each["resources"]["requests"].values()) == {"0"}
    tier = by_name(made)["PriorityClass/gang-canary"].body
    assert canary(made)["template"]["spec"]["priorityClassName"] == tier["metadata"]["name"]
    assert tier["preemptionPolicy"] == "Never"


def test_a_canary_is_below_every_tier_that_a_site_can_write() -> None:
    lowest: int = Priority.model_json_schema()["properties"]["value"]["minimum"]
    assert lowest > PRIORITY


# Annotations of gangs


@pytest.mark.parametrize(("size", "timeout"), [(0, None), (-1, None), (2, 0), (2, 101)])
def test_what_the_scheduler_would_misread_is_refused(size: int, timeout: int | None) -> None:
    with pytest.raises(ValueError, match=r"^a (gang|timeout) of "):
        annotations(Gang(annotation_prefix=PREFIX), "job", size, timeout)


def test_a_gang_of_one_needs_no_annotations_and_others_two() -> None:
    gang = Gang(annotation_prefix=PREFIX)
    assert annotations(gang, "job", 1) == {}
    assert annotations(gang, "job", 2) == {f"{PREFIX}-name": "job", f"{PREFIX}-size": "2"}
    assert annotations(gang, "job", 2, 100)[f"{PREFIX}-schedule-timeout-seconds"] == "100"


# What only a release can lack


def test_a_release_without_the_canarys_image_is_refused() -> None:
    made = site(GANG)
    images = {name: each for name, each in made.release.images.items() if name != "busybox"}
    release = made.release.model_copy(update={"images": images})
    bare = Site(made.file, made.hosts, release, made.hardware, made.texts, made.accelerators)
    (finding,) = site_findings(bare)
    assert finding.code == "image-unknown"
    assert finding.place == ("scheduling", "backends", 0, "scheduler", "gang")


def test_one_machine_of_control_plane_takes_one_replica() -> None:
    made = site(GANG)
    hosts = [host for host in made.hosts if host.pool != "control"]
    one = (*made.hosts_of(made.control_plane)[:1], *hosts)
    small = Site(made.file, one, made.release, made.hardware, made.texts, made.accelerators)
    found = [each for each in site_findings(small) if each.code == "scheduler-meaningless"]
    assert [each.fix for each in found] == ["add replicas: 1"]
