"""The objects of a site's teams: namespaces, PriorityClasses, limits and queues, each as its holder
reads it."""

from dataclasses import replace

import pytest

from components.making.dump import dump
from components.making.manifest import Json, Target
from components.making.rdma import needs
from components.teams.objects import objects
from schemas.facts.quotas import OBJECTS
from schemas.facts.site import Site
from schemas.kubernetes.objects import check_object
from tests.golden import with_file
from tests.kit.scheduling_site import A100, H100, IMAGE, V100
from tests.kit.scheduling_site import site as with_backends
from tests.kit.teams_site import (
    GANG,
    KUEUE,
    LANGUAGE,
    NIGHTS,
    RESOURCES,
    TIERS,
    VISION,
    A,
    H,
    V,
    by_name,
    findings,
    on_volcano,
    site,
    spec,
    with_rdma,
)

ONE_NAMESPACE = {**VISION, "namespaces": ["vision"]}
SITES: dict[str, Site] = {
    "throttler": site(),
    "kueue": site(KUEUE, network_policy=True, quota={"share_percent": 30}),
    "volcano": on_volcano(),
    "no tiers": site(priorities=[], teams=[{**VISION, "priorities": []}]),
    "no hours": site(off_peak=None, teams=[LANGUAGE]),
    "tiers alone": site(teams=[], off_peak=None),
}


def throttled(name: str, *pools: str) -> Json:
    """A kube-scheduler with a throttler, of the same name both."""
    scheduler = {"image": IMAGE, "throttler": name}
    return {"name": name, "kind": "kube-scheduler", "pools": list(pools), "scheduler": scheduler}


def labels(made: Site, name: str) -> dict[str, str]:
    found: dict[str, str] = by_name(made)[name].body["metadata"]["labels"]
    return found


@pytest.mark.parametrize("name", SITES)
def test_every_object_is_one_that_its_schema_takes(name: str) -> None:
    made = objects(SITES[name])
    assert [(m.name, list(check_object(m.body))) for m in made if check_object(m.body)] == []
    assert len({m.name for m in made}) == len({m.key for m in made}) == len(made) > 0
    assert {m.target for m in made} == {Target.SITE}
    assert findings(SITES[name]) == []


def test_a_site_that_says_nothing_has_nothing() -> None:
    assert objects(with_file(site(), scheduling=None, access=None)) == []


# --- namespaces ---


def test_a_namespace_is_its_teams_and_is_never_deleted() -> None:
    made = by_name(site())
    owners = {
        name: made[f"Namespace/{name}"].body["metadata"]["labels"]["foresite.dev/team"]
        for name in ("vision", "vision-dev", "language")
    }
    assert owners == {"vision": "vision", "vision-dev": "vision", "language": "language"}
    assert all(m.protect for m in made.values() if m.kind == "Namespace")


ENFORCED, BEYOND = "pod-security.kubernetes.io/enforce", "foresite.dev/rdma"


@pytest.mark.parametrize(
    ("pool", "rdma", "vision", "language"),
    [
        # vision is promised v100 alone; a pool without accelerators is everybody's
        ("v100", {}, "ipc-lock", "ipc-lock"),
        ("a100", {}, None, "ipc-lock"),
        ("h100", {}, None, None),
        ("cpu", {}, "ipc-lock", "ipc-lock"),
        ("control", {}, None, None),
        ("a100", {"link": "ethernet"}, None, "host-network"),
    ],
)
def test_pods_may_do_what_the_rdma_of_their_pools_needs(
    pool: str, rdma: Json, vision: str | None, language: str | None
) -> None:
    made = with_rdma(site(), pool, **rdma)
    (changed,) = [each for each in made.file.pools if each.name == pool]
    need = needs(made, changed, "vision")
    assert need.capabilities == ["IPC_LOCK"], "what the namespaces have to allow has changed"
    assert need.host_network == (rdma.get("link") == "ethernet")
    for namespace, beyond in (("vision", vision), ("vision-dev", vision), ("language", language)):
        found = labels(made, f"Namespace/{namespace}")
        assert found.get(BEYOND) == beyond
        # Pod Security's baseline refuses both, so it steps back where the policy steps in.
        assert found[ENFORCED] == ("privileged" if beyond else "baseline")


def test_a_team_may_do_more_where_it_is_promised_a_model_at_night_alone() -> None:
    night = {**VISION, "accelerators": {}, "off_peak": {V: 8}}
    found = labels(with_rdma(site(teams=[night]), "v100"), "Namespace/vision")
    assert found[BEYOND] == "ipc-lock"


def test_the_policy_for_pods_is_there_before_any_namespace_needs_it() -> None:
    made = [m.name for m in objects(site())]
    assert "ValidatingAdmissionPolicy/pods.teams" in made
    assert "ValidatingAdmissionPolicyBinding/pods.teams" in made


def test_disk_space_is_the_teams_or_the_sites() -> None:
    own = {"request": "1Gi", "limit": "2Gi", "max": "3Gi"}
    made = site(
        teams=[{**VISION, "ephemeral_storage": own}, LANGUAGE],
        ephemeral_storage={"request": "20Gi"},
    )
    (vision,) = spec(made, "LimitRange/vision")["limits"]
    (language,) = spec(made, "LimitRange/language")["limits"]
    sizes = [
        [limit[key]["ephemeral-storage"] for key in ("defaultRequest", "default", "max")]
        for limit in (vision, language)
    ]
    assert sizes == [["1Gi", "2Gi", "3Gi"], ["20Gi", "50Gi", "200Gi"]]
    assert {vision["type"], language["type"]} == {"Container"}


# --- tiers ---


def test_a_tier_is_called_what_pods_write() -> None:
    made = by_name(site())
    classes = [made[f"PriorityClass/{name}"].body for name in ("project", "normal", "low")]
    assert [each["metadata"]["name"] for each in classes] == ["project", "normal", "low"]
    assert [each["value"] for each in classes] == [1000, 100, 10]
    assert [each["globalDefault"] for each in classes] == [False, True, False]
    policies = [each["preemptionPolicy"] for each in classes]
    assert policies == ["PreemptLowerPriority", "PreemptLowerPriority", "Never"]


@pytest.mark.parametrize(
    ("tiers", "own", "allowed"),
    [(TIERS, ["project"], ["project", "normal"]), (TIERS, [], ["normal"]), (TIERS[:1], [], None)],
)
def test_a_team_is_kept_to_its_tiers(
    tiers: list[Json], own: list[str], allowed: list[str] | None
) -> None:
    made = site(priorities=tiers, teams=[{**VISION, "priorities": own}])
    for namespace in ("vision", "vision-dev"):
        found = spec(made, f"ResourceQuota/{namespace}/priorities")
        assert found["hard"] == {"pods": "0"}
        some, *others = found["scopeSelector"]["matchExpressions"]
        assert some == {"scopeName": "PriorityClass", "operator": "Exists"}
        expected = {"scopeName": "PriorityClass", "operator": "NotIn", "values": allowed}
        assert others == ([expected] if allowed else [])


# --- throttles and quotas ---


def test_a_throttle_is_for_all_of_a_teams_namespaces_and_pods() -> None:
    found = spec(site(), f"ClusterThrottle/vision/{GANG}")
    (term,) = found["selector"]["selectorTerms"]
    assert term["namespaceSelector"] == {"matchLabels": {"foresite.dev/team": "vision"}}
    assert term["podSelector"] == {}
    assert found["throttlerName"] == "gpu"


def test_a_throttle_names_every_model_of_its_throttler() -> None:
    made = site(throttled("other", "a100", "h100"))
    vision = spec(made, "ClusterThrottle/vision/other")["threshold"]["resourceRequests"]
    language = spec(made, "ClusterThrottle/language/other")["threshold"]["resourceRequests"]
    assert vision == {A100: "0", H100: "0"}
    assert language == {A100: "600", H100: "0"}
    assert "temporaryThresholdOverrides" not in spec(made, "ClusterThrottle/vision/other")


def test_every_override_names_every_model() -> None:
    """kube-throttler puts it in place of the threshold: what it leaves out would be unlimited."""
    team = {**VISION, "accelerators": {V: 400, A: 8}}
    made = with_backends(
        throttled(GANG, "v100", "a100"), teams=[team], priorities=TIERS, off_peak=NIGHTS
    )
    found = spec(made, f"ClusterThrottle/vision/{GANG}")
    assert found["threshold"]["resourceRequests"] == {V100: "400", A100: "8"}
    overrides = found["temporaryThresholdOverrides"]
    assert overrides
    thresholds = [each["threshold"]["resourceRequests"] for each in overrides]
    assert thresholds == [{V100: "600", A100: "8"}] * len(overrides)
    # The night of the last day ends on the morning after, 08:00 in Tokyo.
    assert overrides[0]["begin"] == "2026-12-01T13:00:00Z"
    assert overrides[-1]["end"] == "2026-12-31T23:00:00Z"


def test_without_a_throttler_each_namespace_has_a_quota() -> None:
    made = site()
    hard = {
        name: spec(made, f"ResourceQuota/{name}/accelerators")["hard"]
        for name in ("vision", "vision-dev", "language")
    }
    nothing = {f"requests.{A100}": "0", f"requests.{H100}": "0"}
    assert hard == {
        "vision": nothing,
        "vision-dev": nothing,
        "language": {f"requests.{A100}": "600", f"requests.{H100}": "0"},
    }


@pytest.mark.parametrize("name", ["throttler", "kueue", "volcano"])
def test_each_model_of_each_team_is_limited_in_one_way(name: str) -> None:
    made = SITES[name]
    for team in ("vision", "language"):
        ways = [resource for m in objects(made) for resource in _limited(m.body, team)]
        assert sorted(set(ways)) == sorted(RESOURCES[model] for model in (V, A, H))
        per_namespace = 2 if team == "vision" else 1
        quotas = [each for each in ways if each == H100]
        assert len(quotas) == per_namespace


def _limited(body: Json, team: str) -> list[str]:
    """The models that an object limits for a team."""
    metadata, given = body["metadata"], body.get("spec", {})
    if body["kind"] == "ClusterThrottle" and metadata["name"].startswith(f"{team}."):
        return list(given["threshold"]["resourceRequests"])
    if body["kind"] == "ResourceQuota" and metadata["namespace"].startswith(team):
        return [
            key.removeprefix("requests.")
            for key in given["hard"]
            if key[:9] == "requests." and "/" in key
        ]
    if body["kind"] == "ClusterQueue" and metadata["name"] == team:
        flavors = [flavor for group in given["resourceGroups"] for flavor in group["flavors"]]
        quotas = [quota for flavor in flavors for quota in flavor["resources"]]
        return [quota["name"] for quota in quotas if "borrowingLimit" in quota]
    if body["kind"] == "Queue" and metadata["name"] == team:
        return list(given["capability"])
    return []


# --- objects, cores and memory, connections ---


def test_a_namespace_has_room_for_a_teams_work_and_no_more() -> None:
    own = {**VISION, "quota": {"objects": {"pods": 10, "count/leases.coordination.k8s.io": 3}}}
    made = site(teams=[own, LANGUAGE], quota={"objects": {"secrets": 7}})
    usual = {name: str(count) for name, count in OBJECTS.items()}
    vision, dev, language = (
        spec(made, f"ResourceQuota/{name}/objects")["hard"]
        for name in ("vision", "vision-dev", "language")
    )
    assert vision == dev == {**usual, "pods": "10", "count/leases.coordination.k8s.io": "3"}
    assert language == {**usual, "secrets": "7"}
    (limit,) = spec(made, "LimitRange/vision")["limits"]
    assert set(limit["defaultRequest"]) == {"ephemeral-storage"}


def test_a_share_is_of_the_hosts_that_a_team_can_use() -> None:
    made = site(teams=[{**VISION, "quota": {"share_percent": 50}}, LANGUAGE])
    pools = [pool for pool in made.file.pools if pool.name in ("cpu", "v100")]
    cores = sum(made.replicas(pool) * made.profile(pool).cpu_cores for pool in pools)
    memory = sum(made.replicas(pool) * made.profile(pool).memory_gib for pool in pools)
    # Half of it, for two namespaces.
    for name in ("vision", "vision-dev"):
        hard = spec(made, f"ResourceQuota/{name}/objects")["hard"]
        assert hard["requests.cpu"] == str(cores // 4)
        assert hard["requests.memory"] == f"{memory // 4}Gi"
        (limit,) = spec(made, f"LimitRange/{name}")["limits"]
        assert {"cpu", "memory"} < set(limit["defaultRequest"])
    assert "requests.cpu" not in spec(made, "ResourceQuota/language/objects")["hard"]


@pytest.mark.parametrize(
    ("program", "said", "isolated"),
    [
        ("kube-flannel-ds", None, False),
        ("kube-flannel-ds", True, True),
        ("cilium", None, True),
        ("calico-node", None, True),
        ("calico-node", False, False),
    ],
)
def test_teams_are_kept_apart_where_the_pod_network_does_it(
    program: str, said: bool | None, isolated: bool
) -> None:
    plain = site(network_policy=said)
    daemons = {
        "apiVersion": "apps/v1",
        "kind": "DaemonSet",
        "metadata": {"name": program},
        "spec": {},
    }
    path = plain.file.cluster.pod_network.manifests
    made = replace(plain, texts={**plain.texts, path: dump(daemons)})
    found = {
        each.key[2]: each.body["spec"] for each in objects(made) if each.kind == "NetworkPolicy"
    }
    assert set(found) == ({"vision", "vision-dev", "language"} if isolated else set())
    for each in found.values():
        # Nothing that goes out is held back: DNS, the cache, the API server, the outside.
        assert each["policyTypes"] == ["Ingress"]
    if isolated:
        ours, nobodys = (
            peer["namespaceSelector"] for peer in found["vision"]["ingress"][0]["from"]
        )
        assert ours == {"matchLabels": {"foresite.dev/team": "vision"}}
        (term,) = nobodys["matchExpressions"]
        assert term == {"key": "foresite.dev/team", "operator": "DoesNotExist"}


def test_pods_on_the_network_of_hosts_reach_their_team() -> None:
    def allowed(link: str) -> list[Json]:
        made = with_rdma(site(network_policy=True), "v100", link=link)
        peers: list[Json] = by_name(made)["NetworkPolicy/vision"].body["spec"]["ingress"][0]["from"]
        return [each["ipBlock"] for each in peers if "ipBlock" in each]

    assert allowed("infiniband") == []
    assert allowed("ethernet") == [{"cidr": str(zone.network)} for zone in site().file.zones]


def test_the_same_file_gives_the_same_objects() -> None:
    first, second = (
        site(teams=[ONE_NAMESPACE, LANGUAGE], off_peak={**NIGHTS, "last_day": "2027-06-30"})
        for _ in range(2)
    )
    assert objects(first) == objects(second)
