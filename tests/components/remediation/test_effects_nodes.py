"""Effects of a change of fault remediation on machines whose nodes' last known state is given."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from components.effects.fleet import Condition, NodeState
from components.effects.vocabulary import Effect, Impact
from components.making.faults import CONDITIONS, QUARANTINED_TAINT, TURN_LABEL
from components.remediation.checks import checks
from components.remediation.effects.readings import reading
from schemas.facts.site import Site
from schemas.model.vocabulary import Fault
from tests.kit.remediation_detectors import pool
from tests.kit.remediation_devices import Host, found_shells
from tests.kit.remediation_effects_sites import (
    POOL,
    detecting,
    effects,
    hosts,
    node,
    nodes,
    said,
    site,
    with_card,
    with_count,
    worse,
)

MISSING = {"AcceleratorMissing": "7 of 8 accelerators work (nvidia-smi)"}
SICK = node(**MISSING)
BEGINS = (detecting(), site())
MACHINES = 118
FIFTH = 23
"""As many of 118 nodes may be faulty before nobody is mended."""


def given(faulty: Mapping[int, NodeState], of: tuple[Site, Site] = BEGINS) -> list[Effect]:
    return effects(*of, nodes(of[1], faulty))


def rebooted(found: list[Effect]) -> dict[str, int | None]:
    """The hosts that are rebooted, with at most how many of those that are named together."""
    return {
        host: each.at_most for each in found if each.impact is Impact.REBOOT for host in each.hosts
    }


def names(*places: int) -> list[str]:
    return [hosts(site())[place] for place in places]


# --- faults that are newly mended -----------------------------------------------------------------
def test_nodes_that_have_the_fault_are_rebooted_and_no_others() -> None:
    found = given({3: SICK, 7: node(KernelDeadlock="python (71) blocked for 700 s")})
    assert rebooted(found) == dict.fromkeys(names(3, 7))
    text = said(found, "NodeRemediationTemplate/gpu")
    assert f"{names(3)[0]} (7 of 8 accelerators)" in text
    assert f"{names(7)[0]} (blocked for 700 s)" in text


def test_where_no_node_has_a_fault_nothing_happens() -> None:
    assert worse(given({})) == set()
    assert worse(given({3: node(DiskFull="/: 97% of its space used")})) == set()


def test_the_order_is_said_where_not_all_are_mended_at_once() -> None:
    many = given(dict.fromkeys(range(3), SICK))
    assert "idle ones first" in said(many, "NodeRemediationTemplate/gpu")
    assert "idle ones first" not in said(given({3: SICK}), "NodeRemediationTemplate/gpu")


def test_what_a_message_says_in_another_form_is_not_repeated() -> None:
    """Messages come from machines; what is shown of them is what their checks are known to say."""
    text = said(given({3: node(AcceleratorMissing="<b>@everyone</b>")}), "NodeRemediationTemplate")
    assert "everyone" not in text
    assert f"{names(3)[0]} (AcceleratorMissing)" in text


@pytest.mark.parametrize(
    ("state", "words"),
    [
        (SICK._replace(cordoned=True), "cordoned"),
        (SICK._replace(taints={QUARANTINED_TAINT: "x"}), "quarantined"),
        (SICK._replace(conditions={**SICK.conditions, "Ready": Condition("Unknown")}), "not ready"),
    ],
)
def test_a_node_that_waits_is_unknown(state: NodeState, words: str) -> None:
    found = given({3: state, 4: SICK})
    assert rebooted(found) == dict.fromkeys(names(4))
    (waits,) = (each for each in found if each.impact is Impact.UNKNOWN)
    assert list(waits.hosts) == names(3)
    assert words in waits.why


@pytest.mark.parametrize(
    ("number", "impact"), [(FIFTH, Impact.REBOOT), (FIFTH + 1, Impact.UNKNOWN)]
)
def test_with_too_many_faults_nobody_is_mended_yet(number: int, impact: Impact) -> None:
    """node_repair/decide.py, _held: more than max_faulty_percent of the nodes that there are."""
    found = given(dict.fromkeys(range(number), SICK))
    assert worse(found) == {(impact, number, None)}


@pytest.mark.parametrize(
    ("state", "most"), [({"AcceleratorMissing": "Unknown"}, 1), ({"PCIeLinkDegraded": ""}, 1)]
)
def test_a_node_that_does_not_tell_may_be_rebooted(state: dict[str, str], most: int) -> None:
    """Unknown, or never told: as of a fault that nobody has looked for yet."""
    silent = node(**state)
    if "" in state.values():
        known = {k: v for k, v in silent.conditions.items() if k not in state}
        silent = silent._replace(conditions=known)
    assert rebooted(given({5: silent})) == dict.fromkeys(names(5), most)


def test_machines_that_are_not_in_the_state_may_be_rebooted() -> None:
    """A spare has no node; of 4 hosts without one 2 are machines."""
    whole = nodes(site(), {})
    few = {name: whole[name] for name in list(whole)[2:]}
    found = effects(*BEGINS, few)
    assert rebooted(found) == dict.fromkeys(names(0, 1, 118, 119), 2)


def test_a_state_that_says_nothing_is_no_better_than_none() -> None:
    """Of every machine that gives no answer a reboot may follow, as without any state."""
    empty = {name: NodeState() for name in hosts(site())}
    assert worse(effects(*BEGINS, empty)) == worse(effects(*BEGINS))


def test_medik8s_mends_no_more_than_its_budget() -> None:
    of = (detecting(), site({"kind": "medik8s"}))
    assert rebooted(given({3: SICK, 4: SICK}, of)) == dict.fromkeys(names(3, 4))
    assert worse(given(dict.fromkeys(range(3), SICK), of)) == {(Impact.UNKNOWN, 3, None)}


# --- checks that change ---------------------------------------------------------------------------
def test_how_close_a_node_is_to_a_fault_it_does_not_tell() -> None:
    """A condition that is False has one message for all: any of the other machines may have it."""
    found = given({3: SICK}, (site(), site(detector={"bad_after": 1})))
    may = rebooted(found)
    assert set(may) == set(hosts(site())) - set(names(3))
    assert set(may.values()) == {MACHINES - 1}
    assert f"{names(3)[0]} (7 of 8 accelerators) had it before" in said(found, "ConfigMap/")


@pytest.mark.parametrize(
    ("before", "after", "fault", "words"),
    [
        (with_count(site(), 8), with_count(site(), 7), MISSING, "has it no more: their repair"),
        (with_count(site(), 9), with_count(site(), 8), MISSING, "keeps it"),
        (
            site(), site(detector={"xids": {"reboot": [62]}}),
            {"AcceleratorError": "XID 79 of 0000:3b:00"}, "has it no more: their repair",
        ),
        (
            site(), site(detector={"xids": {"reboot": [62]}}),
            {"AcceleratorError": "XID 79 of 0000:3b:00, and 1 more"}, "does not tell whether",
        ),
        (
            with_card(site(), link_width=16), with_card(site(), link_width=8),
            {"PCIeLinkDegraded": "0000:3b:00.0 has 8 of 16 lanes"}, "does not tell whether",
        ),
        (
            with_card(site(), link_width=16), with_card(site(), link_width=8),
            {"PCIeLinkDegraded": "0000:3b:00.0 has 4 of 16 lanes"}, "keeps it",
        ),
        (
            site(), site(detector={"blocked_seconds": 900}),
            {"KernelDeadlock": "python (7) blocked for 600 s"}, "does not tell whether",
        ),
        (
            site(), site(detector={"disk_full_percent": 98}),
            {"DiskFull": "/: 96% of its inodes used"}, "has it no more: the condition is taken",
        ),
    ],
)  # fmt: skip
def test_who_keeps_a_fault_by_a_looser_check_the_message_says(
    before: Site, after: Site, fault: dict[str, str], words: str
) -> None:
    found = given({3: node(**fault)}, (before, after))
    assert words in said(found, f"ConfigMap/node-problem-detector/{POOL}")
    assert worse(found) == set()


def test_a_fault_that_a_new_check_does_not_see_is_not_mended() -> None:
    before = with_count(detecting(), 8)
    found = given({3: SICK}, (before, with_count(site(), 7)))
    assert rebooted(found) == {}
    assert names(3)[0] in rebooted(given({3: SICK}, (before, with_count(site(), 8))))


# --- what lets a repair go on, or be done once more -----------------------------------------------
@pytest.mark.parametrize("setting", [{"good_after": 4}, {"interval_seconds": 60}])
def test_a_fault_that_counts_for_longer_is_mended_on_the_nodes_that_have_it(
    setting: dict[str, int],
) -> None:
    """checks/settled.sh counts good readings in a row until it answers good."""
    of = (site(), site(detector=setting))
    assert rebooted(given({3: SICK}, of)) == dict.fromkeys(names(3), 1)
    assert worse(given({}, of)) == set()


@pytest.mark.parametrize(
    "setting", [{"timeout_seconds": 600}, {"attempts": 4}, {"window_hours": 12}]
)
def test_nodes_in_their_turn_may_be_rebooted_once_more(setting: dict[str, int]) -> None:
    """node_repair/decide.py, _after_reboot."""
    turning = SICK._replace(labels={**SICK.labels, TURN_LABEL: "accelerator-missing"})
    of = (site(), site(reboot=setting))
    assert rebooted(given({3: turning, 4: SICK}, of)) == dict.fromkeys(names(3), 1)
    assert worse(given({4: SICK}, of)) == set()


# --- budgets --------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("after", "faulty", "expected"),
    [
        (site({"max_unavailable": 3}), 0, set()),
        (site({"max_unavailable": 3}), 5, {(Impact.REBOOT, 5, 1)}),
        (site(max_faulty_percent=30), FIFTH, set()),
        (site(max_faulty_percent=30), FIFTH + 1, {(Impact.REBOOT, FIFTH + 1, None)}),
        (site(max_faulty_percent=30), 40, {(Impact.UNKNOWN, 40, None)}),
    ],
)
def test_more_at_a_time_reboots_those_that_wait(
    after: Site, faulty: int, expected: set[Any]
) -> None:
    found = given(dict.fromkeys(range(faulty), SICK), (site(), after))
    assert worse(found) == expected


def test_repairs_that_end_are_named() -> None:
    turning = SICK._replace(labels={**SICK.labels, TURN_LABEL: "accelerator-missing"})
    found = given({3: turning}, (site(), detecting()))
    assert f"these are {names(3)[0]}" in said(found, "NodeRemediationTemplate/gpu")


# --- what the checks say --------------------------------------------------------------------------
FAULTS = {
    Fault.ACCELERATOR_MISSING: "7 of 8 accelerators",
    Fault.ACCELERATOR_ERROR: "XID 79",
    Fault.PCIE_LINK_DEGRADED: "8 of 16 lanes",
    Fault.DISK_FULL: "97 % of the space of / used",
    Fault.READ_ONLY_FILESYSTEM: "/ is read-only",
    Fault.KERNEL_DEADLOCK: "blocked for 700 s",
    Fault.FABRIC_DOWN: "15 of 16 parts of the fabric work (nvidia-smi)",
    Fault.NETWORK_LINK_DOWN: "ib1 (rail 1) is DOWN (LinkUp)",
    Fault.NETWORK_LINK_ERRORS: "ib0 (rail 0): symbol_error rose by 700 in 700 s",
}


def _broken(root: Path) -> Host:
    """A host with every fault."""
    host = Host(root)
    addresses = host.cards(7)
    host.lanes(addresses[0], 8)
    host.says("NVRM: Xid (PCI:0000:3b:00): 79, pid=1, GPU has fallen off the bus.")
    host.filled((97, 10))
    host.mounts.write_text("/dev/nvme0n1p2 / ext4 ro,relatime 0 0\n")
    host.process(71, "python")
    host.process(700, "nv-fabricmanage", "S")
    host.fabric(state="Not Started")
    for rail in range(8):
        host.port(f"ib{rail}", "1: DOWN" if rail == 1 else "4: ACTIVE")
    return host


def _arguments(host: Host, arguments: tuple[str, ...]) -> list[str]:
    """A check's arguments, on the made-up host."""
    places = {
        "/sys": host.sys,
        "/proc": host.proc,
        "/proc/1/mounts": host.mounts,
        "/proc/sys/kernel/random/boot_id": host.boot_id,
        "/run/foresite/detector": host.state,
        "/host": host.root,
        "/host/sys": host.sys,
    }
    return [str(places.get(each, each)) for each in arguments]


@pytest.mark.parametrize("fault", FAULTS)
def test_the_checks_own_messages_are_understood(fault: Fault, tmp_path: Path) -> None:
    """The real scripts, on a made-up host with the fault."""
    host, made = _broken(tmp_path), with_card(site(), link_width=16)
    of = pool(made, "h100" if fault in [*Fault][6:] else POOL)
    (check,) = (each for each in checks(made, of) if each.fault == fault)
    shell = next(iter(found_shells().values()))
    for uptime in (1000, 1700):
        host.uptime(uptime)
        host.counter("ib0", "symbol_error", uptime)
        told = host.run(shell, check.script, *_arguments(host, check.arguments))
    assert told.code == 1, told
    found = reading(made, of, fault, told.line)
    assert found.words == FAULTS[fault]
    assert found.faulty is (None if of.name == "h100" else True)


def test_every_fault_is_understood() -> None:
    assert set(FAULTS) == set(CONDITIONS) == set(Fault)
