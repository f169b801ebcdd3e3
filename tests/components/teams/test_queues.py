"""Queues of Kueue and Volcano for a site's teams: what they admit, and what they cover."""

from dataclasses import replace

from components.making.manifest import Json
from components.making.rdma import needs
from components.teams.kueue import UNLIMITED
from schemas.facts.site import Site
from schemas.model.accelerators import CHANNEL_RESOURCE, ComputeDomains
from tests.kit.scheduling_site import A100, H100, V100
from tests.kit.teams_site import KUEUE, A, H, by_name, on_volcano, site, spec, with_rdma


def quota(made: Site, name: str, resource: str) -> Json:
    """The quota of a resource in a cohort or a queue of a cluster."""
    (found,) = [
        each
        for group in spec(made, name)["resourceGroups"]
        for flavor in group["flavors"]
        for each in flavor["resources"]
        if each["name"] == resource
    ]
    return dict(found)


def test_a_queue_borrows_what_its_team_is_promised_of_what_the_site_has() -> None:
    made = site(KUEUE)
    # 80 hosts with 8 each, none of them a spare
    assert quota(made, "Cohort", A100)["nominalQuota"] == "640"
    for team, promised in (("vision", "0"), ("language", "600")):
        found = quota(made, f"ClusterQueue/{team}", A100)
        assert (found["nominalQuota"], found["borrowingLimit"]) == ("0", promised)
        assert spec(made, f"ClusterQueue/{team}")["cohortName"] == "tokyo-1"


def test_a_queue_covers_what_jobs_ask_for_besides() -> None:
    """One that does not admits no job that asks for it: LimitRanges add space on disk to all, and
    a namespace's default queue takes also those that ask for models of other schedulers."""
    made = with_rdma(site(KUEUE), "a100", by_rail=True)
    (a100,) = [pool for pool in made.file.pools if pool.name == "a100"]
    rails = [f"rdma/{name}" for name in ("hca_rail0", "hca_rail1")]
    assert set(rails) == set(needs(made, a100, "vision").resources)
    (h100,) = [pool for pool in made.file.pools if pool.name == "h100"]
    others = {*UNLIMITED, "nvidia.com/gpu", V100, H100, *needs(made, h100, "vision").resources}
    others |= set(rails)
    for name in ("Cohort", "ClusterQueue/vision"):
        groups = spec(made, name)["resourceGroups"]
        assert {each for group in groups for each in group["coveredResources"]} == {A100, *others}
        for group in groups:
            for flavor in group["flavors"]:
                assert [r["name"] for r in flavor["resources"]] == group["coveredResources"]
    assert all("borrowingLimit" not in quota(made, "ClusterQueue/vision", r) for r in others)


def test_a_flavor_is_the_nodes_of_a_model() -> None:
    made = site({**KUEUE, "pools": ["a100", "h100"]})
    assert spec(made, f"ResourceFlavor/{A}") == {
        "nodeLabels": {"node.cluster.x-k8s.io/accelerator": A}
    }
    (toleration,) = spec(made, f"ResourceFlavor/{H}")["tolerations"]
    reserved = {"key": "example.com/reserved", "value": "large-jobs", "effect": "NoSchedule"}
    assert toleration == {"operator": "Equal", **reserved}


def test_only_a_teams_namespaces_use_its_queue() -> None:
    made = by_name(site(KUEUE))
    selector = made["ClusterQueue/vision"].body["spec"]["namespaceSelector"]
    assert selector == {"matchLabels": {"foresite.dev/team": "vision"}}
    queues = {m.key[2]: m.body for m in made.values() if m.kind == "LocalQueue"}
    named = {name: body["spec"]["clusterQueue"] for name, body in queues.items()}
    assert named == {"vision": "vision", "vision-dev": "vision", "language": "language"}
    # By this name Kueue gives it to jobs that name none.
    assert {body["metadata"]["name"] for body in queues.values()} == {"default"}


def test_a_teams_tiers_stand_where_the_policy_of_its_jobs_reads_them() -> None:
    made = by_name(site(KUEUE))
    notes = made["Namespace/vision-dev"].body["metadata"]["annotations"]
    assert notes["foresite.dev/priorities"].split(",") == ["project", "normal"]
    assert made["WorkloadPriorityClass/low"].body["value"] == 10


def test_a_queue_of_volcano_has_what_its_team_is_promised() -> None:
    made = by_name(on_volcano())
    for team, promised in (("vision", "0"), ("language", "600")):
        assert made[f"Queue/{team}"].body["spec"]["capability"] == {A100: promised}
        notes = made[f"Namespace/{team}"].body["metadata"]["annotations"]
        assert notes["scheduling.volcano.sh/queue-name"] == team


def test_with_a_topology_a_model_has_one_flavor_for_all_that_a_pod_asks_for() -> None:
    """Kueue refuses a pod whose resources are of several flavours where it looks at a topology."""
    levels = ["zone", "rack", "host"]
    made = site({**KUEUE, "pools": ["a100", "h100"], "topology": levels})
    labels = ("topology.kubernetes.io/zone", "foresite.dev/rack", "kubernetes.io/hostname")
    assert spec(made, "Topology") == {"levels": [{"nodeLabel": each} for each in labels]}
    objects = by_name(made)
    topology = objects["Topology"].body["metadata"]["name"]
    flavors = {model: objects[f"ResourceFlavor/{model}"].body for model in (A, H)}
    for model, body in flavors.items():
        assert body["spec"]["topologyName"] == topology
        assert body["metadata"]["name"].startswith(f"{model}-")
    names = [each["metadata"]["name"] for each in flavors.values()]
    for name in ("Cohort", "ClusterQueue/language"):
        (group,) = spec(made, name)["resourceGroups"]
        assert [each["name"] for each in group["flavors"]] == ["any.node", *names]
        assert {A100, H100, "cpu", "memory"} <= {*group["coveredResources"]}
        found = {
            flavor["name"]: {each["name"]: each for each in flavor["resources"]}
            for flavor in group["flavors"]
        }
        for each in found.values():
            assert list(each) == group["coveredResources"]
        for other in ("any.node", names[1]):
            assert found[other][A100] == {"name": A100, "nominalQuota": "0"}
        limit = found[names[0]][A100]
        assert limit.get("borrowingLimit", limit["nominalQuota"]) in ("600", "640")
    other = by_name(site({**KUEUE, "pools": ["a100", "h100"], "topology": levels[1:]}))
    assert other["Topology"].body["metadata"]["name"] != topology
    assert other[f"ResourceFlavor/{A}"].body["metadata"]["name"] not in names


def test_a_queue_covers_the_channels_of_compute_domains() -> None:
    """Kueue 0.19 holds a job whose claims it cannot count."""
    made = site(KUEUE)
    assert made.file.accelerators
    chosen = made.file.accelerators.model_copy(update={"compute_domains": ComputeDomains()})
    made = replace(made, file=made.file.model_copy(update={"accelerators": chosen}))
    assert quota(made, "Cohort", CHANNEL_RESOURCE)["nominalQuota"] == "1M"
    assert quota(made, "ClusterQueue/language", CHANNEL_RESOURCE)["nominalQuota"] == "0"
