"""Objects of network devices, and pods that use them, on the real API server with the real CRDs."""

from typing import Any

import pytest

from components.making.daemons import namespace
from components.making.manifest import Json
from components.making.rdma import needs
from components.network_devices.objects import objects
from controlplane import ApiError, Client, ControlPlane
from schemas.facts.site import Site
from tests.components.network_devices.test_network_devices import (
    EVERYTHING,
    WAYS,
    documented,
    pool_of,
)
from tests.kit.network_device_sites import SHARED, site

pytestmark = pytest.mark.controlplane
TEAM = "network-devices-team"
CAREFUL = "network-devices-careful"
OPERATOR = "network-devices-operator"


@pytest.fixture(scope="module")
def client(api: ControlPlane) -> Any:
    with api.client() as found:
        any_site = site({})
        for name, level in ((TEAM, "privileged"), (CAREFUL, "baseline"), (OPERATOR, "privileged")):
            found.apply(namespace(any_site, name, "test", level).body)
            # Nobody makes it here, and pods need one.
            account = {"name": "default", "namespace": name}
            found.apply({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": account})
        yield found


def refusal(client: Client, body: Json) -> str:
    """The API server's message against an object in a strict dry run; empty where it takes it."""
    try:
        client.apply(body, dry_run=True)
    except ApiError as error:
        return str(error)
    return ""


@pytest.mark.parametrize("way", WAYS)
def test_every_object_passes_a_strict_dry_run(client: Client, way: str) -> None:
    made = objects(site(EVERYTHING, sriov_by=way, operator_namespace=OPERATOR, teams=True))
    for each in made:
        if each.kind == "Namespace":
            client.apply(each.body)
    assert {each.name: said for each in made if (said := refusal(client, each.body))} == {}


def pod(found: Site, pool: str, space: str) -> Json:
    """A pod that uses all of a pool's RDMA."""
    asked = needs(found, pool_of(found, pool), space)
    container = {
        "name": "main",
        "image": "registry.example/a:1",
        "resources": {"requests": asked.resources, "limits": asked.resources},
        "securityContext": {"capabilities": {"add": asked.capabilities}},
        "volumeMounts": asked.mounts,
    }
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "rdma", "namespace": space, "annotations": asked.annotations},
        "spec": {
            "containers": [container],
            "volumes": asked.volumes,
            "hostNetwork": asked.host_network,
        },
    }


@pytest.mark.parametrize("pool", ["v100", "a100"])
def test_a_pod_with_all_that_rdma_needs_is_taken(client: Client, pool: str) -> None:
    assert refusal(client, pod(site(EVERYTHING), pool, TEAM)) == ""


def test_pod_securitys_baseline_refuses_to_lock_memory(client: Client) -> None:
    """Kubernetes 1.34, pod-security-admission policy/check_capabilities_baseline.go."""
    said = refusal(client, pod(site({"v100": SHARED}), "v100", CAREFUL))
    assert "IPC_LOCK" in said and "baseline" in said


def test_resources_of_a_quotas_domain_are_refused(client: Client) -> None:
    """Why the rule on the prefix refuses it; those of Kubernetes' own the kubelet refuses."""
    found = pod(site(EVERYTHING, prefix="requests.example.com"), "v100", TEAM)
    assert "requests.example.com/fabric" in refusal(client, found)


def test_the_documented_pods_are_taken(client: Client) -> None:
    bodies = documented("spec")
    assert {each["kind"] for each in bodies} == {"Pod"}
    for body in bodies:
        body["metadata"]["namespace"] = TEAM
        assert refusal(client, body) == ""
