"""The real controllers of Metal3 give a site's hosts the network that its files say, and cloud-init
and netplan read it. One run, in about 75 s on two cores."""

from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.kit.host_network import Judge, judge, meta_data, network_data, of_secret
from tests.kit.host_network_site import NAME, copy_site
from tests.real.live import fake_metal3
from tests.real.live.run import observe_metal3

__all__ = ["judge"]
pytestmark = [pytest.mark.capi, pytest.mark.proof]
Json = dict[str, Any]
NETWORKS: Json = yaml.safe_load(Path(__file__).with_name("osaka-1.netplan.yaml").read_text("utf-8"))
"""What one host of each pool gets, as a person wrote it from the site's files."""
ADDRESSES = {
    "osaka-1-a-001": {
        "bond0": ["10.80.0.11/24", "2001:db8:a::b/64"],
        "bond0.210": ["10.128.0.11/24"],
    },
    "osaka-1-a-002": {
        "bond0": ["10.80.0.12/24", "2001:db8:a::c/64"],
        "bond0.210": ["10.128.0.12/24"],
    },
    "osaka-1-a-003": {
        "bond0": ["10.80.0.13/24", "2001:db8:a::1:3/64"],
        "bond0.210": ["10.128.0.13/24"],
    },
    "osaka-1-b-001": {
        "bond0.100": ["10.80.1.11/24", "2001:db8:b::b/64"],
        "bond1": ["10.128.1.11/24"],
        "bond1.300": ["10.129.0.3/28"],
    },
    "osaka-1-b-002": {
        "bond0.100": ["10.80.1.12/24", "2001:db8:b::c/64"],
        "bond1": ["10.128.1.12/24"],
        "bond1.300": ["10.129.0.4/28"],
    },
    "osaka-1-b-003": {"eno1": ["10.80.1.13/24", "2001:db8:b::d/64"]},
}
"""The addresses of each device, after the host list."""


@pytest.fixture(scope="module")
def seen(tmp_path_factory: pytest.TempPathFactory) -> Json:
    """The objects at the end of one run, by kind and name; skipped where it cannot be made."""
    root = copy_site(tmp_path_factory.mktemp("repository"))
    found: Json = observe_metal3("tests.real.live.metal3", str(root), NAME)
    lists = {key: each for key, each in found.items() if key[0].isupper()}
    named = {
        kind: {body["metadata"]["name"]: body for body in bodies} for kind, bodies in lists.items()
    }
    return {**found, **named}


def machine_of(seen: Json, host: str) -> Json:
    """The Metal3Machine that a host belongs to."""
    machine: Json = seen["Metal3Machine"][
        seen["BareMetalHost"][host]["spec"]["consumerRef"]["name"]
    ]
    return machine


def rendered(seen: Json, host: str, field: str) -> Json:
    """The content of the Secret that a BareMetalHost refers to."""
    reference = seen["BareMetalHost"][host]["spec"][field]
    return of_secret(seen["Secret"][reference["name"]], field)


@pytest.mark.parametrize("host", ADDRESSES)
def test_a_host_has_the_addresses_of_its_line(
    host: str, seen: Json, judge: Judge, tmp_path: Path
) -> None:
    data = rendered(seen, host, "networkData")
    macs = [each["ethernet_mac_address"] for each in data["links"] if each["type"] == "phy"]
    assert seen["BareMetalHost"][host]["spec"]["bootMACAddress"] in macs
    # cloud-init waits for each NIC that the data speak of.
    got = judge.read(data, tmp_path, {mac: f"eno{number}" for number, mac in enumerate(macs, 1)})
    network = got.netplan["network"]
    devices = {name: each for kind in network.values() if kind != 2 for name, each in kind.items()}
    found = {name: each["addresses"] for name, each in devices.items() if "addresses" in each}
    assert found == ADDRESSES[host]
    assert network == NETWORKS.get(host, network)
    assert "too long" not in got.said and "ignored" not in got.said


@pytest.mark.parametrize("host", ADDRESSES)
def test_the_provider_renders_what_the_tests_renderer_does(host: str, seen: Json) -> None:
    """tests/kit/host_network.py, on which other tests of networks rest."""
    template = seen["Metal3DataTemplate"][machine_of(seen, host)["spec"]["dataTemplate"]["name"]]
    body = seen["BareMetalHost"][host]
    assert rendered(seen, host, "networkData") == network_data(template, body, seen["IPPool"])
    data, place = rendered(seen, host, "metaData"), body["metadata"]["labels"]
    assert meta_data(template, body, seen["IPPool"]).items() <= data.items()
    assert data["local_hostname"] == data["local-hostname"] == data["name"] == host
    assert data["zone"] == place["foresite.dev/zone"] and data["rack"] == place["foresite.dev/rack"]


@pytest.mark.parametrize("host", ADDRESSES)
def test_the_fake_leaves_what_the_provider_leaves(host: str, seen: Json) -> None:
    """tests/real/live/fake_metal3.py, on which predictions of rollouts rest."""
    machine, body = machine_of(seen, host), seen["BareMetalHost"][host]
    name = machine["metadata"]["name"]
    assert machine["metadata"]["annotations"][fake_metal3.HOST_ANNOTATION] == f"{NAME}/{host}"
    assert machine["metadata"]["finalizers"] == [fake_metal3.FINALIZER]
    assert body["spec"]["consumerRef"] == fake_metal3.consumer(NAME, name)
    identity = fake_metal3.identity(NAME, host, name)
    assert machine["spec"]["providerID"] == identity
    assert seen["Node"][host]["spec"]["providerID"] == identity
    assert machine["status"]["initialization"] == {"provisioned": True}
    ready = [each for each in machine["status"]["conditions"] if each["type"] == "Ready"]
    assert [each["status"] for each in ready] == ["True"]


def test_a_machine_without_a_host_says_so_as_with_the_fake(seen: Json) -> None:
    assert any(fake_metal3.NO_HOST in each for each in seen["said"])
