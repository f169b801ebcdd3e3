"""The real controllers of Metal3 give a site's hosts the addresses and the network that its files
say. One run, on two cores in about three minutes, most of which the operator waits."""

import base64
from typing import Any

import pytest
import yaml

from schemas.facts.site import Site
from schemas.load import load_site
from schemas.reading.host_list import Host
from tests.kit.repository import ROOT
from tests.real.live import fake_metal3
from tests.real.live.metal3 import GROUPS, OPERATOR
from tests.real.live.namespace import why_not
from tests.real.live.run import observe
from tools.toolchain import ToolchainError, ensure
from tools.toolchain.given import find

pytestmark = [pytest.mark.capi, pytest.mark.proof(6)]
SITE = "lab-1"
Json = dict[str, Any]


@pytest.fixture(scope="module")
def site() -> Site:
    found = load_site(ROOT, SITE).site
    assert found is not None
    return found


@pytest.fixture(scope="module")
def seen() -> Json:
    """The objects at the end of one run, by kind; skipped where it cannot be made."""
    if reason := why_not():
        pytest.skip(reason)
    try:
        find(OPERATOR)
        ensure(GROUPS)
    except ToolchainError as error:
        pytest.skip(str(error))
    return observe("tests.real.live.metal3", str(ROOT), SITE)


def named(bodies: list[Json]) -> dict[str, Json]:
    return {body["metadata"]["name"]: body for body in bodies}


def secret(seen: Json, host: Json, field: str) -> Json:
    """The content of a Secret that a BareMetalHost refers to."""
    body = named(seen["Secret"])[host["spec"][field]["name"]]
    found: Json = yaml.safe_load(base64.b64decode(body["data"][field]))
    return found


def installed(site: Site, seen: Json) -> list[tuple[Host, Json]]:
    """Hosts with their BareMetalHosts, those that have an image."""
    hosts = named(seen["BareMetalHost"])
    pairs = [(host, hosts[host.name]) for host in site.hosts]
    return [pair for pair in pairs if pair[1]["status"]["provisioning"]["state"] == "provisioned"]


def test_each_host_gets_the_address_of_its_line(site: Site, seen: Json) -> None:
    claims, addresses = named(seen["IPClaim"]), named(seen["IPAddress"])
    found = installed(site, seen)
    assert len(found) == len(seen["Machine"]) > 0
    for host, body in found:
        address = claims[f"{host.name}-{SITE}"]["status"]["address"]["name"]
        assert addresses[address]["spec"]["address"] == host.ip
        networks = secret(seen, body, "networkData")["networks"]
        assert [each["ip_address"] for each in networks] == [host.ip]


def test_a_host_learns_its_name_and_place(site: Site, seen: Json) -> None:
    for host, body in installed(site, seen):
        data = secret(seen, body, "metaData")
        assert data["local_hostname"] == data["local-hostname"] == data["name"] == host.name
        assert (data["zone"], data["rack"]) == (host.zone, host.rack)


def test_the_fake_leaves_what_the_provider_leaves(seen: Json) -> None:
    """tests/real/live/fake_metal3.py, on which predictions of rollouts rest."""
    hosts, nodes = named(seen["BareMetalHost"]), named(seen["Node"])
    for machine in seen["Metal3Machine"]:
        metadata = machine["metadata"]
        namespace, _, name = metadata["annotations"][fake_metal3.HOST_ANNOTATION].partition("/")
        consumer = {key: hosts[name]["spec"]["consumerRef"][key] for key in ("apiVersion", "kind")}
        assert consumer == {"apiVersion": fake_metal3.INFRASTRUCTURE, "kind": "Metal3Machine"}
        assert hosts[name]["spec"]["consumerRef"]["name"] == metadata["name"]
        assert metadata["finalizers"] == [fake_metal3.FINALIZER]
        identity = f"metal3://{namespace}/{name}/{metadata['name']}"
        assert machine["spec"]["providerID"] == nodes[name]["spec"]["providerID"] == identity
        assert machine["status"]["initialization"] == {"provisioned": True}
        ready = [each for each in machine["status"]["conditions"] if each["type"] == "Ready"]
        assert [each["status"] for each in ready] == ["True"]
