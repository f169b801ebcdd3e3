"""A model's resource lands on hosts that have the model, and on no others, in both ways: with the
site's policies and classes on a real API server, and the scheduler as the site configures it."""

from collections.abc import Iterator
from dataclasses import replace

import pytest

from components.accelerators.objects import objects
from components.machines.arguments import scheduler_file
from components.making.manifest import Json
from controlplane import ApiError, Client
from schemas.facts.feature_gates import api_server_gates, runtime_config
from schemas.facts.site import Site
from schemas.kubernetes.node_labels import POOL_LABEL, TEAM_LABEL
from schemas.model.site_file import Pool
from tests.kit.accelerator_pods import in_force, namespaces
from tests.kit.accelerator_sites import H100, MNCORE, POOLS, T4, V100, by_dra, site
from tests.kit.twin.cluster import Parts
from tests.kit.twin.pods import pod
from tests.kit.twin.world import World
from tests.kit.twin.world import world as running

pytestmark = [pytest.mark.scheduling, pytest.mark.proof]

ANYWHERE = [{"operator": "Exists"}]
CARDS = {"v100": (V100, 8), "h100": (H100, 8), "t4": (T4, 1), "mncore": (MNCORE, 8)}
"""Requests that lead to hosts of a pool, and the number of devices of such a host."""
SPARES = {"v100": 1}
OURS = ("RuntimeClass", "DeviceClass", "AdmissionPolicy", "AdmissionPolicyBinding")
FAKE_KIND = {
    "v100": ("gpu.nvidia.com", "Volta", "32Gi"),
    "h100": ("gpu.nvidia.com", "Hopper", "80Gi"),
    "t4": ("gpu.nvidia.com", "Turing", "16Gi"),
    "mncore": ("boards.mncore.example", "", "32Gi"),
}


def parts(of: Site) -> Parts:
    """The parts that the site's objects make of a cluster: gates, APIs, the scheduler's file,
    policies."""
    made = [each.body for each in objects(of) if each.kind.endswith(OURS)]
    found: Parts = {
        "gates": api_server_gates(of),
        "runtime": runtime_config(of),
        "schedulers": [],
        "crds": [],
        "objects": made,
    }
    text = scheduler_file(of)
    return {**found, "default": text} if text else found


def no_plugins(_site: Site, _pool: Pool) -> dict[str, str]:
    return {}


@pytest.fixture(scope="module")
def plugged(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    """The site with device plugins, as the nodes' capacity tells."""
    of = site()
    with running(tmp_path_factory.mktemp("plugins"), of, **parts(of)) as here:
        namespaces(here.t.client)
        in_force(here.t.client)
        yield here


@pytest.fixture(scope="module")
def driven(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    """The site with fakes of DRA drivers: they tell of devices, and prepare none."""
    of = by_dra()
    with running(tmp_path_factory.mktemp("dra"), of, no_plugins, **parts(of)) as here:
        here.t.create(fake_slices(here))
        namespaces(here.t.client)
        in_force(here.t.client, completing=False)
        yield here


def fake_slices(here: World) -> list[Json]:
    """The slices that DRA drivers would report of each node; on one node there is a device without
    attributes, as a driver's devices need not all be accelerators."""
    found = []
    for node in here.watch.nodes():
        name = node["metadata"]["name"]
        kind = FAKE_KIND.get(node["metadata"]["labels"][POOL_LABEL])
        if kind is None:
            continue
        driver, architecture, memory = kind
        _, count = CARDS[node["metadata"]["labels"][POOL_LABEL]]
        told = {"type": {"string": "gpu"}, "architecture": {"string": architecture}}
        devices = [
            {"name": f"card-{n}", "attributes": told, "capacity": {"memory": {"value": memory}}}
            for n in range(count)
        ]
        silent = [{"name": "silent"}] if driver == "gpu.nvidia.com" else []
        found.append(
            {
                "apiVersion": "resource.k8s.io/v1",
                "kind": "ResourceSlice",
                "metadata": {"name": f"fake-{name}"},
                "spec": {
                    "driver": driver,
                    "nodeName": name,
                    "pool": {"name": name, "generation": 1, "resourceSliceCount": 1},
                    "devices": [*devices, *silent],
                },
            }
        )
    return found


@pytest.fixture(params=["plugged", "driven"])
def here(request: pytest.FixtureRequest) -> World:
    found: World = request.getfixturevalue(request.param)
    return found


@pytest.fixture
def space(here: World) -> Iterator[str]:
    """A namespace of a team."""
    name = here.t.namespace("team")
    label = {"metadata": {"labels": {TEAM_LABEL: "vision"}}}
    merge = "application/merge-patch+json"
    here.t.client.request("PATCH", f"/api/v1/namespaces/{name}", label, merge)
    yield name
    here.clear(name)


def asking(space: str, name: str, resource: str, count: int) -> Json:
    return pod(name, space, requests={resource: str(count)}, tolerations=ANYWHERE)


def pools_of(here: World, space: str) -> list[str]:
    """The pool of each bound pod."""
    labels = {e["metadata"]["name"]: e["metadata"]["labels"] for e in here.watch.nodes()}
    return [labels[node][POOL_LABEL] for node in here.watch.bound(space).values()]


def waiting(here: World, space: str) -> list[Json]:
    """The pods that the scheduler has looked at and found no node for."""
    return [
        each
        for each in here.watch.pods(space)
        for condition in each.get("status", {}).get("conditions", [])
        if condition["type"] == "PodScheduled" and condition.get("reason") == "Unschedulable"
    ]


@pytest.mark.parametrize("pool", CARDS)
def test_a_model_lands_on_its_hosts_each_card_once(here: World, space: str, pool: str) -> None:
    """One pod more than there are hosts: that one waits, though other models are free."""
    resource, cards = CARDS[pool]
    machines = POOLS[pool] - SPARES.get(pool, 0)
    here.run(asking(space, f"whole-{n}", resource, cards) for n in range(machines + 1))
    here.watch.until(
        "whole hosts",
        lambda: len(here.watch.bound(space)) == machines and len(waiting(here, space)) == 1,
    )
    assert pools_of(here, space) == [pool] * machines
    assert len(set(here.watch.bound(space).values())) == machines


def test_cards_of_one_host_are_shared_out(here: World, space: str) -> None:
    here.run(asking(space, f"half-{n}", V100, 4) for n in range(6))
    here.watch.until("halves", lambda: len(here.watch.bound(space)) == 6)
    assert set(pools_of(here, space)) == {"v100"}
    nodes = list(here.watch.bound(space).values())
    assert {nodes.count(node) for node in nodes} == {2}


def test_a_pod_keeps_the_name_that_it_asked_for(here: World, space: str) -> None:
    here.run([asking(space, "one", "preferred.jp/gpu-v100-24gb", 1)])
    here.watch.until("the pod", lambda: here.watch.bound(space))
    assert pools_of(here, space) == ["v100"]
    (made,) = here.watch.pods(space)
    limits = made["spec"]["containers"][0]["resources"]["limits"]
    assert limits["preferred.jp/gpu-v100-24gb"] == "1"


def test_a_higher_priority_takes_cards_where_plugins_hand_them_out(plugged: World) -> None:
    """DRA devices are not preempted for (Kubernetes 1.34 to 1.37, dynamicresources.go)."""
    tier = {
        "apiVersion": "scheduling.k8s.io/v1",
        "kind": "PriorityClass",
        "metadata": {"name": "urgent"},
        "value": 1000,
    }
    plugged.t.client.apply(tier)
    name = plugged.t.namespace("priorities")
    plugged.run(asking(name, f"low-{n}", T4, 1) for n in range(POOLS["t4"]))
    plugged.watch.until("low ones", lambda: len(plugged.watch.bound(name)) == POOLS["t4"])
    high = pod("high", name, requests={T4: "1"}, tolerations=ANYWHERE, priority="urgent")
    plugged.run([high])
    plugged.watch.until("the high one", lambda: "high" in plugged.watch.bound(name))
    plugged.clear(name)


# --- claims, in the way of DRA ---


def test_a_team_gets_cards_by_the_resource_and_not_by_claims(driven: World) -> None:
    """Limits count the resource; a scheduler's own claims for it are let through."""
    name = driven.t.namespace("team")
    label = {"metadata": {"labels": {TEAM_LABEL: "vision"}}}
    merge = "application/merge-patch+json"
    driven.t.client.request("PATCH", f"/api/v1/namespaces/{name}", label, merge)
    user = researcher(driven, name)
    for device_class in ("gpu-v100-24gb.preferred.jp", "gpu.nvidia.com"):
        with pytest.raises(ApiError, match="ask for accelerators by model"):
            user.create(claim(name, device_class))
    user.create(claim(name, "network.example.com"))
    user.create(asking(name, "asks", V100, 1))
    driven.watch.until("the pod", lambda: driven.watch.bound(name))
    claims = driven.t.client.items("resource.k8s.io/v1", "ResourceClaim", name)
    made = {e["metadata"].get("annotations", {}).get(EXTENDED): e for e in claims}
    assert "true" in made
    driven.clear(name)


EXTENDED = "resource.kubernetes.io/extended-resource-claim"


def claim(space: str, device_class: str) -> Json:
    request = {"name": "a", "exactly": {"deviceClassName": device_class}}
    name = device_class.replace(".", "-")
    return {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "ResourceClaim",
        "metadata": {"name": name, "namespace": space},
        "spec": {"devices": {"requests": [request]}},
    }


def researcher(here: World, space: str) -> Client:
    """Someone who may make pods and claims there, and bind no pod."""
    api = "rbac.authorization.k8s.io"
    rules = [
        {"apiGroups": [""], "resources": ["pods"], "verbs": ["create"]},
        {"apiGroups": ["resource.k8s.io"], "resources": ["resourceclaims"], "verbs": ["create"]},
    ]
    account = {"kind": "ServiceAccount", "name": "default", "namespace": space}
    metadata = {"name": "researcher", "namespace": space}
    role = {"apiVersion": f"{api}/v1", "kind": "Role", "metadata": metadata, "rules": rules}
    ref = {"apiGroup": api, "kind": "Role", "name": "researcher"}
    bound = {**role, "kind": "RoleBinding", "roleRef": ref, "subjects": [account]}
    del bound["rules"]
    for each in (role, bound):
        here.t.client.apply(each)
    path = f"/api/v1/namespaces/{space}/serviceaccounts/default/token"
    asked = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {}}
    token = here.t.client.request("POST", path, asked)["status"]["token"]
    return Client(replace(here.t.access, token=token))
