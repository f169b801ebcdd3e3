"""The judge: what a rule says of itself, exceptions, and that every site keeps all rules."""

import datetime
import functools
import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from policies import Object, Severity, SiteRule, Violation, reference, rules
from policies.exceptions import exemptions, ours
from policies.judge import findings, judge
from policies.rules import DOMAINS, RULES
from schemas.model.accelerators import Exporter
from schemas.model.host_agent import HostAgent, InPlace
from schemas.model.network_devices import PoolNetworkDevices, Rdma
from schemas.model.vocabulary import LinkType, PodNetworkInstall
from tests.components.remediation.test_devicetaints import ON
from tests.golden import every_site, objects, with_file, with_pool
from tests.kit.accelerator_sites import by_dra
from tests.kit.policy_objects import GOOD, changed, full, good
from tests.kit.repository import with_resets
from tests.kit.sharing_sites import slices

TODAY = datetime.date(2026, 11, 22)


SITES = every_site()
DIRECT = SITES["lab-1"].file.cluster.model_copy(
    update={
        "pod_network": SITES["lab-1"].file.cluster.pod_network.model_copy(
            update={"install": PodNetworkInstall.DIRECT}
        )
    }
)
MODEL = SITES["tokyo-1"].accelerators["h100-sxm5-80gb"]
ROCE = with_pool(
    replace(
        with_file(SITES["tokyo-1"], host_agent=HostAgent(applies=list(InPlace))),
        accelerators={
            **SITES["tokyo-1"].accelerators,
            "h100-sxm5-80gb": MODEL.model_copy(update={"exporter": Exporter(privileged=True)}),
        },
    ),
    "h100",
    network_devices=PoolNetworkDevices(
        rdma=[Rdma(name="hca", interfaces=["eth0", "eth1"], link=LinkType.ETHERNET)]
    ),
)
SITES = {
    **SITES,
    "lab-1, network installed directly": with_file(SITES["lab-1"], cluster=DIRECT),
    "tokyo-1, RoCE that pods share, a privileged exporter and an agent of hosts": ROCE,
}
TAINTED = by_dra(remediation=ON)
"""A site whose single devices are tainted; its objects are looked at for exceptions alone."""


def every_object(site: str) -> list[Object]:
    return [Object(each.target.value, each.body) for each in objects(SITES[site])]


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.name)
def test_a_rule_says_what_why_and_where_from(rule: Any) -> None:
    assert re.fullmatch(r"[a-z][a-z0-9]*(-[a-z0-9]+)*", rule.name) and len(rule.name) <= 63
    assert isinstance(rule.severity, Severity)
    for text in (rule.what, rule.why, rule.source):
        assert text == text.strip() and len(text) >= 10, text
        assert not text.endswith(".") and "\n" not in text, text


def test_the_names_of_rules_are_different() -> None:
    names = [rule.name for rule in RULES]
    assert sorted(set(names)) == sorted(names)
    assert all(DOMAINS.values()), "a domain has no rule"


def test_every_rule_has_one_check_and_every_check_its_rule() -> None:
    folder = Path(rules.__file__).parent
    assert {path.stem for path in folder.glob("[!_]*.py")} == {
        module.__name__.rpartition(".")[2] for module in rules.MODULES
    }
    assert sorted(rules.CHECKS) == sorted(rule.name for rule in RULES)


@pytest.mark.parametrize("site", SITES)
def test_every_site_keeps_every_rule(site: str) -> None:
    own = exemptions((each.model_dump() for each in SITES[site].file.policies.exceptions), own=True)
    found = judge(every_object(site), TODAY, own)
    assert [f"{each.rule.name}: {each.object.title}" for each in found.violations] == []
    assert (found.expired, found.unused) == ((), ())


def test_every_exception_of_ours_is_needed_by_some_site() -> None:
    broken = [each for site in SITES for each in findings(every_object(site), RULES)]
    rare = [*objects(TAINTED), *objects(with_resets()), *objects(slices())]
    broken += findings([Object(each.target.value, each.body) for each in rare], RULES)
    unneeded = [e for e in ours() if not any(e.covers(each) for each in broken)]
    assert [f"{each.rule}: {each.object}" for each in unneeded] == []


def test_every_exception_of_ours_names_a_rule_and_its_reason() -> None:
    names = {rule.name for rule in RULES}
    assert {each.rule for each in ours()} <= names
    assert all(len(each.reason) >= 20 for each in ours())
    pairs = [(each.rule, each.object) for each in ours()]
    assert sorted(set(pairs)) == sorted(pairs)


JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=True)
    | st.text(max_size=6)
    | st.sampled_from(
        ["100%", "*", "kind: Pod\napiVersion: v1", "/dev", "Exists", "0%", "system:"]
    ),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3)
    ),
    max_leaves=6,
)


def _values(node: Any, path: tuple[str | int, ...] = ()) -> Iterator[tuple[str | int, ...]]:
    if isinstance(node, dict | list):
        for key, value in node.items() if isinstance(node, dict) else enumerate(node):
            yield (*path, key)
            yield from _values(value, (*path, key))


@functools.cache
def _bodies() -> dict[str, Any]:
    """One object of each kind: good ones, and those of sites where there is none."""
    real = {each.kind: each.body for site in every_site() for each in every_object(site)}
    return real | GOOD | {"full": full().body}


@functools.cache
def _places() -> list[tuple[str, tuple[str | int, ...]]]:
    return [(kind, place) for kind, body in _bodies().items() for place in _values(body)]


PLACES = st.deferred(lambda: st.sampled_from(_places()))
BESIDE = ("Cluster", "MachineDeployment", "KubeadmControlPlane", "PodDisruptionBudget", "DaemonSet")
"""Kinds that rules of a whole site hold others against."""


@settings(max_examples=300)
@given(at=PLACES, value=JSON)
def test_no_malformed_object_stops_the_judge(at: tuple[str, Any], value: Any) -> None:
    kind, place = at
    bad = Object("site", changed(_bodies()[kind], place, value))
    for each in findings([bad, *(Object("site", _bodies()[name]) for name in BESIDE)], RULES):
        assert each.found.message and each.found.fix


ODD: tuple[Any, ...] = (
    None, [], {}, [[]], [{}], {"a": []}, {1: "x", None: []}, {"name": [1]}, 0, -1.5, True, "",
    float("nan"), "2024-02-30", [None, 1, "x"],
)  # fmt: skip
"""Values that have no business where they are."""


@settings(max_examples=400)
@given(at=st.sampled_from(list(_values(full().body))), value=st.sampled_from(ODD))
def test_no_odd_value_of_a_field_stops_the_judge(at: Any, value: Any) -> None:
    bad = Object("site", changed(full().body, at, value))
    beside = (Object("site", _bodies()[name]) for name in BESIDE)
    assert all(each.found.message for each in findings([bad, *beside], RULES))


@settings(max_examples=100)
@given(body=st.dictionaries(st.sampled_from(["kind", "apiVersion", "metadata", "spec"]), JSON))
def test_no_json_stops_the_judge(body: Any) -> None:
    assert list(findings([Object("site", body)], RULES)), "it has no labels, so something is wrong"


def _told(found: Iterator[Violation]) -> list[tuple[Any, ...]]:
    return sorted((each.rule.name, each.object.title, *each.found) for each in found)


@settings(max_examples=10)
@given(st.randoms(use_true_random=False))
def test_the_order_of_objects_changes_nothing(random: Any) -> None:
    every = [
        *every_object("edge-1"),
        *(
            good(kind, ("metadata", "labels"), {"foresite.dev/site": kind[0].lower()})
            for kind in GOOD
        ),
        *(good(kind) for kind in GOOD),
    ]
    shuffled = list(every)
    random.shuffle(shuffled)
    found = _told(findings(every, RULES))
    assert found == _told(findings(shuffled, RULES))
    site_rules = {rule.name for rule in RULES if isinstance(rule, SiteRule)}
    assert len({name for name, *_ in found} & site_rules) > 3, "or there is nothing to compare"


def test_the_table_of_rules_is_up_to_date() -> None:
    assert reference.PAGE.read_text(encoding="utf-8") == reference.page()
    for rule in RULES:
        assert f"| `{rule.name}` |" in reference.page()
