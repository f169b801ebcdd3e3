"""Argo CD's objects: waves are rings, each Application has one tag and one project, and nothing
deletes."""

import json

import pytest

from components.engines import argocd
from components.engines.fleet import Fleet
from components.making.manifest import Json, Target
from tests.kit import engine_fleets
from tests.kit.engine_fleets import HOSTS, MANAGEMENT, ONE, OWN, fleet, site


def objects(found: Fleet) -> dict[str, Json]:
    return engine_fleets.objects(argocd.files(found).values(), "argocd")


def test_the_root_is_apart_from_the_rules_that_its_waves_wait_by() -> None:
    found = argocd.files(fleet(site("a", 0)))
    assert [each["kind"] for each in found["root/root.yaml"]] == ["AppProject", "Application"]
    first = {path for path in found if path.startswith("install/")}
    assert {body["kind"] for path in first for body in found[path]} == {"ConfigMap"}
    assert "argocd/root once" in " ".join(argocd.advice(fleet(site("a", 0))))


def applications(made: dict[str, Json]) -> list[tuple[str, Json]]:
    found = (each for each in made.values() if each["kind"] == "Application")
    return [(each["metadata"]["name"], each) for each in found]


def waves(made: dict[str, Json]) -> dict[str, int]:
    found = [(name, each["metadata"].get("annotations")) for name, each in applications(made)]
    return {name: int(said["argocd.argoproj.io/sync-wave"]) for name, said in found if said}


def test_a_wave_is_a_ring_of_all_management_clusters_after_these_themselves() -> None:
    other = site("d", 1, management="other")
    found = waves(objects(fleet(site("c", 9), site("a", 0), site("b", 1), other, MANAGEMENT)))
    assert found == {
        "management.mgmt": -1, "a": 0, "cluster.a": 1, "b": 2, "cluster.b": 3,
        "d": 2, "cluster.d": 3, "c": 18, "cluster.c": 19,
    }  # fmt: skip


@pytest.mark.parametrize(("waited", "said"), [(True, "true"), (False, "false")])
def test_a_held_site_is_in_its_ring_and_says_that_nobody_waits(waited: bool, said: str) -> None:
    made = objects(fleet(site("a", 1, waited=waited), MANAGEMENT))
    label = "foresite.dev/waited-for"
    assert waves(made) == {"management.mgmt": -1, "a": 2, "cluster.a": 3}
    for name in ("a", "cluster.a"):
        assert made[f"Application {name}"]["metadata"]["labels"][label] == said
    assert made["Application management.mgmt"]["metadata"]["labels"][label] == "true"


def test_nothing_deletes_replaces_or_follows_a_branch() -> None:
    made = objects(fleet(site("a", 0), MANAGEMENT, tag="releases/fleet-2"))
    words = ["finalizer", "Replace", "Force", "rollingSync", "CreateNamespace", "ApplicationSet"]
    assert not [each for each in words if each in json.dumps(made)]
    for name, body in applications(made):
        is_root = name == "fleet.root"
        policy, revision = body["spec"]["syncPolicy"], body["spec"]["source"]["targetRevision"]
        automated = {"enabled": True, "prune": False, "selfHeal": not is_root, "allowEmpty": False}
        assert policy["automated"] == automated
        assert ("ApplyOutOfSyncOnly=true" in policy["syncOptions"]) != is_root
        assert {"ServerSideApply=true", "FailOnSharedResource=true"} <= {*policy["syncOptions"]}
        if is_root:
            assert (revision, policy["retry"]) == ("main", {"limit": 0})
            continue
        assert revision == "refs/tags/releases/fleet-2"
        guards = body["metadata"]["annotations"]["argocd.argoproj.io/sync-options"]
        assert guards == "Prune=false,Delete=false"


def test_an_application_writes_to_its_own_namespaces_of_one_cluster() -> None:
    made = objects(fleet(site("a", 0)))
    for name, cluster, place in (("a", "mgmt", HOSTS), ("cluster.a", "a@admin", OWN)):
        spec = made[f"Application {name}"]["spec"]
        project = made[f"AppProject foresite-{name}"]["spec"]
        assert spec["project"] == f"foresite-{name}"
        assert spec["destination"] == {"name": cluster, "namespace": place.namespaces[0]}
        spaces, kinds = project["destinations"], project["clusterResourceWhitelist"]
        assert spaces == [{"name": cluster, "namespace": each} for each in place.namespaces]
        assert kinds == [{"group": group, "kind": kind} for group, kind in place.kinds]
        assert project["sourceRepos"] == [spec["source"]["repoURL"]]
    root = made["AppProject foresite"]["spec"]
    assert root["namespaceResourceWhitelist"] == [{"group": "argoproj.io", "kind": "Application"}]
    assert root["clusterResourceWhitelist"] == [] and "*" not in json.dumps(root)


def test_only_hosts_have_fields_that_others_write() -> None:
    made = objects(fleet(site("a", 0)))
    spec = made["Application a"]["spec"]
    assert spec["ignoreDifferences"] == [
        {"group": "metal3.io", "kind": "BareMetalHost", "jsonPointers": ["/spec/online"]}
    ]
    assert "RespectIgnoreDifferences=true" in spec["syncPolicy"]["syncOptions"]
    assert "ignoreDifferences" not in made["Application cluster.a"]["spec"]


def test_a_site_is_late_after_its_machines_could_have_been_replaced() -> None:
    made = objects(fleet(site("a", 0), soak=30))
    for name, minutes in (("a", "150"), ("cluster.a", "60")):
        annotations = made[f"Application {name}"]["metadata"]["annotations"]
        assert annotations["foresite.dev/late-minutes"] == minutes
        assert annotations["foresite.dev/soak-minutes"] == "30"


def test_a_sync_ends_after_all_waves_have_had_their_time() -> None:
    """A wave's slowest Application counts, and what never was compared is not late by itself."""
    members = site("a", 0), site("b", 0, minutes=10), site("c", 1, context=None), MANAGEMENT
    (found,) = argocd.files(fleet(*members, soak=30))["install/argocd-cmd-params-cm.yaml"]
    minutes = 90 + 60 + 30, 90 + 60 + 30, 60 + 30, 90 + 60 + 30, 4 * argocd.LOOKS
    assert found["data"]["controller.sync.wave.delay.seconds"] == "30"
    assert found["data"]["controller.sync.timeout.seconds"] == str(60 * sum(minutes))


def test_a_cluster_that_argo_cd_cannot_know_gets_nothing_and_that_is_said() -> None:
    found = fleet(*(site(f"s{number}", 0, context=None) for number in range(9)))
    assert "Application cluster.s0" not in objects(found)
    said = " ".join(argocd.advice(found))
    assert "9 of the sites" in said and "s7, …" in said and "s8" not in said
    assert len([*argocd.advice(fleet(site("a", 0), MANAGEMENT))]) == 1


def test_a_site_whose_status_does_not_fit_into_etcd_is_named() -> None:
    places = {Target.MANAGEMENT: HOSTS._replace(objects=argocd.MOST + 1), Target.SITE: OWN}
    said = " ".join(argocd.advice(fleet(site("a", 0), site("big-1", 1, places=places))))
    assert "divide big-1" in said and " a" not in said.partition("divide")[2]


def test_names_of_sites_are_no_names_of_other_applications() -> None:
    """Whatever a site is called; and all fit a label's value."""
    names = ("fleet", "root", "cluster", "management", "a", "a-cluster", "foresite", "m" * 40)
    cluster = site("management.cluster", None, places=ONE)
    made = objects(fleet(*(site(each, 1) for each in names), cluster))
    assert len(waves(made)) == 2 * len(names) + 1
    assert all(len(each["metadata"]["name"]) <= 63 for each in made.values())


@pytest.mark.parametrize("path", [None, "out/rendered"])
def test_paths_are_those_of_the_repository(path: str | None) -> None:
    made, before = objects(fleet(site("a", 1), path=path)), f"{path}/" if path else ""
    assert {name: each["spec"]["source"]["path"] for name, each in applications(made)} == {
        "fleet.root": f"{before}argocd/fleet",
        "a": f"{before}a/management",
        "cluster.a": f"{before}a/site",
    }
