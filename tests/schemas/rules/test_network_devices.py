"""Settings that the rules on network devices let pass, and those that no file below sites/ can
show."""

from dataclasses import replace
from typing import Any

import pytest

from schemas.facts.site import Site
from schemas.model.codes import Code
from schemas.rules import accelerators, network_devices, once
from schemas.rules.finding import Finding, InPool
from tests.components.network_devices.test_network_devices import EVERYTHING
from tests.kit.network_device_sites import CARD, DIVIDED, SHARED, card, site

SITE_RULES = (
    accelerators.domains,
    network_devices.device_resources,
    network_devices.pools_agree,
    network_devices.addresses,
    once.together,
)
POOL_RULES = (
    network_devices.device_names,
    network_devices.device_interfaces,
)


def findings(found: Site) -> list[Finding]:
    """The findings of these rules on a site."""
    said = [each for rule in SITE_RULES for each in rule(found)]
    pools = [InPool(found, number, pool) for number, pool in enumerate(found.file.pools)]
    return said + [each for at in pools for rule in POOL_RULES for each in rule(at)]


CARDS = ["ibs0", "ibs1"]


@pytest.mark.parametrize(
    "pools",
    [
        EVERYTHING,
        # Shares are no devices of their own, and functions have RDMA devices beside the card's.
        {"v100": {"rdma": [{"name": name, "interfaces": CARDS} for name in "ab"]}},
        {"v100": {"rdma": [{"name": "a", "interfaces": ["ens1f0"]}], **DIVIDED}},
        # The domains differ: rdma/fabric and openshift.io/fabric.
        {"v100": {"rdma": [{"name": "fabric", "interfaces": CARDS}], **DIVIDED}},
        # The same network on cards with other names and numbers.
        {"v100": card(mtu=9000), "a100": card(functions=4, interfaces=["ens7"])},
        {"v100": SHARED, "a100": SHARED},
        # Two resources of one network.
        {
            "v100": {
                "sriov": [
                    {**CARD, "addresses": "10.128.0.0/16"},
                    {**CARD, "name": "b", "interfaces": ["e"], "addresses": "10.128.0.0/16"},
                ]
            }
        },
        {"v100": card(link="infiniband", mtu=4092)},
        {"v100": card(rdma=False, driver="vfio-pci", vlan=7)},
    ],
)
def test_what_works_is_let_pass(pools: Any) -> None:
    assert findings(site(pools)) == []


def test_a_plugin_without_an_image_is_named() -> None:
    for way, images in (
        ("operator", {"rdma-shared-device-plugin"}),
        ("device-plugin", {"rdma-shared-device-plugin", "sriov-device-plugin"}),
    ):
        found = site({"v100": {**SHARED, **DIVIDED}}, sriov_by=way)
        bare = replace(found, release=found.release.model_copy(update={"images": {}}))
        said = [each for each in findings(bare) if "network_devices" in each.place]
        assert {each.code for each in said} == {Code("image-unknown")}
        assert {each.fix.partition("images.")[2].split(" ")[0] for each in said} == images


def test_one_name_twice_in_a_pool_is_said_once() -> None:
    twice = {"sriov": [CARD, {**CARD, "interfaces": ["ens9"], "vlan": 7}]}
    assert [each.code for each in findings(site({"v100": twice}))] == [Code.DUPLICATE_NAME]


def test_a_pool_that_leaves_out_what_another_says_is_told_by_the_name() -> None:
    (said,) = findings(site({"v100": card(vlan=7), "a100": card()}))
    assert said.code is Code("resource-clash")
    assert said.place == ("pools", 3, "network_devices", "sriov", 0, "name")
    assert "vlan" in said.message
