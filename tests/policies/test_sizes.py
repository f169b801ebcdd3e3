"""Rules of sizes: how large and how many objects may be."""

import json
from typing import Any

import pytest

from policies.memo import size
from policies.rule import Object
from tests.golden import every_site, objects
from tests.kit.policy_objects import found, paths, pod
from tests.kit.policy_sites import control_plane, made

KIB = 1024
RULES = ("object-size", "object-large", "applied-size")
"""Rules of the bytes of one object."""


def sized(size_wanted: int) -> Object:
    """An object of exactly so many bytes as JSON."""
    empty = made("example.com/v1", "Example", spec={"text": ""})
    text = "x" * (size_wanted - len(json.dumps(empty.body, separators=(",", ":"))))
    return made("example.com/v1", "Example", spec={"text": text})


@pytest.mark.parametrize(
    ("kib", "more", "broken"),
    [
        (256, 0, []),
        (256, 1, ["applied-size"]),
        (512, 0, ["applied-size"]),
        (512, 1, ["object-large", "applied-size"]),
        (1536, 0, ["object-large", "applied-size"]),
        (1536, 1, ["object-size", "applied-size"]),
    ],
)
def test_an_object_has_a_size(kib: int, more: int, broken: list[str]) -> None:
    each = sized(kib * KIB + more)
    assert [rule for rule in RULES if found(rule, each)] == broken


def test_what_argo_cd_applies_on_the_server_needs_no_copy() -> None:
    each = sized(300 * KIB)
    each.body["metadata"]["annotations"] = {
        "argocd.argoproj.io/sync-options": "Prune=false,ServerSideApply=true"
    }
    assert not found("applied-size", each)


def test_sizes_are_bytes_and_not_characters() -> None:
    assert size({"a": "é"}) == len('{"a":"é"}'.encode())


@pytest.mark.parametrize(
    ("kind", "field", "most"),
    [
        ("ConfigMap", "data", 1024 * KIB),
        ("Secret", "stringData", 1024 * KIB),
        # Four characters of base64 are three bytes.
        ("ConfigMap", "binaryData", 1024 * KIB * 4 // 3),
        ("Secret", "data", 1024 * KIB * 4 // 3),
    ],
)
def test_a_config_map_or_secret_holds_a_mebibyte(kind: str, field: str, most: int) -> None:
    for more, bad in ((0, False), (4, True)):
        texts = {"a": "x" * (most // 2), "b": "x" * (most - most // 2 + more)}
        assert (
            paths("data-size", made("v1", kind, "site", "web", **{field: texts})) == ["data"] * bad
        )


@pytest.mark.parametrize("steps", [("spec", "template", "spec"), ("spec", "kubeadmConfigSpec")])
def test_what_a_host_boots_with_is_bounded(steps: tuple[str, ...]) -> None:
    for size_of_one, bad in ((256 * KIB, False), (256 * KIB + 1, True)):
        spec: Any = {"files": [{"content": "x" * size_of_one}, {"content": "y" * 256 * KIB}]}
        for step in reversed(steps[1:]):
            spec = {step: spec}
        kind = "KubeadmConfigTemplate" if "template" in steps else "KubeadmControlPlane"
        where = [f"{'.'.join(steps)}.files"] * bad
        assert paths("boot-size", made("example.com/v1", kind, spec=spec)) == where


@pytest.mark.parametrize(("more", "bad"), [(15, False), (16, True)])
def test_a_pod_has_a_number_of_containers(more: int, bad: bool) -> None:
    containers = [{"name": f"c{number}"} for number in range(more)]
    each = pod(containers, "containers")  # beside one that comes first
    assert bool(found("containers-per-pod", each)) is bad


def test_objects_of_a_site_are_bounded_by_its_hosts() -> None:
    hosts = [made("metal3.io/v1alpha1", "BareMetalHost", name=f"h{n}") for n in range(2)]
    # 1,000 and 4 for each of two hosts, which count themselves.
    others = [made("v1", "ConfigMap", name=f"c{n}") for n in range(1006)]
    assert not found("objects-per-site", *hosts, *others)
    (one,) = found("objects-per-site", *hosts, *others, control_plane())
    assert "1009 objects" in one.message and "1008" in one.message


def test_no_site_is_near_the_bound() -> None:
    for site in every_site().values():
        hosts = sum(each.kind == "BareMetalHost" for each in objects(site))
        assert 2 * len(objects(site)) < 1000 + 4 * hosts, site.name
