"""Rules of scheduling: where pods may go, and in what order."""

from typing import Any

import pytest

from policies.rule import Object
from tests.kit.policy_objects import GOOD, POD, found, good, paths, pod
from tests.kit.policy_sites import ACCELERATOR, POOL, control_plane, made, pool, workload

ANYWHERE = {"operator": "Exists"}
SCHEDULER = """\
apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
profiles:
- schedulerName: gang
"""


@pytest.mark.parametrize(
    ("toleration", "bad"),
    [
        (ANYWHERE, True),
        ({"operator": "Exists", "effect": "NoExecute"}, True),
        ({"operator": "Exists", "key": ""}, True),
        ({"operator": "Exists", "key": "node-role.kubernetes.io/control-plane"}, False),
        ({"key": "dedicated", "operator": "Equal", "value": "gpu"}, False),
    ],
)
def test_a_pod_names_the_taints_that_it_tolerates(toleration: Any, bad: bool) -> None:
    place = "spec.template.spec.tolerations[1]"
    every = [{"key": "dedicated", "operator": "Exists"}, toleration]
    assert paths("tolerates-everything", pod(every, "tolerations")) == [place] * bad


@pytest.mark.parametrize("name", ["system-node-critical", "system-cluster-critical"])
def test_the_priorities_of_the_system_are_its_own(name: str) -> None:
    where = ["spec.template.spec.priorityClassName"]
    assert paths("system-priority", pod(name, "priorityClassName")) == where
    inside = pod(name, "priorityClassName")
    inside.body["metadata"]["namespace"] = "kube-system"
    assert not found("system-priority", inside)
    assert not found("system-priority", pod("research", "priorityClassName"))


def test_a_pod_that_is_text_is_judged_by_its_own_namespace() -> None:
    text = "apiVersion: v1\nkind: Pod\nmetadata: {{namespace: {}}}\nspec:\n  containers: []\n"
    text += "  priorityClassName: system-node-critical\n"
    for namespace, bad in (("kube-system", False), ("web", True)):
        each = good("ConfigMap", ("data", "pod.yaml"), text.format(namespace))
        assert bool(found("system-priority", each)) is bad


@pytest.mark.parametrize(
    ("replicas", "field", "bad"),
    [
        (2, {}, True),
        (2.0, {}, True),
        (1, {}, False),
        (2, {"affinity": {"podAntiAffinity": {"required": []}}}, False),
        (2, {"topologySpreadConstraints": [{"maxSkew": 1}]}, False),
        (2, {"affinity": {"nodeAffinity": {"required": []}}}, True),
    ],
)
def test_replicas_are_kept_apart(replicas: float, field: Any, bad: bool) -> None:
    each = workload("Deployment", field, replicas=replicas)
    assert bool(found("replicas-apart", each)) is bad


def test_a_scheduler_has_to_be_there() -> None:
    asks = pod("gang", "schedulerName")
    (one,) = found("scheduler-exists", asks)
    assert one.path == "spec.template.spec.schedulerName"
    assert "default-scheduler" in one.fix
    assert not found("scheduler-exists", pod("default-scheduler", "schedulerName"))
    configured = good("ConfigMap", ("data", "scheduler.yaml"), SCHEDULER)
    assert not found("scheduler-exists", asks, configured)
    assert found("scheduler-exists", pod("gnag", "schedulerName"), configured)


def test_what_volcano_is_called_only_its_site_knows() -> None:
    queue = made("scheduling.volcano.sh/v1beta1", "Queue")
    assert not found("scheduler-exists", pod("batch", "schedulerName"), queue)


@pytest.mark.parametrize(
    ("key", "value", "bad"),
    [
        (POOL, "gpu", False),
        (POOL, "gone", True),
        (POOL, "control", False),
        (ACCELERATOR, "h100", False),
        (ACCELERATOR, "a100", True),
        ("disk", "ssd", False),
    ],
)
def test_nodes_that_a_pod_asks_for_have_to_be_there(key: str, value: str, bad: bool) -> None:
    asks = pod({key: value}, "nodeSelector")
    site = [pool(), control_plane()]
    where = [f'spec.template.spec.nodeSelector["{key}"]'] * bad
    assert paths("nodes-exist", *site, asks) == where
    assert not found("nodes-exist", asks), "where no machines are made, nothing is known of them"


def test_nodes_of_the_management_cluster_are_not_the_sites() -> None:
    asks = pod({POOL: "elsewhere"}, "nodeSelector")
    assert not found("nodes-exist", pool(), Object("management", asks.body))


def _class(name: str, default: bool, cluster: str = "site") -> Object:
    return made("scheduling.k8s.io/v1", "PriorityClass", cluster, name, globalDefault=default)


def test_one_priority_is_that_of_pods_that_name_none() -> None:
    one, two, no = _class("one", True), _class("two", True), _class("no", False)
    assert not found("one-default-priority", one, no)
    both = found("one-default-priority", one, no, two)
    assert [each.path for each in both] == ["globalDefault"] * 2
    assert all("one, two" in each.message for each in both)
    assert not found("one-default-priority", one, _class("one", True, "management"))


def test_a_good_deployment_breaks_none() -> None:
    each = good("Deployment", (*POD, "priorityClassName"), "research")
    each.body["spec"]["replicas"] = 1
    rules = ("tolerates-everything", "system-priority", "replicas-apart", "scheduler-exists")
    assert [rule for rule in rules if found(rule, each)] == []
    assert GOOD["Deployment"]["spec"]["replicas"] == 2, "the good one is never changed in place"
