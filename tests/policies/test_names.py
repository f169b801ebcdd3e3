"""Rules of names: what an API server takes, and what is nobody else's."""

from typing import Any

import pytest

from policies.rule import Object
from tests.kit.policy_objects import GOOD, POD, found, good, paths
from tests.kit.policy_sites import made


def named(kind: str, name: Any) -> Object:
    return made("example.com/v1", kind, metadata={"name": name})


@pytest.mark.parametrize(
    ("kind", "name", "fits"),
    [
        ("ConfigMap", "a.b-c", True),
        ("ConfigMap", "a" * 253, True),
        ("ConfigMap", "a" * 254, False),
        ("ConfigMap", "A", False),
        ("ConfigMap", "a_b", False),
        ("ConfigMap", "-a", False),
        ("ConfigMap", "a-", False),
        ("ConfigMap", "a..b", False),
        ("ConfigMap", "a\n", False),
        ("ConfigMap", "é", False),
        ("ConfigMap", "", False),
        ("ConfigMap", None, False),
        ("Namespace", "a" * 63, True),
        ("Namespace", "a" * 64, False),
        ("Namespace", "a.b", False),
        ("Namespace", "1a", True),
        ("Service", "1a", False),
        ("Service", "a" * 64, False),
        ("CronJob", "a" * 52, True),
        ("CronJob", "a" * 53, False),
        ("ClusterRole", "foresite:scheduler:Gang", True),
        ("ClusterRole", "a/b", False),
        ("ClusterRole", "a%b", False),
        ("ClusterRole", "..", False),
        ("MachineDeployment", "a.b", False),
    ],
)
def test_names_are_those_of_their_kind(kind: str, name: Any, fits: bool) -> None:
    assert paths("name-fits-kind", named(kind, name)) == ["metadata.name"] * (not fits)


@pytest.mark.parametrize(
    ("key", "value", "good_one"),
    [
        ("app", "web", True),
        ("app", "", True),
        ("app", "a" * 63, True),
        ("app", "a" * 64, False),
        ("app", "a b", False),
        ("app", "-a", False),
        ("app", True, False),
        ("example.com/app", "web", True),
        ("example.com/" + "a" * 64, "web", False),
        ("Example.com/app", "web", False),
        ("a" * 254 + "/app", "web", False),
        ("/app", "web", False),
        ("example.com/", "web", False),
        ("", "web", False),
    ],
)
def test_labels_are_those_that_a_label_may_be(key: str, value: Any, good_one: bool) -> None:
    for place in (("metadata", "labels"), ("spec", "template", "metadata", "labels")):
        where = [f'{".".join(place)}["{key}"]'] * (not good_one)
        assert paths("labels-valid", good("Deployment", place, {key: value})) == where


def test_keys_of_annotations_are_held_to_the_same() -> None:
    each = good("ConfigMap", ("metadata", "annotations"), {"a b": "any text\nat all"})
    assert paths("labels-valid", each) == ['metadata.annotations["a b"]']


@pytest.mark.parametrize(("size", "bad"), [(256 * 1024 - 1, False), (256 * 1024, True)])
def test_annotations_are_bounded(size: int, bad: bool) -> None:
    each = good("ConfigMap", ("metadata", "annotations"), {"a": "x" * size})
    assert bool(found("annotations-bounded", each)) is bad


def test_annotations_are_counted_in_bytes() -> None:
    each = good("ConfigMap", ("metadata", "annotations"), {"a": "é" * (128 * 1024)})
    assert found("annotations-bounded", each)


@pytest.mark.parametrize(
    ("kind", "name", "namespace", "path"),
    [
        ("Namespace", "kube-extra", "", "metadata.name"),
        ("Namespace", "openshift-x", "", "metadata.name"),
        ("Namespace", "default", "", "metadata.name"),
        ("Namespace", "defaults", "", ""),
        ("ConfigMap", "web", "kube-system", "metadata.namespace"),
        ("ConfigMap", "web", "default", "metadata.namespace"),
        ("ConfigMap", "kube-extra", "web", ""),
        ("PriorityClass", "system-mine", "", "metadata.name"),
        ("ClusterRole", "system:mine", "", "metadata.name"),
        ("ClusterRole", "foresite:mine", "", ""),
    ],
)
def test_what_others_keep_for_themselves_is_left_to_them(
    kind: str, name: str, namespace: str, path: str
) -> None:
    each = made("v1", kind, metadata={"name": name, "namespace": namespace})
    assert paths("names-not-reserved", each) == ([path] if path else [])


def test_an_object_is_there_once() -> None:
    one = made("apps/v1", "Deployment")
    same = made("apps/v1beta1", "Deployment")  # another version is the same object
    assert paths("identity-once", one, same) == ["metadata.name"] * 2
    others = [
        made("apps/v1", "Deployment", name="other"),
        made("apps/v1", "DaemonSet"),
        made("example.com/v1", "Deployment"),
        made("apps/v1", "Deployment", metadata={"namespace": "other"}),
        made("apps/v1", "Deployment", "management"),
    ]
    assert not found("identity-once", one, *others)


def test_the_good_ones_break_none() -> None:
    rules = ("name-fits-kind", "labels-valid", "annotations-bounded", "names-not-reserved")
    assert [rule for rule in rules if found(rule, *(good(kind) for kind in GOOD))] == []
    assert POD == ("spec", "template", "spec")
