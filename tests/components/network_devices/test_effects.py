"""Effects of changes to network devices on the hosts of tokyo-1.

Expected is what sriov-network-operator 1.6.0 does (pkg/plugins, pkg/daemon, controllers), and the
kubelet for device plugins.
"""

from typing import Any

import pytest

from components.effects.kubernetes import RULES as KUBERNETES
from components.effects.rules import Rules, find, judge_object
from components.effects.vocabulary import (
    Action,
    Effect,
    Impact,
    Name,
    ObjectChange,
    Side,
    SiteChange,
)
from components.machines.fleet import side_of
from components.machines.rollout import capacity
from components.network_devices.effects import RULES
from components.network_devices.names import COMPONENT
from components.network_devices.objects import objects
from schemas.facts.site import Site
from schemas.kubernetes.objects import strict_schema
from tests.components.network_devices.test_network_devices import EVERYTHING
from tests.kit.effects_cases import Said, fields, of, said
from tests.kit.effects_rows import nothing, restart, unknown
from tests.kit.network_device_sites import CARD, DIVIDED, SHARED, card, site

ALL_RULES = Rules((*RULES, *KUBERNETES))
MOST = 118
"""Machines of v100: 2 of its 120 hosts are spare."""
DRAINED: Said = (Impact.DRAIN, "v100", MOST, None)
REBOOTED: Said = (Impact.REBOOT, "v100", MOST, None)
RESTARTED: Said = restart("v100", MOST)
POLICY: Name = (COMPONENT, "SriovNetworkNodePolicy/v100/fabric")
PACE: Name = (COMPONENT, "SriovNetworkPoolConfig/v100")
SETTINGS: Name = (COMPONENT, "SriovOperatorConfig/default")
NETWORK: Name = (COMPONENT, "SriovNetwork/fabric/vision")
RDMA_CONFIG: Name = (COMPONENT, "ConfigMap/rdma-shared-device-plugin/v100")
RDMA: Name = (COMPONENT, "DaemonSet/rdma-shared-device-plugin/v100")
CONFIG: Name = (COMPONENT, "ConfigMap/sriov-device-plugin/v100")
PLUGIN: Name = (COMPONENT, "DaemonSet/sriov-device-plugin/v100")
IMAGE: dict[str, Any] = {"sriov_by": "device-plugin"}
TWO = ["ens1f0", "ens1f1"]
OTHER = {**CARD, "name": "other", "interfaces": ["ens2f0"]}


def side(found: Site) -> Side:
    return side_of(found, {(COMPONENT, each.name): each for each in objects(found)})


def change(before: Site | None, after: Site) -> SiteChange:
    sides = (side(before) if before else None, side(after))
    old = sides[0].objects if sides[0] else {}
    changes = {}
    for name in dict.fromkeys((*sides[1].objects, *old)):
        mine, theirs = old.get(name), sides[1].objects.get(name)
        if mine != theirs:
            found = tuple(fields(mine.body, theirs.body)) if mine and theirs else ()
            changes[name] = ObjectChange(COMPONENT, mine, theirs, found)
    return SiteChange("tokyo-1", *sides, changes)


def effects(found: SiteChange, name: Name) -> list[Effect]:
    return judge_object(ALL_RULES, found, found.changes[name])


def verdicts(found: SiteChange) -> dict[Name, set[Said]]:
    """The verdicts on each object that differs."""
    return {name: said(found, effects(found, name)) for name in found.changes}


def of_v100(before: Any, after: Any, **settings: Any) -> SiteChange:
    return change(site({"v100": before}, **settings), site({"v100": after}, **settings))


# --- how interfaces are divided ---


@pytest.mark.parametrize(
    ("before", "after", "expected"),
    [
        # Mellanox has the number in firmware: drained and rebooted; others drained.
        (card(), card(functions=16), REBOOTED),
        (card(functions=16), card(), REBOOTED),
        (card(), card(interfaces=TWO), REBOOTED),
        (card(interfaces=TWO), card(), DRAINED),
        (card(), card(mtu=9000), DRAINED),
        (card(mtu=9000), card(mtu=1500), DRAINED),
        # Nobody sets an MTU back; a new configuration restarts the device plugin.
        (card(mtu=9000), card(), RESTARTED),
        (card(rdma=False), card(), DRAINED),
        (card(), card(rdma=False), RESTARTED),
        (card(rdma=False), card(rdma=False, driver="vfio-pci"), REBOOTED),
        (card(rdma=False, driver="vfio-pci"), card(rdma=False), DRAINED),
    ],
)
def test_a_changed_policy(before: Any, after: Any, expected: Said) -> None:
    assert verdicts(of_v100(before, after)) == {POLICY: {expected}}


@pytest.mark.parametrize(("mtu", "expected"), [(1500, RESTARTED), (9900, DRAINED)])
def test_bare_devices_have_no_mtu_of_their_own(mtu: int, expected: Said) -> None:
    """NeedToUpdateSriov looks at the functions' MTU with a driver of the kernel only, and raises
    that of the interface."""
    bare = {"rdma": False, "driver": "vfio-pci"}
    found = of_v100(card(**bare, mtu=9000), card(**bare, mtu=mtu))
    assert verdicts(found) == {POLICY: {expected}}


def test_another_link_is_another_kind_of_network() -> None:
    found = verdicts(of_v100(card(), card(link="infiniband")))
    assert found.pop(POLICY) == {REBOOTED}
    assert {each for said_of in found.values() for each in said_of} == {
        nothing(),
        nothing(Action.DELETED),
    }
    assert {name[1].split("/")[0] for name in found} == {"SriovNetwork", "SriovIBNetwork"}


def test_a_policy_that_comes_or_goes() -> None:
    both = {"sriov": [CARD, OTHER]}
    name = (COMPONENT, "SriovNetworkNodePolicy/v100/other")
    assert verdicts(of_v100(DIVIDED, both))[name] == {REBOOTED}
    gone = (Impact.DRAIN, "v100", MOST, Action.DELETED)
    assert verdicts(of_v100(both, DIVIDED))[name] == {gone}


@pytest.mark.parametrize(("pace", "words"), [(1, "1 at a time"), (7, "7 at a time")])
def test_the_pace_is_that_of_the_pool(pace: int, words: str) -> None:
    found = of_v100(card(), card(functions=16, mtu=9000), max_unavailable=pace)
    told = effects(found, POLICY)
    assert len(told) == 2 and all(words in each.why for each in told)
    assert {each.at_once for each in told} == {pace}


@pytest.mark.parametrize(
    ("after", "pace", "out"),
    [
        # Two fields of a policy, and two policies, are one operator's work.
        (card(functions=16, mtu=9000), 4, 4),
        ({"sriov": [{**CARD, "functions": 16}, OTHER]}, 4, 4),
        (card(functions=16), 100, 100),
        # Nothing holds back who gets a function that another pod has.
        ({"sriov": [{**CARD, "name": "renamed"}]}, 4, MOST),
        (card(vlan=7), 4, 0),
    ],
)
def test_so_many_accelerators_are_out_at_worst(after: Any, pace: int, out: int) -> None:
    found = of_v100(card(), after, max_unavailable=pace)
    told = [each for name in found.changes for each in effects(found, name)]
    ledgers = {each.model: each for each in capacity(found, told, ())}
    v100 = ledgers["v100-sxm2-32gb"]
    assert (v100.hosts_out, v100.accelerators_out) == (out, 8 * out)
    assert all(each.hosts_out == 0 for model, each in ledgers.items() if each is not v100)


def test_the_last_policy_of_a_pool_may_leave_its_functions_there() -> None:
    """The operator's daemon goes with the label, controllers/sriovoperatorconfig_controller.go."""
    found = of_v100(DIVIDED, {})
    (effect,) = effects(found, POLICY)
    assert "until its next boot" in effect.why
    said_of = verdicts(found)
    assert said_of[SETTINGS] == {nothing(Action.LEFT)}
    assert said_of[PACE] == {nothing(Action.DELETED)}


def test_the_first_policy_of_a_site_brings_the_operators_daemons() -> None:
    found = verdicts(of_v100({}, DIVIDED))
    assert found[POLICY] == {REBOOTED}
    assert found[SETTINGS] == {RESTARTED}
    assert found[PACE] == found[NETWORK] == {nothing()}


@pytest.mark.parametrize("name", ["numVfs", "mtu"])
def test_hosts_that_join_are_divided_before_they_run_a_pod(name: str) -> None:
    before, after = site({"v100": card()}), site({"v100": card(functions=16, mtu=9000)})
    others = tuple(host for host in before.hosts if host.pool != "v100")
    found = change(of(before, hosts=others), after)
    assert verdicts(found)[POLICY] == {nothing()}


# --- a resource under another name ---

RENAMED = {"sriov": [{**CARD, "name": "renamed"}]}
NEW: Name = (COMPONENT, "SriovNetworkNodePolicy/v100/renamed")


def test_renamed_functions_may_be_given_to_two_pods() -> None:
    """The functions that a pod holds are counted by the resource's name (kubelet,
    allocatedDevices)."""
    found = verdicts(of_v100(DIVIDED, RENAMED))
    assert found[NEW] == {(Impact.UNKNOWN, "v100", MOST, None)}
    assert found[POLICY] == {nothing(Action.DELETED)}


def test_renamed_functions_of_another_number_are_made_anew() -> None:
    more = {"sriov": [{**CARD, "name": "renamed", "functions": 16}]}
    assert verdicts(of_v100(DIVIDED, more))[NEW] == {REBOOTED}


def test_the_webhook_refuses_a_second_policy_for_an_interface() -> None:
    """pkg/webhook/validate.go, validatePfNames: Pulumi deletes the former one last."""
    found = of_v100(DIVIDED, RENAMED, operator_webhooks=True)
    assert verdicts(found)[NEW] == {nothing(Action.REFUSED)}
    assert "first" in effects(found, NEW)[0].why


def test_the_webhook_refuses_a_policy_for_no_host() -> None:
    before, after = (site(devices, operator_webhooks=True) for devices in ({}, {"v100": DIVIDED}))
    others = tuple(host for host in before.hosts if host.pool != "v100")
    found = change(of(before, hosts=others), after)
    assert verdicts(found)[POLICY] == {nothing(Action.REFUSED)}


@pytest.mark.parametrize(
    ("functions", "expected"), [(8, (Impact.UNKNOWN, "v100", MOST, None)), (4, REBOOTED)]
)
def test_an_interface_moves_from_one_resource_to_another(functions: int, expected: Said) -> None:
    mine = {**CARD, "interfaces": TWO}
    theirs = {**OTHER, "functions": functions}
    moved = {**theirs, "interfaces": ["ens1f1", "ens2f0"]}
    found = verdicts(of_v100({"sriov": [mine, theirs]}, {"sriov": [CARD, moved]}))
    assert found == {
        POLICY: {nothing()},
        (COMPONENT, "SriovNetworkNodePolicy/v100/other"): {expected},
    }


# --- what changes nothing on hosts ---


@pytest.mark.parametrize(
    ("before", "after"),
    [(card(), card(vlan=7)), (card(vlan=7), card()), (card(), card(addresses="10.128.0.0/16"))],
)
def test_a_changed_network_leaves_pods_as_they_are(before: Any, after: Any) -> None:
    found = verdicts(of_v100(before, after))
    assert len(found) == 2  # a network for each namespace of the team
    assert set().union(*found.values()) == {nothing()}


def test_the_pace_and_the_webhooks_concern_no_host() -> None:
    devices = {"v100": DIVIDED}
    faster = verdicts(change(site(devices), site(devices, max_unavailable=9)))
    assert faster == {PACE: {nothing()}}
    served = verdicts(change(site(devices), site(devices, operator_webhooks=True)))
    assert served == {SETTINGS: {nothing()}}


def test_a_team_that_goes_takes_no_interface_from_its_pods() -> None:
    devices = {"v100": DIVIDED}
    found = verdicts(change(site(devices), site(devices, teams=False)))
    assert set().union(*found.values()) == {nothing(Action.DELETED)}


@pytest.mark.parametrize("way", ["operator", "device-plugin"])
def test_lines_that_swap_places_change_no_object(way: str) -> None:
    shared = {"name": "a", "interfaces": ["ib0", "ib1"]}, {"name": "b", "interfaces": ["ib2"]}
    wide = {**CARD, "interfaces": TWO}
    before = {"rdma": list(shared), "sriov": [wide, OTHER]}
    swapped = {**shared[0], "interfaces": ["ib1", "ib0"]}
    narrow = {**wide, "interfaces": TWO[::-1]}
    after = {"rdma": [shared[1], swapped], "sriov": [OTHER, narrow]}
    assert verdicts(of_v100(before, after, sriov_by=way)) == {}


# --- device plugins ---


def test_a_changed_share_restarts_the_plugin_of_its_pool() -> None:
    both = {"v100": SHARED, "a100": SHARED}
    more = {**SHARED, "rdma": [{**SHARED["rdma"][0], "share": 9}]}
    found = change(site(both), site({**both, "v100": more}))
    assert verdicts(found) == {RDMA_CONFIG: {nothing()}, RDMA: {RESTARTED}}
    restarts = [each for each in effects(found, RDMA) if each.impact is Impact.POD_RESTART]
    assert all("none that asks for one starts there" in each.why for each in restarts)


def test_a_plugin_that_comes_or_goes() -> None:
    assert verdicts(of_v100({}, SHARED))[RDMA] == {RESTARTED}
    assert verdicts(of_v100(SHARED, {}))[RDMA] == {restart("v100", MOST, Action.DELETED)}


def test_functions_that_the_image_makes_are_handed_out_anew() -> None:
    found = verdicts(of_v100(card(), card(functions=16), **IMAGE))
    assert found == {CONFIG: {nothing()}, PLUGIN: {RESTARTED}}


def test_renamed_functions_of_the_plugin_may_be_given_to_two_pods() -> None:
    found = verdicts(of_v100(DIVIDED, RENAMED, **IMAGE))
    assert found == {CONFIG: {nothing(), (Impact.UNKNOWN, "v100", MOST, None)}, PLUGIN: {RESTARTED}}


def test_functions_of_another_domain_may_be_given_to_two_pods() -> None:
    """The plugin registers prefix/name with the kubelet, which books devices by that."""
    before, after = (site({"v100": DIVIDED}, **IMAGE, prefix=f"{each}.com") for each in "ab")
    found = change(before, after)
    twice = [each for each in effects(found, CONFIG) if each.impact is Impact.UNKNOWN]
    assert said(found, twice) == {(Impact.UNKNOWN, "v100", MOST, None)}
    assert "ens1f0" in twice[0].why


def test_the_way_changes_from_the_operator_to_the_image_and_back() -> None:
    before, after = site({"v100": DIVIDED}), site({"v100": DIVIDED}, **IMAGE)
    there = verdicts(change(before, after))
    assert there[POLICY] == {(Impact.DRAIN, "v100", MOST, Action.DELETED)}
    assert there[PLUGIN] == {RESTARTED}
    back = change(after, before)
    assert verdicts(back)[POLICY] == {REBOOTED}
    # The functions that are there may be in use.
    assert "evicted" in effects(back, POLICY)[0].why.rpartition("other NICs")[2]


# --- the site as a whole ---


def test_nothing_happens_on_a_new_site_or_before_its_cluster_answers() -> None:
    new = change(None, site(EVERYTHING))
    assert set().union(*verdicts(new).values()) == {nothing()}
    sites = [site({"v100": devices}) for devices in (card(), card(functions=16))]
    waiting = [
        of(
            each,
            file=each.file.model_copy(
                update={"cluster": each.file.cluster.model_copy(update={"context": None})}
            ),
        )
        for each in sites
    ]
    found = verdicts(change(waiting[0], waiting[1]))
    assert found == {POLICY: {nothing()}}


def test_of_an_operator_in_another_namespace_only_pools_that_divide_are_unknown() -> None:
    """Its daemons run on hosts with the label alone, and each policy selects its pool."""
    devices = {"v100": DIVIDED}
    found = verdicts(change(site(devices), site(devices, operator_namespace="other")))
    unforeseen = (Impact.UNKNOWN, "v100", MOST, Action.REPLACED)
    assert found[POLICY] == {unforeseen}
    others = set().union(*(each for name, each in found.items() if name != POLICY))
    assert {(impact, where) for impact, where, *_ in others} <= {
        (Impact.NONE, ""),
        (Impact.POD_RESTART, "v100"),
    }


@pytest.mark.parametrize("way", ["operator", "device-plugin"])
def test_every_field_that_is_written_has_a_rule(way: str) -> None:
    for each in objects(site(EVERYTHING, sriov_by=way)):
        for field in fields({}, each.body):
            if field.path[0] in ("apiVersion", "kind"):
                continue  # another kind is another object
            inner = field.after if isinstance(field.after, dict) else {}
            for key in inner:
                at = (*field.path, key)
                assert find(ALL_RULES, each.group_kind, at) is not None, at


def test_rules_judge_fields_that_there_are() -> None:
    for rule in RULES:
        kind, _, group = rule.kind.partition(".")
        if group != "sriovnetwork.openshift.io":
            continue
        schema = strict_schema(f"{group}/v1", kind)
        inner: Any = schema
        for step in rule.path:
            while "$ref" in inner:
                inner = schema["definitions"][inner["$ref"].rpartition("/")[2]]
            inner = inner["properties"][step]


def test_a_field_without_a_rule_is_unknown() -> None:
    found = of_v100(card(), card(functions=16))
    (field,) = found.changes[POLICY].fields
    other = found.changes[POLICY]._replace(fields=(field._replace(path=("spec", "eSwitchMode")),))
    assert said(found, judge_object(ALL_RULES, found, other)) == {unknown()}
