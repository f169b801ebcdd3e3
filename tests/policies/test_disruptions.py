"""Rules of disruptions: how much may be out at once, and what may never be moved."""

from typing import Any

import pytest

from policies.rule import Object
from tests.kit.policy_objects import found, good, paths
from tests.kit.policy_sites import POOL, control_plane, made, pool, rolled, workload

Json = dict[str, Any]
ELSEWHERE = (("metadata", "namespace"), "elsewhere")


def daemon(selector: Json, **numbers: Any) -> Object:
    strategy = {"type": "RollingUpdate", "rollingUpdate": numbers}
    return workload("DaemonSet", {"nodeSelector": selector}, updateStrategy=strategy)


@pytest.mark.parametrize(
    ("out", "bad"),
    [
        ("100%", True),
        ("99%", False),
        ("120%", True),
        (4, True),
        (3, False),
        (4.0, True),
        (None, False),
        ("many", False),
    ],
)
def test_machines_are_never_replaced_all_at_once(out: Any, bad: bool) -> None:
    each = pool(replicas=4, rollout=rolled(maxUnavailable=out))
    where = ["spec.rollout.strategy.rollingUpdate.maxUnavailable"] * bad
    assert paths("rollout-at-once", each) == where


def test_one_machine_cannot_go_by_halves() -> None:
    assert not found("rollout-at-once", pool(replicas=1, rollout=rolled(maxUnavailable=1)))


def test_an_older_machine_deployment_says_it_elsewhere() -> None:
    each = pool(strategy=rolled(maxUnavailable="100%")["strategy"])
    assert paths("rollout-at-once", each) == ["spec.strategy.rollingUpdate.maxUnavailable"]


@pytest.mark.parametrize(
    ("selector", "out", "bad"),
    [
        ({POOL: "gpu"}, 4, True),
        ({POOL: "gpu"}, 3, False),
        ({}, 7, True),
        ({}, 6, False),
        ({"disk": "ssd"}, 4, False),
        ({"disk": "ssd"}, "100%", True),
    ],
)
def test_a_daemon_set_is_counted_by_its_nodes(selector: Json, out: Any, bad: bool) -> None:
    site = (pool(replicas=4), control_plane(3), daemon(selector, maxUnavailable=out))
    assert bool(found("rollout-at-once", *site)) is bad


def test_a_daemon_set_that_waits_for_a_person_is_none() -> None:
    each = workload("DaemonSet", {}, updateStrategy={"type": "OnDelete"})
    assert not found("rollout-at-once", each)


@pytest.mark.parametrize(("replicas", "bad"), [(2, True), (1, False), (None, False)])
def test_recreating_takes_all_replicas(replicas: Any, bad: bool) -> None:
    each = workload("Deployment", {}, replicas=replicas, strategy={"type": "Recreate"})
    assert paths("rollout-at-once", each) == ["spec.strategy.type"] * bad


@pytest.mark.parametrize(
    ("kind", "spec"),
    [
        ("NodeDisruptionBudget", {"selector": {POOL: "gpu"}}),
        ("SriovNetworkPoolConfig", {"nodeSelector": {"matchLabels": {POOL: "gpu"}}}),
    ],
)
def test_controllers_take_nodes_out_some_at_a_time(kind: str, spec: Json) -> None:
    for out, bad in ((3, False), (4, True), ("100%", True), ("50%", False)):
        each = made("example.com/v1", kind, spec={**spec, "maxUnavailable": out})
        assert bool(found("rollout-at-once", pool(replicas=4), each)) is bad, out


@pytest.mark.parametrize(
    ("numbers", "stuck"),
    [
        ({"maxUnavailable": 0, "maxSurge": 0}, True),
        ({"maxUnavailable": "0%", "maxSurge": 0}, True),
        ({"maxSurge": 0}, True),  # maxUnavailable is 0 where nothing is said
        ({"maxUnavailable": 0}, False),  # and maxSurge 1
        ({"maxUnavailable": 1, "maxSurge": 0}, False),
        ({"maxUnavailable": "10%", "maxSurge": 0}, False),
        ({}, False),
    ],
)
def test_a_rollout_of_machines_moves(numbers: Json, stuck: bool) -> None:
    each = pool(rollout=rolled(**numbers))
    assert paths("rollout-moves", each) == ["spec.rollout.strategy.rollingUpdate"] * stuck


def test_a_rollout_of_pods_moves() -> None:
    assert found("rollout-moves", daemon({}, maxUnavailable=0))
    assert not found("rollout-moves", daemon({}, maxUnavailable=0, maxSurge=1))
    assert not found("rollout-moves", pool(rollout={"strategy": {"type": "OnDelete"}}))


@pytest.mark.parametrize(
    ("replicas", "surge", "stuck"), [(3, 0, False), (1, 0, True), (1, 1, False), (1, None, False)]
)
def test_a_small_control_plane_gets_a_host_before_it_loses_one(
    replicas: int, surge: Any, stuck: bool
) -> None:
    each = control_plane(replicas, rollout=rolled(maxSurge=surge))
    assert bool(found("rollout-moves", each)) is stuck


def budget(**spec: Any) -> Object:
    selector = {"matchLabels": {"app": "web"}}
    return made("policy/v1", "PodDisruptionBudget", spec={"selector": selector, **spec})


@pytest.mark.parametrize(
    ("spec", "field"),
    [
        ({"maxUnavailable": 0}, "maxUnavailable"),
        ({"maxUnavailable": "0%"}, "maxUnavailable"),
        ({"minAvailable": "100%"}, "minAvailable"),
        ({"maxUnavailable": 1}, ""),
        ({"minAvailable": "90%"}, ""),
        ({"minAvailable": 2}, ""),
    ],
)
def test_a_budget_lets_a_pod_go(spec: Json, field: str) -> None:
    assert paths("eviction-possible", budget(**spec)) == ([f"spec.{field}"] if field else [])


@pytest.mark.parametrize(
    ("least", "bad"), [(2, False), (3, True), (4, True), ("67%", True), ("66%", False)]
)
def test_a_budget_is_held_against_the_replicas(least: Any, bad: bool) -> None:
    three = workload("Deployment", {}, replicas=3)
    assert bool(found("eviction-possible", budget(minAvailable=least), three)) is bad
    others = workload("Deployment", {}, {"app": "other"}, replicas=1)
    assert not found("eviction-possible", budget(minAvailable=3), others)


def test_a_budget_of_a_daemon_set_is_a_number_below_its_nodes() -> None:
    nodes, daemons = pool(replicas=4), daemon({POOL: "gpu"})
    assert not found("eviction-possible", nodes, daemons, budget(minAvailable=3))
    assert found("eviction-possible", nodes, daemons, budget(minAvailable=4))
    # The controller asks for a scale, and a DaemonSet has none: it then allows nothing.
    assert found("eviction-possible", nodes, daemons, budget(minAvailable="50%"))
    assert found("eviction-possible", nodes, daemons, budget(maxUnavailable=1))


def check(**spec: Any) -> Object:
    chosen = {"selector": {"matchLabels": {POOL: "gpu"}}}
    return made(
        "cluster.x-k8s.io/v1beta2", "MachineHealthCheck", "management", spec={**chosen, **spec}
    )


def most(value: Any) -> Json:
    return {"remediation": {"triggerIf": {"unhealthyLessThanOrEqualTo": value}}}


@pytest.mark.parametrize(
    ("spec", "bad"),
    [
        (most("10%"), False),
        (most(3), False),
        (most(4), True),
        (most("100%"), True),
        ({}, True),  # Cluster API takes 100% then
        ({"maxUnhealthy": "40%"}, False),
        ({"maxUnhealthy": "100%"}, True),
        ({"remediation": {"triggerIf": {"unhealthyInRange": "[1-3]"}}}, False),
        ({"remediation": {"triggerIf": {"unhealthyInRange": "[1-4]"}}}, True),
        ({"unhealthyRange": "[0-4]"}, True),
    ],
)
def test_a_health_check_stops_where_everything_is_unhealthy(spec: Json, bad: bool) -> None:
    assert bool(found("health-check-bounded", pool(replicas=4), check(**spec))) is bad


def test_a_control_planes_health_check_counts_its_machines() -> None:
    each = check(**most(3))
    each.body["spec"]["selector"] = {"matchLabels": {"cluster.x-k8s.io/control-plane": ""}}
    assert found("health-check-bounded", control_plane(3), pool(replicas=9), each)
    assert not found("health-check-bounded", control_plane(5), pool(replicas=9), each)


@pytest.mark.parametrize(
    ("spec", "bad"),
    [
        ({}, False),
        ({"minHealthy": "51%"}, False),
        ({"minHealthy": "0%"}, True),
        ({"maxUnhealthy": 1}, False),
        ({"maxUnhealthy": "100%"}, True),
    ],
)
def test_medik8s_checks_are_held_to_the_same(spec: Json, bad: bool) -> None:
    each = made("remediation.medik8s.io/v1alpha1", "NodeHealthCheck", spec=spec)
    assert bool(found("health-check-bounded", each)) is bad


def test_an_empty_selector_is_that_of_every_pod_of_the_namespace() -> None:
    three = workload("Deployment", {}, replicas=3)
    every = budget(minAvailable=3)
    every.body["spec"]["selector"] = {}
    assert found("eviction-possible", every, three)
    none = budget(minAvailable=3)
    del none.body["spec"]["selector"]
    assert not found("eviction-possible", none, three)


def test_the_good_ones_break_none() -> None:
    rules = ("rollout-at-once", "rollout-moves", "eviction-possible")
    every = [good(kind) for kind in ("Deployment", "StatefulSet", "PodDisruptionBudget")]
    assert [rule for rule in rules if found(rule, *every, good("DaemonSet", *ELSEWHERE))] == []
