"""The requests and limits of a pod: one good object, changed in one place for each rule."""

from typing import Any

import pytest

from tests.kit.policy_objects import GONE, POD, Place, good, paths, pod

WEB: Place = ("containers", 0)
AT = "spec.template.spec"
REQUESTS = {"cpu": "1", "memory": "1Gi"}


@pytest.mark.parametrize(
    ("rule", "place", "value", "path"),
    [
        (
            "resource-requests",
            (*WEB, "resources", "requests", "cpu"),
            GONE,
            "containers[0].resources.requests",
        ),
        (
            "resource-requests",
            ("initContainers", 0, "resources"),
            GONE,
            "initContainers[0].resources.requests",
        ),
        (
            "memory-limit",
            (*WEB, "resources", "limits", "memory"),
            GONE,
            "containers[0].resources.limits.memory",
        ),
        ("priority-class", ("priorityClassName",), GONE, "priorityClassName"),
    ],
)
def test_one_change_breaks_one_rule(rule: str, place: Place, value: Any, path: str) -> None:
    assert paths(rule, good("Deployment")) == []
    assert paths(rule, pod(value, *place)) == [f"{AT}.{path}"]


def test_a_limit_is_the_request_where_none_is_named() -> None:
    assert paths("resource-requests", pod({"limits": REQUESTS}, *WEB, "resources")) == []


def without_limits(volume: dict[str, Any]) -> list[str]:
    """The findings on a volume that a container without a limit of disk space writes to."""
    spec = good("Deployment").body["spec"]["template"]["spec"]
    del spec["containers"][0]["resources"]["limits"]["ephemeral-storage"]
    spec["volumes"][0] = {"name": "scratch", **volume}
    return paths("scratch-space", good("Deployment", POD, spec))


def test_scratch_space_has_a_bound_somewhere() -> None:
    assert without_limits({"emptyDir": {}}) == [f"{AT}.volumes[0].emptyDir.sizeLimit"]
    assert without_limits({"emptyDir": {"sizeLimit": "1Gi"}}) == []
    # It counts as the container's memory.
    assert without_limits({"emptyDir": {"medium": "Memory"}}) == []
    assert paths("scratch-space", pod({"name": "scratch", "emptyDir": {}}, "volumes", 0)) == []


def test_what_is_only_read_fills_nothing() -> None:
    spec = good("Deployment").body["spec"]["template"]["spec"]
    del spec["containers"][0]["resources"]["limits"]["ephemeral-storage"]
    spec["volumes"][0] = {"name": "scratch", "emptyDir": {}}
    spec["containers"][0]["volumeMounts"][0]["readOnly"] = True
    assert paths("scratch-space", good("Deployment", POD, spec)) == []


def test_what_ends_needs_no_priority_and_no_probe() -> None:
    spec = ("spec", "template", "spec")
    assert paths("priority-class", good("Job", (*spec, "priorityClassName"), GONE)) == []
    assert paths("probes", good("Job", (*spec, *WEB, "livenessProbe"), GONE)) == []


def test_what_stays_has_a_probe() -> None:
    container = good("Deployment").body["spec"]["template"]["spec"]["containers"][0]
    del container["livenessProbe"]
    assert paths("probes", pod(container, *WEB)) == []
    del container["readinessProbe"]
    assert paths("probes", pod(container, *WEB)) == [f"{AT}.containers[0]"]
    sidecar = {**container, "restartPolicy": "Always"}
    assert paths("probes", pod(sidecar, "initContainers", 0)) == [f"{AT}.initContainers[0]"]
