"""Effects of a change of fault remediation on machines, as far as Git alone says."""

import json
from dataclasses import replace
from typing import Any

import pytest

from components.effects.vocabulary import Impact
from components.remediation.turns import CONFIG
from schemas.facts.site import Site
from schemas.model.remediation import Xids
from tests.kit.remediation_effects_sites import (
    HEALER,
    POOL,
    between,
    detecting,
    effects,
    hosts,
    said,
    side,
    site,
    with_card,
    with_count,
    with_remediation,
    worse,
)

MACHINES = 118
"""Of 120 hosts 2 are spares."""
FIFTH = MACHINES * 20 // 100
"""As many nodes may be faulty at once before nobody is mended (max_faulty_percent 20); hosts that
were mended make room for others, so it is no bound of those that are rebooted."""
IMAGE_2 = f"registry.example/other:v2@sha256:{'cd' * 32}"
REVERSED = ["kernel-deadlock", "read-only-filesystem", "accelerator-missing"]


def reboots(most: int) -> set[tuple[Impact, int, int | None]]:
    """At most so many hosts of the pool are rebooted, and Git does not say which."""
    return {(Impact.REBOOT, 120, most)}


def with_silent(*codes: int) -> Site:
    """The site with exit codes of its health command that say nothing."""
    name = "v100-sxm2-32gb"
    record = PLAIN.accelerators[name]
    assert record.health is not None
    health = record.health.model_copy(update={"silent_codes": list(codes)})
    changed = record.model_copy(update={"health": health})
    return replace(PLAIN, accelerators={**PLAIN.accelerators, name: changed})


PLAIN = site()
STRICTER: dict[str, tuple[Site, Site]] = {
    "fewer bad readings": (PLAIN, site(detector={"bad_after": 1})),
    "shorter interval": (PLAIN, site(detector={"interval_seconds": 10})),
    "shorter wait of processes": (PLAIN, site(detector={"blocked_seconds": 120})),
    "one more error": (PLAIN, site(detector={"xids": {"reboot": [48, *Xids().reboot]}})),
    "another error": (PLAIN, site(detector={"xids": {"reboot": [48]}})),
    "one more folder": (PLAIN, site(detector={"disks": ["/", "/srv/nvme"]})),
    "more cards in the profile": (PLAIN, with_count(PLAIN, 9)),
    "more lanes": (PLAIN, with_card(PLAIN, link_width=32)),
    "more good readings": (PLAIN, site(detector={"good_after": 4})),
    "an answer that is no longer silent": (with_silent(3, 4), with_silent(3)),
    "other cards": (PLAIN, with_card(PLAIN, classes=["0300"])),
}
LOOSER = {
    name: (STRICTER[name][1], STRICTER[name][0])
    for name in STRICTER
    if name not in ("another error", "other cards", "shorter interval")
}


@pytest.mark.parametrize("name", STRICTER)
def test_a_check_that_finds_more_may_reboot_hosts_of_mended_pools(name: str) -> None:
    found = effects(*STRICTER[name])
    assert worse(found) == reboots(MACHINES)
    assert f"more than {FIFTH} of them have a fault at once" in said(found, "ConfigMap/")


@pytest.mark.parametrize("name", LOOSER)
def test_a_check_that_finds_less_restarts_the_detector_alone(name: str) -> None:
    found = effects(*LOOSER[name])
    assert worse(found) == set()
    assert {each.impact for each in found} == {Impact.NONE, Impact.POD_RESTART}


def test_what_no_healer_mends_reboots_nothing() -> None:
    """A full disk is told, and a pool without a healer."""
    fuller = (site(), site(detector={"disk_full_percent": 80}))
    assert worse(effects(*fuller)) == set()
    assert "no remediator repairs it" in said(effects(*fuller), "ConfigMap/node-problem-detector")
    assert worse(effects(detecting(), detecting(bad_after=1))) == set()


def test_a_changed_check_restarts_the_detector_a_tenth_at_a_time_and_drains_nothing() -> None:
    found = effects(detecting(), detecting(bad_after=1))
    text = said(found, f"DaemonSet/node-problem-detector/{POOL}")
    assert "12 at a time" in text
    assert "conditions of nodes stay as they are meanwhile" in text
    assert {host for each in found for host in each.hosts} >= set(hosts(PLAIN))


def test_errors_that_are_watched_are_only_told() -> None:
    found = effects(site(), site(detector={"xids": {"watch": [13]}}))
    assert worse(found) == set()
    assert "no condition, and so no repair" in said(found, "ConfigMap/node-problem-detector")


def test_a_check_that_differs_in_no_setting_may_find_anything() -> None:
    """As when both sides are made by their own code."""
    sides = [side(PLAIN), side(PLAIN)]
    name = ("remediation", f"ConfigMap/node-problem-detector/{POOL}")
    one = sides[1].objects[name]
    data = {**one.body["data"], "accelerator-missing.sh": "exit 1\n"}
    other = one._replace(body={**one.body, "data": data})
    after = replace(sides[1], objects={**sides[1].objects, name: other})
    assert worse(between(sides[0], after)) == reboots(MACHINES)


def test_lines_of_turns_that_differ_in_no_setting_are_unknown() -> None:
    sides = [side(PLAIN), side(PLAIN)]
    name = ("remediation", "ConfigMap/turns-config")
    one = sides[1].objects[name]
    settings = json.loads(one.body["data"][CONFIG])
    turned = json.dumps(dict(reversed(settings.items())))
    for data, impacts in (
        ({"turns.conf": "percent 90\n"}, {Impact.UNKNOWN}),
        ({CONFIG: "percent 90\n"}, {Impact.UNKNOWN}),
        ({CONFIG: turned}, set()),
    ):
        other = one._replace(body={**one.body, "data": data})
        after = replace(sides[1], objects={**sides[1].objects, name: other})
        assert {each[0] for each in worse(between(sides[0], after))} == impacts


# --- who mends what -------------------------------------------------------------------------------
BEGIN = {
    "a healer": (detecting(), site()),
    "a fault more": (site({"faults": ["kernel-deadlock"]}), site()),
    "another healer": (site(), site({"name": "other"})),
    "a card whose lanes are known": (with_card(PLAIN, link_width=None), PLAIN),
    "all of it": (with_remediation(PLAIN, None), PLAIN),
}


@pytest.mark.parametrize("name", BEGIN)
def test_faults_that_are_newly_mended_may_reboot_hosts(name: str) -> None:
    assert worse(effects(*BEGIN[name])) == reboots(MACHINES)


def test_two_hosts_may_be_faulty_where_a_fifth_is_less() -> None:
    few = {**HEALER, "pools": ["control"], "faults": ["kernel-deadlock"]}
    found = effects(detecting(), site(healers=[few]))
    assert worse(found) == {(Impact.REBOOT, 3, 3)}
    assert "while more than 2 of them have a fault at once" in said(found, "NodeRemediationTempl")


def test_a_healer_says_which_faults_it_mends_and_at_which_pace() -> None:
    found = effects(site({"faults": ["kernel-deadlock"]}), site())
    text = said(found, "NodeRemediationTemplate/gpu")
    assert "AcceleratorMissing, AcceleratorError, PCIeLinkDegraded or ReadonlyFilesystem" in text
    assert "tainted, drained and rebooted, 2 of the pool at a time" in text
    assert {each.at_once for each in found if each.impact is Impact.REBOOT} == {2}


@pytest.mark.parametrize(
    ("before", "after", "expected"),
    [
        (site(), site({"max_unavailable": 5}), reboots(3)),
        (site({"max_unavailable": 5}), site(), set()),
        (site(), site(max_faulty_percent=30), reboots(MACHINES * 30 // 100)),
        (site(max_faulty_percent=30), site(), set()),
    ],
)
def test_more_at_a_time_may_reboot_hosts_that_wait(
    before: Site, after: Site, expected: set[Any]
) -> None:
    assert worse(effects(before, after)) == expected


@pytest.mark.parametrize(
    "after",
    [
        site({"eviction": "delete"}),
        site(reboot={"timeout_seconds": 1700}),
        site(reboot={"attempts": 1, "window_hours": 48}),
        site(reboot={"credentials": "other"}),
        site(controller={"image": IMAGE_2, "memory": "1Gi"}),
    ],
)
def test_settings_of_later_repairs_reboot_nothing_now(after: Site) -> None:
    assert worse(effects(site(), after)) == set()


@pytest.mark.parametrize(
    "setting", [{"timeout_seconds": 600}, {"attempts": 4}, {"window_hours": 12}]
)
def test_hosts_in_their_turn_may_be_rebooted_once_more(setting: dict[str, int]) -> None:
    """As many as the healer mends at a time (node_repair/decide.py, _after_reboot)."""
    assert worse(effects(site(), site(reboot=setting))) == reboots(2)


def test_a_longer_interval_lets_repairs_go_on_that_would_be_broken_off() -> None:
    """Good readings are counted too (checks/settled.sh)."""
    found = effects(site(), site(detector={"interval_seconds": 60}))
    assert worse(found) == reboots(MACHINES)
    assert "stays True for longer" in said(found, "ConfigMap/")


def test_a_silent_answer_reboots_nothing() -> None:
    """A good or bad condition becomes unknown, which begins no repair."""
    assert worse(effects(with_silent(3), with_silent(3, 4))) == set()


def test_another_order_of_faults_begins_no_repair() -> None:
    order = [{"faults": faults} for faults in (REVERSED, REVERSED[::-1])]
    assert worse(effects(site(order[0]), site(order[1]))) == set()


def test_later_operations_alone_follow_their_template() -> None:
    found = effects(site(), site({"eviction": "delete"}))
    assert "those under way go on as they began" in said(found, "NodeOperationTemplate/gpu")


# --- what ends ------------------------------------------------------------------------------------
def test_a_healer_that_goes_gives_broken_nodes_back_where_turns_are_still_given() -> None:
    both = [HEALER, {**HEALER, "name": "cpu", "pools": ["cpu"], "faults": ["kernel-deadlock"]}]
    found = effects(site(healers=both), site(healers=both[1:]))
    text = said(found, "NodeRemediationTemplate/gpu")
    assert "NodeRemediation, NodeOperation and Job are deleted" in text
    assert "a node that has it gets pods again" in text
    assert worse(found) == set()


def test_the_last_healer_that_goes_leaves_taints_that_nobody_takes_away() -> None:
    for after in (detecting(), with_remediation(PLAIN, None)):
        text = said(effects(site(), after), "NodeRemediationTemplate/gpu")
        assert "remediation.foresite.dev/faulty stays on a faulty node until a person" in text


def test_without_a_detector_the_last_conditions_stay() -> None:
    found = effects(detecting(), with_remediation(PLAIN, None))
    text = said(found, f"DaemonSet/node-problem-detector/{POOL}")
    assert "all pods" in text and "one that is True stays True" in text


def test_a_check_that_goes_leaves_its_condition() -> None:
    found = effects(PLAIN, with_card(PLAIN, link_width=None))
    text = said(found, f"ConfigMap/node-problem-detector/{POOL}")
    assert "PCIeLinkDegraded of pool v100: it is not checked any more" in text
    assert worse(found) == set()


def test_rights_that_go_with_their_programs_harm_nothing() -> None:
    found = effects(site(), with_remediation(PLAIN, None))
    rights = ("ServiceAccount", "Role", "ClusterRole")
    mine = [each for each in found if each.name[1].startswith(rights)]
    assert mine and {each.impact for each in mine} == {Impact.NONE}


def test_rights_that_a_program_loses_are_unknown() -> None:
    sides = [side(PLAIN), side(PLAIN)]
    objects = dict(sides[1].objects)
    del objects["remediation", "ClusterRole/turns"]
    found = between(sides[0], replace(sides[1], objects=objects))
    assert {each.impact for each in found} == {Impact.UNKNOWN}


def test_another_namespace_moves_everything_and_drains_nothing() -> None:
    found = effects(site(), site(namespace="other"))
    assert worse(found) == set()
    assert Impact.POD_RESTART in {each.impact for each in found}
    assert "runs beside the old one" in said(found, "Deployment/turns")


def test_what_is_not_applied_does_nothing() -> None:
    """Nothing is brought into a cluster that the site file does not name."""
    sides = []
    for each in STRICTER["fewer bad readings"]:
        cluster = each.file.cluster.model_copy(update={"context": None})
        sides.append(replace(each, file=each.file.model_copy(update={"cluster": cluster})))
    assert {each.impact for each in effects(sides[0], sides[1])} == {Impact.NONE}


def test_where_the_cluster_is_no_longer_named_nobody_is_mended() -> None:
    """All of it goes: budgets that go hold back no repair."""
    cluster = PLAIN.file.cluster.model_copy(update={"context": None})
    after = replace(PLAIN, file=PLAIN.file.model_copy(update={"cluster": cluster}))
    found = effects(PLAIN, after)
    assert worse(found) == set()
    assert "until a person removes it" in said(found, "NodeRemediationTemplate/gpu")
