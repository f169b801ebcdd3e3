"""Rules of accelerators: who gets devices of a host, and how they are counted."""

from typing import Any

import pytest

from policies.rules.accelerators import is_extended
from tests.kit.policy_objects import WEB, found, good, paths, pod
from tests.kit.policy_sites import ACCELERATOR, POOL

GPU = "accelerators.example.com/gpu"
PLUGINS = "/var/lib/kubelet/device-plugins"


@pytest.mark.parametrize(
    ("resource", "counted"),
    [
        ("nvidia.com/gpu", True),
        (GPU, True),
        ("rdma/hca", True),
        ("cpu", False),
        ("hugepages-2Mi", False),
        ("attachable.kubernetes.io/volumes", False),
        ("requests.nvidia.com/gpu", False),
    ],
)
def test_extended_resources_are_those_of_other_domains(resource: str, counted: bool) -> None:
    assert is_extended(resource) is counted


@pytest.mark.parametrize(
    ("resources", "bad"),
    [
        ({"limits": {GPU: 2}}, False),
        ({"limits": {GPU: 2.0}}, False),  # as Pulumi shows it
        ({"limits": {GPU: "2"}, "requests": {GPU: "2"}}, False),
        ({"limits": {GPU: "1k"}}, False),
        ({"limits": {GPU: 2}, "requests": {GPU: 1}}, True),
        ({"requests": {GPU: 1}}, True),
        ({"limits": {GPU: "500m"}}, True),
        ({"limits": {GPU: 0.5}}, True),
        ({"limits": {GPU: -1}}, True),
        ({"limits": {GPU: None}}, True),
        ({"limits": {"cpu": "500m"}, "requests": {"cpu": "250m"}}, False),
    ],
)
def test_devices_are_whole_and_wanted_as_many_as_used(resources: Any, bad: bool) -> None:
    of_container = f'{"spec.template.spec.containers[0]"}.resources.limits["{GPU}"]'
    assert paths("devices-whole", good("Deployment", (*WEB, "resources"), resources)) == (
        [of_container] * bad
    )
    of_pod = f'spec.template.spec.resources.limits["{GPU}"]'
    assert paths("devices-whole", pod(resources, "resources")) == [of_pod] * bad


@pytest.mark.parametrize(
    ("path", "bad"),
    [
        ("/dev", True),
        ("/dev/nvidia0", True),
        ("/dev/", True),
        (PLUGINS, True),
        ("/var/lib/kubelet/pod-resources/kubelet.sock", True),
        ("/var/lib", True),
        ("/", True),
        ("/srv/../dev", True),
        ("/run/cdi", True),
        ("/var/run", True),
        ("/srv/nvme", False),
        ("/devices", False),
        ("/var/lib/kubelet/seccomp", False),
        ("", False),
    ],
)
def test_devices_of_the_host_are_not_mounted(path: str, bad: bool) -> None:
    volumes = [{"name": "a", "emptyDir": {}}, {"name": "b", "hostPath": {"path": path}}]
    where = ["spec.template.spec.volumes[1].hostPath.path"] * bad
    assert paths("device-paths", pod(volumes, "volumes")) == where


def _affinity(*terms: list[str]) -> Any:
    listed = [
        {"matchExpressions": [{"key": key, "operator": "Exists"} for key in keys]} for keys in terms
    ]
    required = {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": listed}}
    return {"affinity": {"nodeAffinity": required}}


@pytest.mark.parametrize(
    ("chosen", "bad"),
    [
        ({}, True),
        ({"nodeSelector": {"kubernetes.io/os": "linux"}}, True),
        ({"nodeSelector": {POOL: "gpu"}}, False),
        ({"nodeSelector": {ACCELERATOR: "h100"}}, False),
        ({"nodeSelector": {"feature.node.kubernetes.io/pci-10de.present": "true"}}, False),
        (_affinity([POOL, "disk"]), False),
        # Any term is enough for a node, and the second one says nothing of its hardware.
        (_affinity([POOL], ["disk"]), True),
    ],
)
def test_a_device_plugin_says_where_its_devices_are(chosen: Any, bad: bool) -> None:
    each = pod([{"name": "plugins", "hostPath": {"path": PLUGINS}}], "volumes")
    each.body["spec"]["template"]["spec"].update(chosen)
    assert paths("device-plugin-nodes", each) == ["spec.template.spec.nodeSelector"] * bad


def test_what_is_no_device_plugin_runs_anywhere() -> None:
    assert not found("device-plugin-nodes", good("DaemonSet"))


@pytest.mark.parametrize(
    ("value", "limits", "bad"),
    [
        ("all", {}, True),
        ("0,1", {}, True),
        ("all", {"nvidia.com/gpu": 1}, False),
        ("void", {}, False),
        ("none", {}, False),
        ("", {}, False),
    ],
)
def test_gpus_are_not_seen_without_asking(value: str, limits: Any, bad: bool) -> None:
    each = good("Deployment", (*WEB, "env"), [{"name": "NVIDIA_VISIBLE_DEVICES", "value": value}])
    each.body["spec"]["template"]["spec"]["containers"][0]["resources"]["limits"] = limits
    where = ["spec.template.spec.containers[0].env[0].value"] * bad
    assert paths("devices-asked-for", each) == where
