"""A real API server does to the cache's Service what the rules say."""

from typing import Any

import pytest

from components.making.manifest import Json
from controlplane import ApiError, Client, ControlPlane
from tests.kit.object_cache_changes import site
from tests.kit.object_cache_site import bodies

pytestmark = pytest.mark.controlplane
SERVICE = "Service/cache"
ADDRESS, OTHER = "10.96.0.201", "10.96.0.202"


def service(name: str, address: str, **spec: Any) -> Json:
    """The cache's Service, under another name."""
    made = bodies(site(address=address, service=name, namespace="cache-impact"))[SERVICE]
    return {**made, "spec": {**made["spec"], **spec}}


def applied(client: Client, body: Json) -> str:
    """Empty where a server takes an object; else what it says against it."""
    try:
        client.apply(body)
    except ApiError as error:
        if error.status != 422:
            raise
        return str(error)
    return ""


def test_an_address_is_given_once_and_kept(api: ControlPlane) -> None:
    with api.client() as client:
        client.apply(
            {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "cache-impact"}}
        )
        assert applied(client, service("cache", ADDRESS)) == ""
        assert "already allocated" in applied(client, service("store", ADDRESS))
        assert applied(client, service("store", OTHER)) == ""
        assert "may not change" in applied(client, service("store", "10.96.0.203"))


def test_a_port_by_number_becomes_one_by_name_in_place(api: ControlPlane) -> None:
    with api.client() as client:
        client.apply(
            {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "cache-impact"}}
        )
        named = service("port", "10.96.0.205")
        (port,) = named["spec"]["ports"]
        numbered = service("port", "10.96.0.205", ports=[{**port, "targetPort": 8080}])
        assert [applied(client, each) for each in (numbered, named)] == ["", ""]


def test_both_names_of_one_distribution_are_taken_in_place(api: ControlPlane) -> None:
    with api.client() as client:
        client.apply(
            {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "cache-impact"}}
        )
        for word in ("PreferClose", "PreferSameZone", "PreferClose"):
            body = service("named", "10.96.0.204", trafficDistribution=word)
            assert applied(client, body) == ""
