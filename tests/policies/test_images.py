"""Images by digest, from a named registry: one good object, changed in one place for each rule."""

from typing import Any

import pytest

from policies.rule import Object
from policies.rules.images import images
from tests.kit.policy_objects import DIGEST, WEB, changed, good, paths

IMAGE = (*WEB, "image")
PATH = "spec.template.spec.containers[0].image"
NAME = "registry.example.com/web"
OS_IMAGE: dict[str, Any] = {
    "apiVersion": "infrastructure.cluster.x-k8s.io/v1beta2",
    "kind": "Metal3MachineTemplate",
    "metadata": {"name": "v100", "namespace": "tokyo-1"},
    "spec": {
        "template": {
            "spec": {
                "image": {
                    "url": "https://images.example.com/os.qcow2",
                    "checksum": "5f1d" * 16,
                    "checksumType": "sha256",
                    "diskFormat": "qcow2",
                }
            }
        }
    },
}
OS_PATH = "spec.template.spec.image"
OPERATOR: dict[str, Any] = {
    "apiVersion": "nvidia.com/v1",
    "kind": "ClusterPolicy",
    "metadata": {"name": "gpus"},
    "spec": {"toolkit": {"repository": "nvcr.io/nvidia", "image": "toolkit", "version": DIGEST}},
}


@pytest.mark.parametrize(
    ("rule", "image"),
    [
        ("image-digest", f"{NAME}:1.2.3"),
        ("image-digest", f"{NAME}@sha256:5f1d"),
        ("image-digest", f"{NAME}@sha1:{'5f1d' * 10}"),
        ("image-digest", f"{NAME}@{DIGEST}:1.2.3"),
        ("image-version", f"{NAME}:latest@{DIGEST}"),
        ("image-version", NAME),
        ("image-version", "registry.example.com:5000/web"),
        ("image-registry", f"web@{DIGEST}"),
        ("image-registry", f"library/web@{DIGEST}"),
    ],
)
def test_an_image_that_is_not_pinned_is_told(rule: str, image: str) -> None:
    assert paths(rule, good("Deployment")) == []
    assert paths(rule, good("Deployment", IMAGE, image)) == [PATH]


@pytest.mark.parametrize(
    "image",
    [f"{NAME}@{DIGEST}", f"localhost/web@{DIGEST}", f"registry.example.com:5000/a/b:1@{DIGEST}"],
)
def test_a_pinned_image_keeps_all_rules(image: str) -> None:
    each = good("Deployment", IMAGE, image)
    assert [paths(f"image-{rule}", each) for rule in ("digest", "version", "registry")] == [[]] * 3


def test_the_parts_that_an_operator_joins_are_judged_as_one() -> None:
    (one,) = images(Object("site", OPERATOR))
    assert one.reference == f"nvcr.io/nvidia/toolkit@{DIGEST}"
    bad = changed(OPERATOR, ("spec", "toolkit", "version"), "1.19.1")
    assert paths("image-digest", Object("site", bad)) == ["spec.toolkit.image"]


def test_an_image_in_a_text_is_judged() -> None:
    text = "apiVersion: v1\nkind: Pod\nmetadata: {name: a}\n"
    text += "spec: {containers: [{name: b, image: c}]}\n"
    each = good("ConfigMap", ("data", "a"), text)
    assert paths("image-digest", each) == ["data.a:Pod a.spec.containers[0].image"]


def test_an_image_as_a_volume_is_judged() -> None:
    volume = {"name": "model", "image": {"reference": f"{NAME}:1"}}
    each = good("Deployment", ("spec", "template", "spec", "volumes", 1), volume)
    assert paths("image-digest", each) == ["spec.template.spec.volumes[1].image.reference"]


@pytest.mark.parametrize(
    ("field", "value", "path"),
    [
        ("checksumType", "md5", "checksumType"),
        ("checksumType", None, "checksumType"),
        ("checksum", "https://images.example.com/os.qcow2.sha256", "checksum"),
        ("checksum", "5f1d" * 8, "checksum"),
    ],
)
def test_an_os_image_has_its_checksum_in_git(field: str, value: str | None, path: str) -> None:
    rule = "os-image-checksum"
    assert paths(rule, Object("management", OS_IMAGE)) == []
    bad = changed(OS_IMAGE, ("spec", "template", "spec", "image", field), value)
    assert paths(rule, Object("management", bad)) == [f"{OS_PATH}.{path}"]
