"""Every object of the cache against a real API server, and what its servers may do there."""

from collections.abc import Iterator
from dataclasses import replace

import pytest

from components.making.manifest import Json
from components.object_cache.names import SERVER
from components.object_cache.objects import objects
from controlplane import Client, ControlPlane
from schemas.facts.site import Site
from tests.kit.accelerator_pods import apply, remove
from tests.kit.object_cache_site import cache_of, site

pytestmark = pytest.mark.controlplane

REVIEW = {
    "verbs": ["create"],
    "apiGroups": ["authentication.k8s.io"],
    "resources": ["tokenreviews"],
}


@pytest.mark.parametrize(
    "made",
    [
        site(),
        site(discovery="dns"),
        site({"reloads_config": True, "metrics_path": None, "command": ["/server"]}),
        site({"env": {}, "args": []}),
    ],
    ids=["hosts", "dns", "reloads", "bare"],
)
def test_every_object_passes_a_strict_dry_run(api: ControlPlane, made: Site) -> None:
    with api.client() as client:
        apply(client, objects(made), dry_run=True)


def of_version(version: str) -> Site:
    made = site()
    cluster = made.file.cluster.model_copy(update={"kubernetes": version})
    return replace(made, file=made.file.model_copy(update={"cluster": cluster}))


def test_both_names_of_a_zone_are_taken_by_one_api_server(api: ControlPlane) -> None:
    """It is 1.34: in an upgrade to 1.35 it gets the newer name, and stores each as it is."""
    older, newer = of_version("v1.34.3"), of_version("v1.35.5")
    with api.client() as client:
        for made, name in ((newer, "PreferSameZone"), (older, "PreferClose")):
            (service,) = (each for each in objects(made) if each.kind == "Service")
            space = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "zones"}}
            client.apply(space)
            metadata = {**service.body["metadata"], "namespace": "zones"}
            stored = client.apply({**service.body, "metadata": metadata}, dry_run=True)
            assert stored["spec"]["trafficDistribution"] == name
            (port,) = stored["spec"]["ports"]
            assert port["targetPort"] == "http"


@pytest.fixture
def accounts(api: ControlPlane) -> Iterator[tuple[Client, Client]]:
    """Clients as the servers' ServiceAccount, and as one that nobody gave anything."""
    made = site(namespace="cache-rights")
    rights = [each for each in objects(made) if each.kind in RIGHTS]
    space = cache_of(made).namespace
    with api.client() as client:
        apply(client, rights)
        client.apply(account(space, "nobody"))
        try:
            with as_account(api, space, SERVER) as server, as_account(api, space, "nobody") as none:
                yield server, none
        finally:
            remove(client, rights)


RIGHTS = ("Namespace", "ServiceAccount", "ClusterRole", "ClusterRoleBinding")


def account(space: str, name: str) -> Json:
    metadata = {"name": name, "namespace": space}
    return {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": metadata}


def as_account(api: ControlPlane, space: str, name: str) -> Client:
    path = f"/api/v1/namespaces/{space}/serviceaccounts/{name}/token"
    asked = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {}}
    with api.client() as client:
        token = client.request("POST", path, asked)["status"]["token"]
    return Client(replace(api._access(), token=token))


def test_the_servers_may_review_tokens_and_nothing_else(accounts: tuple[Client, Client]) -> None:
    """Rights of every account (ask for its own rights, read versions) are left out."""
    server, nobody = accounts
    assert [rule for rule in rules(server) if rule not in rules(nobody)] == [REVIEW]
    review = {
        "apiVersion": "authentication.k8s.io/v1",
        "kind": "TokenReview",
        "metadata": {},
        "spec": {"token": "none"},
    }
    assert server.create(review)["status"].get("authenticated", False) is False


def rules(client: Client) -> list[Json]:
    """All that the account may do in its namespace and in the cluster."""
    asked = {
        "apiVersion": "authorization.k8s.io/v1",
        "kind": "SelfSubjectRulesReview",
        "metadata": {},
        "spec": {"namespace": "cache-rights"},
    }
    status = client.create(asked)["status"]
    assert not status["incomplete"]
    found: list[Json] = status["resourceRules"] + status["nonResourceRules"]
    return found
