"""The objects of network devices: what plugins and the operator read, and what pods ask for."""

import json
import re
from collections import Counter
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from components.machines.bootstrap import machine_labels
from components.making.manifest import CONFIGURATION_ANNOTATION, Json, Manifest, Target
from components.making.rdma import NETWORKS_ANNOTATION, needs, network_name
from components.network_devices.objects import objects
from schemas.facts.site import Site
from schemas.kubernetes.objects import check_object
from schemas.model.network_devices import Sriov
from schemas.model.site_file import Pool
from tests.kit.network_device_sites import CARD, DIVIDED, RAILS, SHARED, card, site
from tests.kit.repository import ROOT

EVERYTHING = {
    "v100": {**SHARED, "sriov": [{**CARD, "addresses": "10.128.0.0/16", "vlan": 7, "mtu": 9000}]},
    "a100": {
        "rdma": [{"name": "roce", "interfaces": ["ens2f0"], "link": "ethernet", "share": 8}],
        "sriov": [
            {"name": "ib_vf", "interfaces": RAILS, "functions": 4, "link": "infiniband"}
            | {"rdma": True},
            {"name": "bare", "interfaces": ["ens3"], "functions": 2, "driver": "vfio-pci"},
        ],
    },
}
"""Every field, and every kind of object that one way makes."""
WAYS = ("operator", "device-plugin")


def of_kind(found: Site | list[Manifest], kind: str) -> list[Manifest]:
    made = objects(found) if isinstance(found, Site) else found
    return [each for each in made if each.kind == kind]


def pool_of(found: Site, name: str) -> Pool:
    return next(pool for pool in found.file.pools if pool.name == name)


def config(found: Site, name: str) -> Json:
    (made,) = [each for each in objects(found) if each.name == f"ConfigMap/{name}"]
    parsed: Json = json.loads(made.body["data"]["config.json"])
    return parsed


# --- all objects ---


@pytest.mark.parametrize("way", WAYS)
def test_every_object_is_valid_and_belongs_to_the_sites_own_cluster(way: str) -> None:
    made = objects(site(EVERYTHING, sriov_by=way))
    assert {each.name: check_object(each.body) for each in made if check_object(each.body)} == {}
    assert {each.target for each in made} == {Target.SITE}
    for several in (each.name for each in made), (each.key for each in made):
        assert [name for name, count in Counter(several).items() if count > 1] == []
    assert all(each.body["metadata"]["labels"]["foresite.dev/site"] == "tokyo-1" for each in made)
    component = {each.body["metadata"]["labels"]["foresite.dev/component"] for each in made}
    assert component == {"network-devices"}


@pytest.mark.parametrize("way", WAYS)
def test_a_site_without_network_devices_gets_no_object(way: str) -> None:
    assert objects(site({}, sriov_by=way)) == []


def test_a_site_that_only_the_operator_serves_gets_no_namespace() -> None:
    assert of_kind(site({"v100": DIVIDED}), "Namespace") == []
    (space,) = of_kind(site({"v100": SHARED}), "Namespace")
    assert space.protect
    assert space.body["metadata"]["labels"]["pod-security.kubernetes.io/enforce"] == "privileged"


# --- device plugins ---


def test_the_rdma_plugin_shares_a_card_a_rail() -> None:
    """k8s-rdma-shared-dev-plugin 1.5.3, README, and types.UserConfig."""
    found = config(site({"v100": SHARED}), "rdma-shared-device-plugin/v100")
    assert found["periodicUpdateInterval"] > 0
    assert [each["resourceName"] for each in found["configList"]] == [
        "hca_rail0",
        "hca_rail1",
        "hca_rail2",
        "hca_rail3",
    ]
    assert [each["selectors"]["ifNames"] for each in found["configList"]] == [[r] for r in RAILS]
    assert {each["resourcePrefix"] for each in found["configList"]} == {"rdma"}
    assert [each["selectors"]["linkTypes"] for each in found["configList"]] == [["infiniband"]] * 4


def test_the_rdma_plugin_shares_all_cards_under_one_name() -> None:
    found = config(site(EVERYTHING), "rdma-shared-device-plugin/a100")
    assert found["configList"] == [
        {
            "resourceName": "roce",
            "resourcePrefix": "rdma",
            "rdmaHcaMax": 8,
            "selectors": {"ifNames": ["ens2f0"], "linkTypes": ["ether"]},
        }
    ]


def test_the_sriov_plugin_takes_functions_and_no_whole_card() -> None:
    """sriov-network-device-plugin 3.11.0, pkg/resources/deviceSelectors.go: without a range the
    interface itself fits as well, while it is not divided."""
    found = config(site(EVERYTHING, sriov_by="device-plugin"), "sriov-device-plugin/a100")
    bare, infiniband = found["resourceList"]
    assert infiniband["resourcePrefix"] == "openshift.io"
    assert infiniband["selectors"] == {
        "pfNames": [f"{name}#0-3" for name in RAILS],
        "isRdma": True,
        "linkTypes": ["infiniband"],
    }
    assert bare["selectors"] == {"pfNames": ["ens3#0-1"], "drivers": ["vfio-pci"]}


@pytest.mark.parametrize("way", WAYS)
def test_a_plugin_runs_with_the_hosts_network_and_reads_its_pools_configuration(way: str) -> None:
    made = site(EVERYTHING, sriov_by=way)
    configs = {each.key[3]: each for each in of_kind(made, "ConfigMap")}
    daemons = of_kind(made, "DaemonSet")
    assert len(daemons) == len(configs) == (2 if way == "operator" else 4)
    for daemon in daemons:
        plugin, pool = daemon.name.split("/")[1:]
        spec = daemon.body["spec"]["template"]["spec"]
        assert spec["nodeSelector"] == {"node.cluster.x-k8s.io/pool": pool}
        assert spec["hostNetwork"] is True
        (container,) = spec["containers"]
        assert container["image"] == made.release.images[plugin]
        assert container["securityContext"]["privileged"] is True
        volumes = {each["name"]: each for each in spec["volumes"]}
        paths = {
            each["mountPath"]: volumes[each["name"]].get("hostPath", {}).get("path")
            for each in container["volumeMounts"]
        }
        folder = {
            "rdma-shared-device-plugin": "/k8s-rdma-shared-dev-plugin",
            "sriov-device-plugin": "/etc/pcidp",
        }[plugin]
        assert paths.pop(folder) is None
        assert volumes["config"]["configMap"]["name"] == f"{plugin}-{pool}"
        assert "config.json" in configs[f"{plugin}-{pool}"].body["data"]
        assert all(path == host for path, host in paths.items())
        assert paths.keys() >= {
            "/var/lib/kubelet/device-plugins",
            "/var/lib/kubelet/plugins_registry",
        }


def hashes(found: Site) -> dict[str, str]:
    return {
        each.name: each.body["spec"]["template"]["metadata"]["annotations"][
            CONFIGURATION_ANNOTATION
        ]
        for each in of_kind(found, "DaemonSet")
    }


def test_a_changed_configuration_renews_the_pods_of_its_pool_alone() -> None:
    """Both plugins read it once, when they start."""
    both = {"v100": SHARED, "a100": SHARED}
    fewer = {**SHARED, "rdma": [{**SHARED["rdma"][0], "share": 9}]}
    before, after = hashes(site(both)), hashes(site({**both, "a100": fewer}))
    assert {name for name in before if before[name] != after[name]} == {
        "DaemonSet/rdma-shared-device-plugin/a100"
    }


# --- the operator ---


def test_a_policy_says_all_that_the_webhook_would_fill_in() -> None:
    """sriov-network-operator 1.6.0, pkg/webhook/mutate.go."""
    found = of_kind(site(EVERYTHING), "SriovNetworkNodePolicy")
    assert {each.name: each.body["spec"] for each in found} == {
        "SriovNetworkNodePolicy/v100/fabric": {
            "resourceName": "fabric",
            "nodeSelector": {"node.cluster.x-k8s.io/pool": "v100"},
            "nicSelector": {"pfNames": ["ens1f0"]},
            "numVfs": 8,
            "priority": 99,
            "deviceType": "netdevice",
            "isRdma": True,
            "linkType": "eth",
            "mtu": 9000,
        },
        "SriovNetworkNodePolicy/a100/ib_vf": {
            "resourceName": "ib_vf",
            "nodeSelector": {"node.cluster.x-k8s.io/pool": "a100"},
            "nicSelector": {"pfNames": RAILS},
            "numVfs": 4,
            "priority": 99,
            "deviceType": "netdevice",
            "isRdma": True,
            "linkType": "ib",
        },
        "SriovNetworkNodePolicy/a100/bare": {
            "resourceName": "bare",
            "nodeSelector": {"node.cluster.x-k8s.io/pool": "a100"},
            "nicSelector": {"pfNames": ["ens3"]},
            "numVfs": 2,
            "priority": 99,
            "deviceType": "vfio-pci",
            "isRdma": False,
            "linkType": "eth",
        },
    }


def test_what_the_operator_reads_lies_in_its_namespace() -> None:
    """It caches that one alone (main.go, DefaultNamespaces)."""
    made = objects(site(EVERYTHING, operator_namespace="sriov"))
    read = [each for each in made if each.body["apiVersion"] == "sriovnetwork.openshift.io/v1"]
    assert {each.kind for each in read} == {
        "SriovIBNetwork",
        "SriovNetwork",
        "SriovNetworkNodePolicy",
        "SriovNetworkPoolConfig",
        "SriovOperatorConfig",
    }
    assert {each.key[2] for each in read} == {"sriov"}


@pytest.mark.parametrize("served", [False, True])
def test_the_operator_drains_and_finds_the_hosts_that_it_divides(served: bool) -> None:
    made = site(EVERYTHING, operator_webhooks=served, max_unavailable=3)
    (settings,) = of_kind(made, "SriovOperatorConfig")
    spec = settings.body["spec"]
    assert settings.keep
    assert spec["disableDrain"] is False
    assert (spec["enableInjector"], spec["enableOperatorWebhook"]) == (served, served)
    wanted = spec["configDaemonNodeSelector"].items()
    found = {p.name for p in made.file.pools if wanted <= machine_labels(made, p).items()}
    assert found == {"v100", "a100"}
    pace = {each.name: each.body["spec"] for each in of_kind(made, "SriovNetworkPoolConfig")}
    assert pace.keys() == {"SriovNetworkPoolConfig/v100", "SriovNetworkPoolConfig/a100"}
    for name, each in pace.items():
        pool = name.split("/")[1]
        assert each["maxUnavailable"] == 3
        assert each["nodeSelector"] == {"matchLabels": {"node.cluster.x-k8s.io/pool": pool}}


def test_hosts_that_the_image_divides_are_none_of_the_operators() -> None:
    made = site(EVERYTHING, sriov_by="device-plugin")
    (settings,) = of_kind(site(EVERYTHING), "SriovOperatorConfig")
    wanted = settings.body["spec"]["configDaemonNodeSelector"].items()
    assert not [p for p in made.file.pools if wanted <= machine_labels(made, p).items()]
    assert not [each for each in objects(made) if each.kind.startswith("Sriov")]


def test_each_namespace_of_a_team_gets_the_networks() -> None:
    made = objects(site(EVERYTHING))
    plain = {each.name: each.body["spec"] for each in of_kind(made, "SriovNetwork")}
    assert plain.keys() == {
        f"SriovNetwork/{resource}/{space}"
        for resource in ("fabric", "bare")
        for space in ("vision", "vision-dev")
    }
    fabric = plain["SriovNetwork/fabric/vision-dev"]
    assert json.loads(fabric.pop("ipam")) == {"type": "whereabouts", "range": "10.128.0.0/16"}
    assert fabric == {"resourceName": "fabric", "networkNamespace": "vision-dev", "vlan": 7}
    assert json.loads(plain["SriovNetwork/bare/vision"]["ipam"]) == {}
    infiniband = of_kind(made, "SriovIBNetwork")
    assert {each.body["spec"]["resourceName"] for each in infiniband} == {"ib_vf"}


def test_a_resource_of_two_pools_is_one_network() -> None:
    found = of_kind(site({"v100": DIVIDED, "a100": DIVIDED}), "SriovNetwork")
    assert len(found) == 2  # of two namespaces


def test_without_teams_nobody_joins_a_network() -> None:
    assert of_kind(site({"v100": DIVIDED}, teams=False), "SriovNetwork") == []


LABEL = st.from_regex(r"\A[a-z0-9]{1,3}(_[a-z0-9]{1,3}){0,2}\Z")
SPACE = st.from_regex(r"\A[a-z0-9]([-a-z0-9]{0,6}[a-z0-9])?\Z")


@given(st.lists(st.tuples(LABEL, SPACE), min_size=2, max_size=2, unique=True))
def test_networks_of_two_resources_or_namespaces_have_two_names(
    pairs: list[tuple[str, str]],
) -> None:
    names = [
        network_name(Sriov(name=label, interfaces=["a"], functions=1), space)
        for label, space in pairs
    ]
    assert names[0] != names[1]
    # multus-cni 4.3, pkg/k8sclient/k8sclient.go, parsePodNetworkObjectName
    assert all(re.fullmatch(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?", name) for name in names)


# --- what pods ask for ---


def offered(found: Site, pool: str) -> set[str]:
    """The resources that a pool's plugins or policies make."""
    made = {each.name: each for each in objects(found)}
    names = set()
    for kind, key in (("rdma-shared-device-plugin", "configList"), ("sriov-device-plugin", "")):
        if f"ConfigMap/{kind}/{pool}" in made:
            listed = config(found, f"{kind}/{pool}")[key or "resourceList"]
            names |= {f"{each['resourcePrefix']}/{each['resourceName']}" for each in listed}
    prefix = found.file.network_devices.prefix
    policies = (each for name, each in made.items() if name.startswith("SriovNetworkNodePolicy/"))
    return names | {
        f"{prefix}/{each.body['spec']['resourceName']}"
        for each in policies
        if each.name.split("/")[1] == pool
    }


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("pool", ["v100", "a100"])
def test_pods_ask_for_every_resource_with_rdma_that_there_is(way: str, pool: str) -> None:
    found = site(EVERYTHING, sriov_by=way, prefix="functions.example.com")
    asked = needs(found, pool_of(found, pool), "vision").resources
    assert set(asked.values()) == {"1"}
    without_rdma = {"functions.example.com/bare"}
    assert set(asked) == offered(found, pool) - without_rdma


def test_pods_join_the_networks_of_their_namespace() -> None:
    found = site(EVERYTHING)
    names = {
        (each.body["spec"]["networkNamespace"], each.body["spec"]["resourceName"]): each.key[3]
        for each in (*of_kind(found, "SriovNetwork"), *of_kind(found, "SriovIBNetwork"))
    }
    for space in ("vision", "vision-dev"):
        joined = needs(found, pool_of(found, "a100"), space).annotations
        assert joined == {NETWORKS_ANNOTATION: names[space, "ib_vf"]}
    assert needs(found, pool_of(found, "a100")).annotations == {}


def documented(kind: str) -> list[Json]:
    """The YAML of the page on network devices that has a key."""
    text = (ROOT / "docs/network-devices.md").read_text("utf-8")
    blocks = re.findall(r"^```yaml\n(.*?)^```", text, re.DOTALL | re.MULTILINE)
    found = [yaml.safe_load(block) for block in blocks]
    return [each for each in found if kind in each]


def test_the_documented_pods_ask_for_all_that_the_documented_pools_have() -> None:
    (example,) = documented("pools")
    found = site({each["name"]: each["network_devices"] for each in example["pools"]})
    pods = documented("spec")
    assert len(pods) == len(example["pools"])
    for each, pod in zip(example["pools"], pods, strict=True):
        metadata, spec = pod["metadata"], pod["spec"]
        asked = needs(found, pool_of(found, each["name"]), metadata.get("namespace", "vision"))
        (container,) = spec["containers"]
        assert container["resources"]["limits"] == asked.resources
        assert container["securityContext"]["capabilities"]["add"] == asked.capabilities
        assert container["volumeMounts"] == asked.mounts
        assert spec["volumes"] == asked.volumes
        assert metadata.get("annotations", {}) == asked.annotations
        assert spec.get("hostNetwork", False) is asked.host_network


def test_pods_lock_memory_and_share_more_of_it_than_64_megabytes() -> None:
    """containerd gives /dev/shm 64 MiB; a volume in memory takes its place."""
    found = needs(site({"v100": SHARED}), pool_of(site({"v100": SHARED}), "v100"), "vision")
    assert found.capabilities == ["IPC_LOCK"]
    (volume,), (mount,) = found.volumes, found.mounts
    assert volume["emptyDir"] == {"medium": "Memory"}
    assert mount == {"name": volume["name"], "mountPath": "/dev/shm"}
    assert found.annotations == {}


@pytest.mark.parametrize(
    ("devices", "expected"),
    [
        (SHARED, False),
        ({"rdma": [{"name": "a", "interfaces": ["b"], "link": "ethernet"}]}, True),
        # A function has an address of its own.
        (DIVIDED, False),
    ],
)
def test_shared_roce_needs_the_network_of_the_host(devices: Json, expected: bool) -> None:
    found = site({"v100": devices})
    assert needs(found, pool_of(found, "v100"), "vision").host_network is expected


@pytest.mark.parametrize("devices", [{}, card(rdma=False)])
def test_a_pool_without_rdma_needs_nothing(devices: Json) -> None:
    found = site({"v100": devices})
    assert not any(needs(found, pool_of(found, "v100"), "vision"))


@pytest.mark.parametrize(
    ("devices", "rails"),
    [
        ({}, None),
        (SHARED, "4"),
        ({"rdma": [{"name": "hca", "interfaces": RAILS}]}, "4"),
        ({"rdma": [{"name": "a", "interfaces": ["b"]}, SHARED["rdma"][0]]}, "4"),
        (DIVIDED, "1"),
        (card(rdma=False), None),
        # A rail a resource, as nothing says which interface a function is of.
        ({"sriov": [{**CARD, "name": f"r{i}", "interfaces": [f"p{i}"]} for i in range(3)]}, "3"),
    ],
)
def test_a_node_says_how_many_rails_it_is_on(devices: Any, rails: str | None) -> None:
    found = site({"v100": devices})
    labels = found.placing_labels(pool_of(found, "v100"))
    assert labels.get("node.cluster.x-k8s.io/rails") == rails
