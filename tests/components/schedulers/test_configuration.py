"""The configuration of schedulers: KubeSchedulerConfigurations as the plugins' code takes them.

tests/controlplane/test_twin_schedulers.py has the real programs read them.
"""

from typing import Any

import pytest

from tests.kit.scheduling_site import (
    A100,
    ACCELERATORS,
    GANG,
    GANG_SCHEDULER,
    H100,
    PREFIX,
    THROTTLED,
    THROTTLED_SCHEDULER,
    V100,
    arguments,
    by_name,
    config,
    container,
    site,
    with_gang,
    with_scheduler,
)

BOTH = (GANG, THROTTLED)
NAMES = (GANG_SCHEDULER, THROTTLED_SCHEDULER)


def test_a_scheduler_serves_the_pods_that_name_it() -> None:
    made = site(*BOTH)
    for backend, plugin, named in (
        (GANG_SCHEDULER, "gang", "schedulerName"),
        (THROTTLED_SCHEDULER, "kube-throttler", "targetSchedulerName"),
    ):
        (profile,) = config(made, backend)["profiles"]
        assert profile["schedulerName"] == arguments(made, backend)[plugin][named] == backend
        assert profile["plugins"]["multiPoint"]["enabled"] == [{"name": plugin}]


def test_gang_arguments_are_spelled_as_the_plugin_reads_them() -> None:
    """json tags in pfnet/scheduler-plugins f63b46e, plugins/gang/plugin_config.go; it ignores
    others, such as those of its README."""
    made = site(with_gang(timeout_seconds=40, timeout_limit_seconds=90, jitter_seconds=7))
    assert arguments(made, GANG_SCHEDULER)["gang"] == {
        "gangAnnotationPrefix": PREFIX,
        "schedulerName": GANG_SCHEDULER,
        "gangScheduleTimeoutSecondLimit": 90,
        "gangScheduleDefaultTimeoutSecond": 40,
        "gangScheduleTimeoutJitterSecond": 7,
        "healthCheckAddr": ":10260",
    }


def test_a_throttler_counts_whole_gangs() -> None:
    made = site(with_scheduler(throttler="limits"))
    (profile,) = config(made, GANG_SCHEDULER)["profiles"]
    enabled = [each["name"] for each in profile["plugins"]["multiPoint"]["enabled"]]
    assert enabled == ["kube-throttler", "gang"]
    told = arguments(made, GANG_SCHEDULER)["kube-throttler"]
    assert told["groupNameAnnotation"] == f"{PREFIX}-name"
    assert (
        "groupNameAnnotation"
        not in arguments(site(THROTTLED), THROTTLED_SCHEDULER)["kube-throttler"]
    )


def test_a_scheduler_ignores_on_nodes_what_admission_alone_knows_of_its_models() -> None:
    made = site(*BOTH)
    ignored = {
        backend: arguments(made, backend)["NodeResourcesFit"]["ignoredResources"]
        for backend in NAMES
    }
    assert ignored == {GANG_SCHEDULER: [V100, H100], THROTTLED_SCHEDULER: [A100]}


@pytest.mark.parametrize("accelerators", [None, {**ACCELERATORS, "model_by": "dra"}])
def test_a_scheduler_ignores_nothing_where_admission_adds_nothing(accelerators: Any) -> None:
    made = site(GANG, accelerators=accelerators)
    assert "NodeResourcesFit" not in arguments(made, GANG_SCHEDULER)


def test_devices_by_dra_need_a_feature_gate() -> None:
    flag = "--feature-gates=DRAExtendedResource=true"
    by_dra = site(GANG, accelerators={**ACCELERATORS, "model_by": "dra"})
    assert flag in container(by_dra, GANG_SCHEDULER)["args"]
    assert flag not in container(site(GANG), GANG_SCHEDULER)["args"]


def test_no_two_schedulers_share_a_lease() -> None:
    made = site(*BOTH)
    for name in NAMES:
        lease = config(made, name)["leaderElection"]
        assert (lease["resourceNamespace"], lease["resourceName"]) == ("scheduling", name)
        (rule,) = by_name(made)[f"Role/{name}/lease"].body["rules"]
        assert rule["resourceNames"] == [name]
