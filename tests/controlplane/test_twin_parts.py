"""The parts of the twin, without running it: configurations, flags, nodes and pods."""

import socket
from pathlib import Path
from typing import Any

import pytest

from controlplane import ControlPlaneError, Manifest, Options
from controlplane.flags import apiserver
from controlplane.ports import free_port
from schemas.facts.site import Site
from schemas.model.site_file import Pool
from tests.kit.repository import all_sites
from tests.kit.twin.cluster import Scheduler
from tests.kit.twin.cluster.held import hold_ports
from tests.kit.twin.cluster.schedulers import twin_configuration
from tests.kit.twin.nodes import site_nodes
from tests.kit.twin.pods import gang, pod

KUBECONFIG = Path("/twin/kubeconfig")
ADDRESS = "127.0.0.1:20001"


def scheduler(config: str | Manifest, **others: Any) -> Scheduler:
    return Scheduler("second", Path("/bin/true"), config, **others)


def profile(name: str, **arguments: str) -> Manifest:
    return {"schedulerName": name, "pluginConfig": [{"name": "gang", "args": arguments}]}


# A scheduler's configuration


def test_a_configuration_is_used_as_it_is_but_for_how_the_server_is_reached() -> None:
    text = "podMaxBackoffSeconds: 3\nleaderElection: {leaseDuration: 9s}"
    body = twin_configuration(scheduler(text), KUBECONFIG, ADDRESS)
    assert body["podMaxBackoffSeconds"] == 3
    assert body["clientConnection"]["kubeconfig"] == str(KUBECONFIG)
    assert body["leaderElection"] == {"leaseDuration": "9s", "leaderElect": False}


def test_what_a_configuration_says_itself_stays() -> None:
    connection = {"qps": 5, "burst": 6}
    given = {"clientConnection": connection, "leaderElection": {"leaderElect": True}}
    body = twin_configuration(scheduler(given, elect=True), KUBECONFIG, ADDRESS)
    assert body["clientConnection"] == {"qps": 5, "burst": 6, "kubeconfig": str(KUBECONFIG)}
    assert body["leaderElection"] == {"leaderElect": True}
    assert "kubeconfig" not in connection, "the caller's own was changed"


def test_arguments_of_a_plugin_are_filled_in() -> None:
    given = {"profiles": [profile("a", schedulerName="a")]}
    wanted = {"gang": {"healthCheckAddr": "{address}", "kubeconfig": "{kubeconfig}"}}
    body = twin_configuration(scheduler(given, plugin_args=wanted), KUBECONFIG, ADDRESS)
    assert body["profiles"][0]["pluginConfig"][0]["args"] == {
        "schedulerName": "a",
        "healthCheckAddr": ADDRESS,
        "kubeconfig": str(KUBECONFIG),
    }


def test_an_argument_of_one_profile_is_not_given_to_the_other() -> None:
    given = {"profiles": [profile("a", healthCheckAddr=":1"), profile("b")]}
    wanted = {"gang": {"healthCheckAddr": "{address}"}}
    body = twin_configuration(scheduler(given, plugin_args=wanted), KUBECONFIG, ADDRESS)
    first, second = (each["pluginConfig"][0]["args"] for each in body["profiles"])
    assert (first, second) == ({"healthCheckAddr": ADDRESS}, {})


def test_arguments_for_a_plugin_that_has_none_are_an_error() -> None:
    given = {"profiles": [profile("a")]}
    with pytest.raises(ControlPlaneError, match="second has no arguments for gangs"):
        twin_configuration(scheduler(given, plugin_args={"gangs": {"x": "y"}}), KUBECONFIG, ADDRESS)


# The API server's flags


def test_a_twin_has_what_it_asks_for_and_others_have_what_they_had(tmp_path: Path) -> None:
    options = Options({"A": True, "B": False}, ("g.io/v1=true",), service_accounts=True)
    plain = apiserver(Path("x"), tmp_path, 1)
    mine = apiserver(Path("x"), tmp_path, 1, options)
    assert set(plain) - set(mine) == {
        "--disable-admission-plugins=ServiceAccount",
        "--feature-gates=MutatingAdmissionPolicy=true",
        "--runtime-config=admissionregistration.k8s.io/v1beta1=true",
    }
    assert set(mine) - set(plain) == {
        "--feature-gates=MutatingAdmissionPolicy=true,A=true,B=false",
        "--runtime-config=admissionregistration.k8s.io/v1beta1=true,g.io/v1=true",
    }


# Ports that are held


@pytest.mark.parametrize("address", ["0.0.0.0", "::"])
def test_nobody_listens_on_every_interface_where_a_port_is_held(address: str) -> None:
    port = free_port()
    with hold_ports([port]), hold_ports([port]), pytest.raises(OSError, match="in use"):
        listen(address, port)
    listen(address, port)


def test_a_port_that_somebody_has_is_held_already() -> None:
    port = free_port()
    with socket.create_server(("127.0.0.1", port)), hold_ports([port]):
        pass


def listen(address: str, port: int) -> None:
    """Listen for an instant; on ``::`` for both versions of IP, as Go does."""
    six = ":" in address
    family = socket.AF_INET6 if six else socket.AF_INET
    with socket.create_server((address, port), family=family, dualstack_ipv6=six):
        pass


# Nodes and pods


@pytest.fixture
def site() -> Site:
    return all_sites()["tokyo-1"]


def named(site: Site, pool: str) -> list[Manifest]:
    label = "node.cluster.x-k8s.io/pool"
    return [each for each in site_nodes(site) if each["metadata"]["labels"][label] == pool]


@pytest.mark.parametrize(
    ("pool", "nodes"), [("control", 3), ("cpu", 147), ("v100", 118), ("a100", 80), ("h100", 50)]
)
def test_each_machine_is_a_node_and_spares_are_none(site: Site, pool: str, nodes: int) -> None:
    assert len(named(site, pool)) == nodes


def test_a_node_offers_what_its_host_has_less_what_its_kubelet_keeps(site: Site) -> None:
    """40 cores, 768 GiB, 8 cards; kept are 1 core, 2 GiB and 500 MiB, and a tenth of the disk."""
    status = named(site, "v100")[0]["status"]
    assert status["capacity"] == {
        "cpu": "40",
        "memory": "768Gi",
        "ephemeral-storage": "400G",
        "pods": "110",
        "nvidia.com/gpu": "8",
    }
    assert status["allocatable"] == {
        "cpu": "39",
        "memory": str(766 * 2**30 - 500 * 2**20),
        "ephemeral-storage": str(360 * 10**9),
        "pods": "110",
        "nvidia.com/gpu": "8",
    }


def test_a_node_has_the_labels_and_taints_of_its_pool(site: Site) -> None:
    body = named(site, "h100")[0]
    labels = body["metadata"]["labels"]
    assert labels["kubernetes.io/hostname"] == body["metadata"]["name"]
    assert labels["topology.kubernetes.io/region"] == "jp-east"
    assert [each["key"] for each in body["spec"]["taints"]] == ["example.com/reserved"]


def test_extended_resources_are_what_the_caller_says(site: Site) -> None:
    def mine(_: Site, pool: Pool) -> dict[str, str]:
        return {"example.com/card": "3"} if pool.name == "cpu" else {}

    offered = [
        each["status"]["allocatable"].get("example.com/card") for each in site_nodes(site, mine)
    ]
    assert offered.count("3") == 147 and offered.count(None) == len(offered) - 147


def test_all_pods_of_a_gang_say_the_same_of_it() -> None:
    bodies = gang("job", "team", 4, annotations={"mine": "1"}, count=3)
    assert [each["metadata"]["name"] for each in bodies] == ["job-0", "job-1", "job-2"]
    said = [each["metadata"]["annotations"] for each in bodies]
    assert said == [{"mine": "1", **prefixed(name="job", size="4")}] * 3


def test_a_pod_asks_for_what_it_may_use() -> None:
    size = {"nvidia.com/gpu": "8"}
    container = pod("one", "team", requests=size)["spec"]["containers"][0]
    assert container["resources"] == {"requests": size, "limits": size}


def prefixed(**parts: str) -> dict[str, str]:
    return {f"gang-scheduling.preferred.jp/gang-{key}": value for key, value in parts.items()}
