"""Single cards taken out of use: what is decided, on a real API server , and
that the scheduler places nobody on them."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from node_repair.cluster import Cluster, ClusterError
from node_repair.devices import (
    Device,
    Limits,
    Outcome,
    Report,
    Rule,
    decide_devices,
    devices_of,
    in_use,
    round_of,
)
from node_repair.lease import Lease
from node_repair.settings import Settings

from components.making.faults import FAULTY_TAINT
from components.making.manifest import Json
from components.remediation.program import device_taints, environment
from components.remediation.turns import configuration
from controlplane.access import write_kubeconfig
from schemas.facts import feature_gates
from schemas.facts.site import Site
from schemas.kubernetes.node_labels import POOL_LABEL
from schemas.kubernetes.objects import check_objects
from schemas.model.vocabulary import Fault
from tests.controlplane.test_twin_models import asking, fake_slices, no_plugins, parts, waiting
from tests.kit.accelerator_sites import V100, by_dra, site
from tests.kit.twin.cluster.programs import account_token
from tests.kit.twin.world import World
from tests.kit.twin.world import world as running
from tests.schemas.facts.test_feature_gates import at

IMAGE = f"registry.example/healer:v1@sha256:{'a' * 64}"
HEALER: Json = {"name": "hosts", "pools": ["v100", "mncore"]}
ON: Json = {
    "device_taints": True,
    "healers": [HEALER],
    "controller": {"image": IMAGE},
    "repair_image": IMAGE,
}
BEYOND: Json = {"taint_up_to": 1, "repair_beyond": True}
CONDITION, FAULT = "PCIeLinkDegraded", "pcie-link-degraded"
BUS = "resource.kubernetes.io/pciBusID"


def mended(of: Site, pool: str) -> set[str]:
    """The faults for which hosts of a pool are rebooted."""
    (found,) = (each for each in of.file.pools if each.name == pool)
    return {fault for healer in of.remediators_of(found) for fault in of.repairs(found, healer)}


# --- what a site makes of it ---


def test_a_host_is_not_rebooted_for_a_card_that_can_be_taken_out() -> None:
    off, on = by_dra(remediation={**ON, "device_taints": False}), by_dra(remediation=ON)
    assert mended(off, "v100") - mended(on, "v100") == {Fault.PCIE_LINK_DEGRADED}
    assert mended(off, "mncore") == mended(on, "mncore") != set()
    assert device_taints(off) == []


def test_nothing_where_a_device_plugin_hands_cards_out() -> None:
    plain = site(remediation={**ON, "device_taints": False})
    assert plain.file.remediation is not None
    settings = plain.file.remediation.model_copy(update={"device_taints": True})
    of = replace(plain, file=plain.file.model_copy(update={"remediation": settings}))
    assert device_taints(of) == []
    assert feature_gates.device_taint_gates(of) == {}
    assert Fault.PCIE_LINK_DEGRADED in mended(of, "v100")


@pytest.mark.parametrize(
    ("version", "names", "api", "asked"),
    [
        # 1.34 does not know the second gate, and would not start.
        ("v1.34.3", {"DRADeviceTaints"}, "v1alpha3", True),
        ("v1.35.5", {"DRADeviceTaints", "DRADeviceTaintRules"}, "v1alpha3", True),
        ("v1.36.1", {"DRADeviceTaintRules"}, "v1beta2", True),
        ("v1.37.1", set(), "v1", False),
    ],
)
def test_gates_and_apis_of_each_version(
    version: str, names: set[str], api: str, asked: bool
) -> None:
    """kube_features.go and apis/resource of Kubernetes 1.34.3, 1.35.4, 1.36.1 and 1.37.1."""
    of = at(by_dra(remediation=ON), version)
    off = at(by_dra(remediation={**ON, "device_taints": False}), version)
    for told in (feature_gates.api_server_gates, feature_gates.scheduler_gates):
        assert told(of).keys() - told(off).keys() == names
        assert all(told(of).values())
    told_api = f"resource.k8s.io/{api}"
    assert feature_gates.runtime_config(of) == ((f"{told_api}=true",) if asked else ())
    assert environment(of)["DEVICETAINTS_API"] == told_api


def test_the_objects_are_good() -> None:
    made = device_taints(by_dra(remediation=ON))
    assert check_objects([each.body for each in made]) == []
    (pod,) = (e.body["spec"]["template"]["spec"] for e in made if e.kind == "Deployment")
    (container,) = pod["containers"]
    assert container["command"] == ["node-repair", "devices"]
    told = {each["name"]: each["value"] for each in container["env"]}
    assert Limits.read(told).faults == {CONDITION: FAULT}


# --- what is decided ---


class Facts:
    """What was read: two hosts with eight devices each, and more."""

    def __init__(self) -> None:
        self.devices: list[Device] = []
        self.reports: list[Report] = []
        self.rules: list[Rule] = []
        for node in ("n-1", "n-2"):
            for card in range(8):
                self.device(node, card)

    def device(self, node: str, card: int, attribute: str = BUS) -> None:
        told = {"name": f"card-{card}", "attributes": {attribute: {"string": address(card)}}}
        pool = {"name": node}
        spec = {"nodeName": node, "driver": "gpu.example", "pool": pool, "devices": [told]}
        self.devices += devices_of([{"spec": spec}])

    def node(self, name: str, status: str, message: str = "") -> "Facts":
        self.reports.append(Report(name, "v100", FAULT, status, message))
        return self

    def rule(self, node: str, card: int) -> "Facts":
        self.rules.append(added(node, card))
        return self

    def decided(self, percent: int = 20) -> list[Rule | str]:
        """The rules to make, and the names of those to delete."""
        found = self.all(percent)
        return [*found.add, *found.delete]

    def all(self, percent: int = 20) -> Outcome:
        return decide_devices(percent, self.devices, self.reports, self.rules)


def address(card: int) -> str:
    """The address of a card: with letters, of which drivers write some large."""
    return f"0000:{0x3A + card:02x}:00.0"


def added(node: str, card: int) -> Rule:
    name = f"card-{card}"
    return Rule(f"{node}-{name}", "v100", "gpu.example", node, name, FAULT)


@pytest.mark.parametrize(
    ("message", "cards"),
    [
        (f"{address(1)} has 8 of 16 lanes", [1]),
        (f"{address(1)},{address(3)} have 8 of 16 lanes", [1, 3]),
        ("XID 79 of 0000:3B:00, and 1 more", [1]),  # in large letters, without its function
        ("0000:3b:00.1 has 8 of 16 lanes", []),  # another function of the card
        ("5 of 8 cards have too few lanes", []),
        ("0000:3 has none", []),
    ],
)
def test_cards_that_the_condition_names_are_taken_out(message: str, cards: list[int]) -> None:
    found = Facts().node("n-1", "True", message).node("n-2", "False").decided()
    assert found == [added("n-1", card) for card in cards]


@pytest.mark.parametrize(
    ("attribute", "known"),
    [
        (BUS, True),
        ("gpu.example/pcieBusID", True),
        ("dra.example/pciAddress", True),
        ("resource.kubernetes.io/pcieRoot", False),
        ("uuid", False),
    ],
)
def test_a_card_is_found_by_what_its_driver_tells(attribute: str, known: bool) -> None:
    facts = Facts()
    facts.device("n-3", 0, attribute)
    found = facts.node("n-3", "True", address(0)).decided()
    assert found == ([added("n-3", 0)] if known else [])


@pytest.mark.parametrize(
    ("status", "expected"), [("True", []), ("Unknown", []), ("False", ["n-1-card-1"])]
)
def test_a_card_is_given_back_when_the_fault_is_gone(status: str, expected: list[str]) -> None:
    """Not where nothing is known of it, and not while the condition names another card."""
    facts = Facts().rule("n-1", 1).node("n-1", status, address(1)).node("n-2", "False")
    assert facts.decided() == expected


def test_a_rule_outlives_no_node_and_no_slice_gives_a_card_back() -> None:
    gone = Facts().rule("n-9", 1).node("n-1", "False")
    assert gone.decided() == ["n-9-card-1"]
    without = Facts().rule("n-1", 1).node("n-1", "True", address(1))
    without.devices = []
    assert without.decided() == []


def test_no_more_cards_of_a_pool_than_the_bound() -> None:
    """20 % of sixteen cards are three; those that are out already count."""
    facts = Facts().rule("n-2", 0).rule("n-2", 1).node("n-2", "Unknown")
    facts.node("n-1", "True", f"{address(1)},{address(2)} have 8 of 16 lanes")
    made = facts.all()
    assert made.add == (added("n-1", 1),) and not made.delete
    assert len(made.kept) == 1 and "pool v100: 3 of 16 devices are out" in made.kept[0]
    assert facts.decided(percent=25) == [added("n-1", 1), added("n-1", 2)]


def test_not_more_than_half_of_a_hosts_cards() -> None:
    facts = Facts()
    for card in range(4):
        facts.rule("n-1", card)
    found = facts.node("n-1", "True", address(5)).node("n-2", "False").all(percent=100)
    assert not found.add and "n-1: 4 of 8 devices are out" in found.kept[0]


@pytest.mark.parametrize(
    ("message", "up_to", "out", "left"),
    [
        (f"{address(1)},{address(2)} have 8 of 16 lanes", 2, 2, 0),
        (f"{address(1)},{address(2)} have 8 of 16 lanes", 1, 0, 2),
        ("5 of 8 accelerators have 8 of 16 lanes", 4, 0, 5),
    ],
)
def test_by_number_devices_are_taken_out_or_stay_in_use(
    message: str, up_to: int, out: int, left: int
) -> None:
    facts = Facts().node("n-1", "True", message).node("n-2", "False")
    found = decide_devices(100, facts.devices, facts.reports, facts.rules, up_to)
    assert len(found.add) == out and all(each.slices == "n-1" for each in found.add)
    assert in_use(facts.devices, facts.reports, found.add) == ({"n-1": left} if left else {})


@given(st.lists(st.sets(st.integers(0, 7), max_size=8), min_size=2, max_size=2), st.integers(0, 8))
def test_a_bad_device_of_one_host_never_takes_out_one_of_another(
    bad: list[set[int]], up_to: int
) -> None:
    """Both hosts' devices have the same addresses."""
    facts = Facts()
    for name, cards in zip(("n-1", "n-2"), bad, strict=True):
        facts.node(name, "True" if cards else "False", ",".join(address(card) for card in cards))
    for each in decide_devices(100, facts.devices, facts.reports, [], up_to).add:
        cards = bad[each.slices == "n-2"]
        assert int(each.device[-1]) in cards and (not up_to or len(cards) <= up_to)


def test_a_site_says_by_number_who_is_repaired() -> None:
    counted = {**ON, "bad_devices": {"taint_up_to": 2, "repair_beyond": True}}
    of = by_dra(remediation=counted)
    assert Fault.PCIE_LINK_DEGRADED in mended(of, "v100")
    assert environment(of)["DEVICETAINTS_UP_TO"] == "2"
    pool = Settings.model_validate_json(configuration(of)).pools["v100"]
    assert [(each.fault, each.beyond) for each in pool.by_number] == [(FAULT, 2)]
    # A program of before, which knows no number, repairs no host for one bad device.
    assert FAULT not in {each.fault for each in pool.repairs}
    alone = by_dra(remediation={**ON, "bad_devices": {"taint_up_to": 2}})
    assert Fault.PCIE_LINK_DEGRADED not in mended(alone, "v100")


@pytest.mark.parametrize(
    ("devices", "percent", "beyond"), [(8, 99, 4), (4, 99, 2), (1, 99, 1), (8, 5, 1)]
)
def test_a_bad_device_that_cannot_be_taken_out_is_repaired(
    devices: int, percent: int, beyond: int
) -> None:
    """Pools differ in size: what stays in use of one host is beyond the number of its pool."""
    counted = {"taint_up_to": 4, "repair_beyond": True}
    of = by_dra(remediation={**ON, "bad_devices": counted, "max_faulty_percent": percent})
    (pool,) = (each for each in of.file.pools if each.name == "v100")
    profile = of.profile(pool)
    assert profile.accelerators is not None
    few = profile.accelerators.model_copy(update={"count": devices})
    changed = {**of.hardware, pool.hardware: profile.model_copy(update={"accelerators": few})}
    of = replace(of, hardware=changed)
    (repair,) = Settings.model_validate_json(configuration(of)).pools["v100"].by_number
    assert repair.beyond == beyond
    cards = [
        Device(f"n-{n}", "gpu.example", f"n-{n}", f"card-{card}", address(card))
        for n in range(of.replicas(pool))
        for card in range(devices)
    ]
    for bad in range(devices + 1):
        told = ",".join(map(address, range(bad)))
        reports = [Report("n-0", "v100", FAULT, "True" if bad else "False", told)]
        reports += [
            Report(f"n-{n}", "v100", FAULT, "False", "") for n in range(1, of.replicas(pool))
        ]
        found = decide_devices(percent, cards, reports, [], 4)
        assert bad > repair.beyond or len(found.add) == bad


def test_a_device_is_out_where_its_driver_names_the_pool_otherwise() -> None:
    cards = [Device("n-1", "gpu.example", "pool-7", f"card-{n}", address(n)) for n in range(8)]
    reports = [Report("n-1", "v100", FAULT, "True", address(1))]
    found = decide_devices(100, cards, reports, [])
    assert [each.slices for each in found.add] == ["pool-7"]
    assert in_use(cards, reports, found.add) == {}


@pytest.mark.parametrize(
    ("counted", "healer", "why"),
    [
        ({"taint_up_to": 8}, {}, "at most half of the 8 devices"),
        (BEYOND, {"faults": ["accelerator-missing"]}, "no remediator repairs pcie"),
        # medik8s reboots a host for a condition, and counts no devices.
        (BEYOND, {"kind": "medik8s"}, "no remediator repairs pcie"),
    ],
)
def test_what_can_never_happen_is_refused(counted: Json, healer: Json, why: str) -> None:
    healers = [{**HEALER, **healer}]
    with pytest.raises(AssertionError, match=why):
        by_dra(remediation={**ON, "healers": healers, "bad_devices": counted})


def test_a_hosts_only_card_can_be_taken_out() -> None:
    facts = Facts()
    facts.device("n-3", 0)
    assert facts.node("n-3", "True", address(0)).decided() == [added("n-3", 0)]


# --- on a real API server ---


@pytest.fixture(scope="module")
def here(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    """The site with fakes of DRA drivers that tell addresses, at the version of the binaries."""
    of = at(by_dra(remediation=ON), "v1.34.3")
    with running(tmp_path_factory.mktemp("taints"), of, no_plugins, **parts(of)) as found:
        slices = fake_slices(found)
        for each in slices:
            for number, device in enumerate(each["spec"]["devices"]):
                if "attributes" in device:
                    told = {BUS: {"string": address(number)}}
                    device["attributes"] = {**device["attributes"], **told}
        found.t.create(slices)
        made = [each.body for each in device_taints(of)]
        namespace = {"metadata": {"name": "node-remediation"}}
        found.t.client.apply({"apiVersion": "v1", "kind": "Namespace", **namespace})
        for body in made:
            if body["kind"] not in ("Deployment", "ConfigMap"):
                found.t.client.apply(body)
        yield found


def one_round(here: World, folder: Path, api: str | None = None) -> bool:
    """One round of the program, with the rights and the settings that the site gives it."""
    kubeconfig = folder / "kubeconfig"
    token = account_token(here.t.client, "node-remediation", "device-taints")
    write_kubeconfig(kubeconfig, replace(here.t.access, token=token), ["site"])
    told = {**environment(here.site), **({"DEVICETAINTS_API": api} if api else {})}
    with Cluster(str(kubeconfig)) as cluster:
        lease = Lease(cluster, "node-remediation", "device-taints", "one")
        assert lease.hold()
        return round_of(Limits.read(told), cluster, lease.check)


def condition(here: World, node: str, status: str, message: str) -> None:
    """Say of a node what its detector would."""
    told = {"type": CONDITION, "status": status, "reason": "Test", "message": message}
    merge = "application/strategic-merge-patch+json"
    body = {"status": {"conditions": [told]}}
    here.t.client.request("PATCH", f"/api/v1/nodes/{node}/status", body, merge)


def rules(here: World) -> dict[str, Json]:
    found = here.t.client.items("resource.k8s.io/v1alpha3", "DeviceTaintRule")
    return {each["metadata"]["name"]: each["spec"] for each in found}


@pytest.mark.scheduling
def test_a_card_is_taken_out_and_given_back(here: World, tmp_path: Path) -> None:
    """Seven of eight cards go on being used, and the eighth does too once its fault is gone."""
    machines = [
        each["metadata"]["name"]
        for each in here.watch.nodes()
        if each["metadata"]["labels"][POOL_LABEL] == "v100"
    ]
    node = machines[0]
    condition(here, node, "True", f"{address(3)} has 8 of 16 lanes")
    # Another node's detector tells of this one, on a line of its own.
    message = f"{address(5)} has 8 of 16 lanes"
    forged = f'x\ny\nnode\t{node}\tv100\t"{CONDITION}"\t"True"\t"{message}"\n'
    condition(here, machines[1], forged, "")
    assert one_round(here, tmp_path)
    condition(here, machines[1], "False", "")
    taint = {"key": FAULTY_TAINT, "value": FAULT, "effect": "NoSchedule"}
    (made,) = rules(here).values()
    assert {name: made["taint"][name] for name in taint} == taint
    chosen = {"driver": "gpu.nvidia.com", "pool": node, "device": "card-3"}
    assert made["deviceSelector"] == chosen

    space = here.t.namespace("cards")
    here.run(asking(space, f"whole-{n}", V100, 8) for n in range(len(machines)))
    here.watch.until(
        "all but one",
        lambda: len(here.watch.bound(space)) == len(machines) - 1 and waiting(here, space),
        120,
    )
    assert node not in here.watch.bound(space).values()
    here.run([asking(space, "seven", V100, 7)])
    here.watch.until("seven cards", lambda: "seven" in here.watch.bound(space), 120)
    assert here.watch.bound(space)["seven"] == node
    assert one_round(here, tmp_path) and list(rules(here).values()) == [made]

    condition(here, node, "Unknown", "not settled")
    assert one_round(here, tmp_path) and list(rules(here).values()) == [made]
    condition(here, node, "False", "8 accelerators with 16 lanes")
    assert one_round(here, tmp_path) and rules(here) == {}
    here.run([asking(space, "one", V100, 1)])
    here.watch.until("the eighth card", lambda: "one" in here.watch.bound(space), 120)
    here.clear(space)


@pytest.mark.scheduling
def test_nothing_is_changed_where_the_cluster_cannot_be_read(here: World, tmp_path: Path) -> None:
    """As while the API server does not serve rules yet."""
    node = next(each["metadata"]["name"] for each in here.watch.nodes())
    condition(here, node, "True", f"{address(0)} has 8 of 16 lanes")
    with pytest.raises(ClusterError):
        one_round(here, tmp_path, api="resource.k8s.io/v1beta9")
    assert rules(here) == {}
    condition(here, node, "False", "")
