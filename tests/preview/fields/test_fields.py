"""The differences in meaning between two objects: one bullet of the promise a table, and its
laws."""

import copy
import json
from collections.abc import Iterable
from decimal import Decimal
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from components.effects.rules import Rule, leads, path
from components.effects.vocabulary import ABSENT
from preview.differences.fields import show_path
from preview.differences.fields.kinds import CRD_QUANTITY
from schemas.kubernetes.objects import store
from schemas.kubernetes.quantities import quantity
from tests.kit.fields import field_changes, reordered_lists

BLANK: dict[str, Any] = {"apiVersion": "example.com/v1", "kind": "Thing"}
Json = Any


def deployment(pod: dict[str, Any]) -> dict[str, Any]:
    return {"apiVersion": "apps/v1", "kind": "Deployment", "spec": {"template": {"spec": pod}}}


def container(**fields: Any) -> dict[str, Any]:
    return deployment({"containers": [{"name": "web", **fields}]})


def config_map(**data: str) -> dict[str, Any]:
    return {"apiVersion": "v1", "kind": "ConfigMap", "data": data}


def kubeadm(kind: str = "KubeadmConfigTemplate", **spec: Any) -> dict[str, Any]:
    inner = {"kubeadmConfigSpec": spec} if "Control" in kind else {"template": {"spec": spec}}
    group = "controlplane" if "Control" in kind else "bootstrap"
    return {"apiVersion": f"{group}.cluster.x-k8s.io/v1beta2", "kind": kind, "spec": inner}


def differences(before: Json, after: Json) -> dict[str, tuple[Any, Any]]:
    """The changes by their shown paths; each path is there once."""
    changes = field_changes(before, after)
    found = {show_path(change.path): (change.before, change.after) for change in changes}
    assert len(found) == len(changes)
    return found


# --- the table of lists -----------------------------------------------------------------------

A, B, C = {"name": "a", "value": "1"}, {"name": "b", "value": "2"}, {"name": "c", "value": "3"}
TCP, UDP = {"containerPort": 53}, {"containerPort": 53, "protocol": "UDP"}
ENV = "spec.template.spec.containers[web].env"


@pytest.mark.parametrize(
    ("before", "after", "changed"),
    [
        ([A, B], [B, A], {}),
        ([A, B], [C, B, A], {"[c]": (ABSENT, C)}),
        ([A, B, C], [C, A], {"[b]": (B, ABSENT)}),
        ([A, B], [B, {**A, "value": "9"}], {"[a].value": ("1", "9")}),
        ([A], [{"name": "a"}], {"[a].value": ("1", ABSENT)}),
        # The API server takes a name twice; then the order is all that tells them apart.
        ([A, A], [A, A, B], {"[2]": (ABSENT, B)}),
        ([A, B], [A, A, B], {"[1]": (ABSENT, A)}),
        ([A, {"value": "2"}], [A], {"[1]": ({"value": "2"}, ABSENT)}),
    ],
)
def test_variables_are_matched_by_name(before: Json, after: Json, changed: Json) -> None:
    expected = {f"{ENV}{at}": values for at, values in changed.items()}
    assert differences(container(env=before), container(env=after)) == expected


MOUNT = {"name": "data", "mountPath": "/data"}
POD = "spec.template.spec"
WEB = f"{POD}.containers[web]"


@pytest.mark.parametrize(
    ("before", "after", "changed"),
    [
        (
            container(image="a:1"),
            deployment({"containers": [{"name": "log"}, {"name": "web", "image": "a:2"}]}),
            {
                f"{WEB}.image": ("a:1", "a:2"),
                f"{POD}.containers[log]": (ABSENT, {"name": "log"}),
            },
        ),
        # What is left out is TCP.
        (
            container(ports=[TCP, UDP]),
            container(ports=[{**UDP, "hostPort": 5}, {**TCP, "protocol": "TCP"}]),
            {
                f"{WEB}.ports[53/UDP].hostPort": (ABSENT, 5),
                f"{WEB}.ports[53/TCP].protocol": (ABSENT, "TCP"),
            },
        ),
        (
            container(volumeMounts=[MOUNT]),
            container(volumeMounts=[{**MOUNT, "mountPath": "/srv"}]),
            {
                f"{WEB}.volumeMounts[/data]": (MOUNT, ABSENT),
                f"{WEB}.volumeMounts[/srv]": (ABSENT, {**MOUNT, "mountPath": "/srv"}),
            },
        ),
        (
            {**deployment({}), "status": {"conditions": [{"type": "Available", "status": "True"}]}},
            {**deployment({}), "status": {"conditions": [{"type": "Available", "status": "No"}]}},
            {"status.conditions[Available].status": ("True", "No")},
        ),
        # Kubernetes has a finalizer once, and in no order; of all kinds, though a CRD is silent.
        (
            {**BLANK, "apiVersion": "metal3.io/v1alpha1", "kind": "BareMetalHost",
             "metadata": {"finalizers": ["a/x", "b"]}},
            {**BLANK, "apiVersion": "metal3.io/v1alpha1", "kind": "BareMetalHost",
             "metadata": {"finalizers": ["c", "a/x"]}},
            {"metadata.finalizers[b]": ("b", ABSENT), "metadata.finalizers[c]": (ABSENT, "c")},
        ),
        # The CRD's keys of an argument are name and value, as kubeadm takes a name twice.
        (
            kubeadm(initConfiguration={"nodeRegistration": {"kubeletExtraArgs": [A, B]}}),
            kubeadm(initConfiguration={"nodeRegistration": {"kubeletExtraArgs": [
                {**B, "value": "9"}, A]}}),
            {"spec.template.spec.initConfiguration.nodeRegistration.kubeletExtraArgs[b].value":
             ("2", "9")},
        ),
        (
            kubeadm(initConfiguration={"nodeRegistration": {"kubeletExtraArgs": [
                A, {**A, "value": "9"}]}}),
            kubeadm(initConfiguration={"nodeRegistration": {"kubeletExtraArgs": [A]}}),
            {"spec.template.spec.initConfiguration.nodeRegistration.kubeletExtraArgs[a/9]":
             ({**A, "value": "9"}, ABSENT)},
        ),
    ],
)  # fmt: skip
def test_lists_are_matched_as_kubernetes_does(before: Json, after: Json, changed: Json) -> None:
    assert differences(before, after) == changed


@pytest.mark.parametrize(
    ("before", "after", "changed"),
    [
        ("abcde", "abXcde", {2: (ABSENT, "X")}),
        ("abcde", "acde", {1: ("b", ABSENT)}),
        ("abcde", "abXde", {2: ("c", "X")}),
        ("ab", "Xb", {0: ("a", "X")}),
        ("abc", "XYbc", {0: ("a", "X"), 1: (ABSENT, "Y")}),
        ("", "a", {0: (ABSENT, "a")}),
        ("aa", "a", {1: ("a", ABSENT)}),
        # As many are equal where they are as in any other way.
        ("aab", "abba", {1: ("a", "b"), 3: (ABSENT, "a")}),
    ],
)
def test_an_item_that_comes_or_goes_does_not_change_those_after_it(
    before: str, after: str, changed: Json
) -> None:
    expected = {f"{WEB}.args[{at}]": values for at, values in changed.items()}
    assert differences(container(args=[*before]), container(args=[*after])) == expected


@pytest.mark.parametrize(
    ("wrapped", "items"),
    [
        # Kubernetes calls tolerations atomic, and arguments are a list with an order.
        (lambda items: deployment({"tolerations": items}), ({"key": "a"}, {"key": "b"})),
        (lambda items: container(args=items), ("a", "b")),
        # Where no schema is known, nothing but the order tells items apart.
        (lambda items: {**BLANK, "env": items}, (A, B)),
    ],
)
def test_another_order_of_items_without_a_key_is_a_change(wrapped: Any, items: Any) -> None:
    """One of the two has moved; which one, nobody can say."""
    first, second = field_changes(wrapped([*items]), wrapped([*items[::-1]]))
    moved = first.before if first.after is ABSENT else first.after
    assert moved in items
    assert {repr(first[1:]), repr(second[1:])} == {repr((moved, ABSENT)), repr((ABSENT, moved))}


def test_items_without_a_key_are_paired_where_most_of_them_is_alike() -> None:
    first = {"name": "/a", "gecos": "root", "shell": "0644", "sudo": "x"}
    second = {**first, "name": "/b"}
    edited = {**first, "sudo": "y"}
    other = {"name": "/c", "sudo": "z"}
    at = "spec.template.spec.users"
    cases = [
        ([first, second], [edited, second], {f"{at}[0].sudo": ("x", "y")}),
        ([first, second], [first, other, second], {f"{at}[1]": (ABSENT, other)}),
        (
            [first, second],
            [edited, other, second],
            {f"{at}[0].sudo": ("x", "y"), f"{at}[1]": (ABSENT, other)},
        ),
        ([first], [other, second], {f"{at}[0]": (first, other), f"{at}[1]": (ABSENT, second)}),
    ]
    for before, after, changed in cases:
        assert differences(kubeadm(users=before), kubeadm(users=after)) == changed


def test_files_are_told_apart_by_their_paths() -> None:
    """Of two files with one path the order counts, and so does the index."""
    one, other = {"path": "/a", "content": "x"}, {"path": "/b", "content": "x"}
    at = "spec.template.spec.files"
    edited = {**other, "content": "y"}
    found = differences(kubeadm(files=[one, other]), kubeadm(files=[edited, one]))
    assert found == {f"{at}[/b].content": ("x", "y")}
    found = differences(kubeadm(files=[one, one]), kubeadm(files=[one, {**one, "content": "y"}]))
    assert found == {f"{at}[1].content": ("x", "y")}


def test_very_long_lists_are_compared_item_by_item() -> None:
    """Looking for what has moved takes time that grows with the square of the length."""
    items = [str(index) for index in range(2000)]
    before, after = {**BLANK, "a": ["x", *items[:30]]}, {**BLANK, "a": [*items[:30], "y"]}
    assert len(field_changes(before, after)) == 2
    before, after = {**BLANK, "a": ["x", *items]}, {**BLANK, "a": [*items, "y"]}
    assert len(field_changes(before, after)) == 2001


def test_keys_come_from_the_real_schemas_of_every_kind() -> None:
    """Any list that a schema calls a map or a set may be in any order, wherever it is."""
    seen = 0
    for name, kind in store.kinds().items():
        api_version, _, short = name.rpartition("/")
        for way, schema in _lists(store.root(kind)):
            items = _two_items(schema)
            head = {"apiVersion": api_version, "kind": short}
            pair = [{**_wrapped(way, each), **head} for each in (items, items[::-1])]
            assert field_changes(pair[0], pair[1]) == (), (name, way)
            assert len(reordered_lists(pair[0], pair[1])) == 1, (name, way)
            seen += 1
    assert seen > 200


def _lists(schema: Json, way: tuple[str, ...] = (), depth: int = 0) -> Iterable[tuple[Any, Any]]:
    if "$ref" in schema:
        schema = store.definitions()[schema["$ref"].rpartition("/")[2]]
    if depth > 12 or way.count("") > 4:  # schemas of schemas have no end
        return
    if schema.get("x-kubernetes-list-type") in ("map", "set"):
        yield way, schema
    for key, child in schema.get("properties", {}).items():
        if key != "metadata" or not way:
            yield from _lists(child, (*way, key), depth + 1)
    if isinstance(schema.get("items"), dict):
        yield from _lists(schema["items"], (*way, ""), depth + 1)


def _two_items(schema: Json) -> list[Any]:
    keys = schema.get("x-kubernetes-list-map-keys")
    return [dict.fromkeys(keys, text) for text in "ab"] if keys else ["a", "b"]


def _wrapped(way: tuple[str, ...], value: Json) -> Json:
    for key in reversed(way):
        value = {key: value} if key else [value]
    return value


# --- values -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (True, 1), (False, 0), (1, 1.0), (1, "1"), (None, ABSENT), (None, ""), (None, {}),
        ({}, ABSENT), ([], ABSENT), ([], {}), ({}, ""), ("a", "a "), (0, None), ("True", True),
        ({"x": True}, {"x": 1}), ([1], [1.0]), ({"x": None}, {}), (5, "5"), ("", ABSENT),
    ],
)  # fmt: skip
def test_values_that_python_may_take_for_equal_differ(before: Json, after: Json) -> None:
    for left, right in ((before, after), (after, before)):
        pair = [
            {**BLANK, "same": {"list": [1, 2]}, **({} if value is ABSENT else {"field": value})}
            for value in (left, right)
        ]
        (change,) = field_changes(*pair)
        assert change.path[0] == "field"
        assert repr(change.before) != repr(change.after)
        assert field_changes(pair[0], copy.deepcopy(pair[0])) == ()


def test_a_subtree_that_comes_or_goes_is_one_change() -> None:
    tree = {"a": {"b": [{"c": 1}], "d": None}}
    assert differences({**BLANK, "x": {}}, {**BLANK, "x": tree}) == {"x.a": (ABSENT, tree["a"])}
    assert differences({**BLANK, "x": tree}, BLANK) == {"x": (tree, ABSENT)}


def test_a_field_is_compared_whatever_it_is_called() -> None:
    """deepdiff takes two underscores for private, and little in common for another object."""
    before = {**BLANK, "__hidden": 1, "map": {"a": 1, "b": 1, "c": 1, "z": 1}}
    after = {**BLANK, "__hidden": 2, "map": {"d": 1, "e": 1, "f": 1, "z": 2}}
    assert differences(before, after) == {
        "__hidden": (1, 2),
        "map.z": (1, 2),
        **{f"map.{key}": (1, ABSENT) for key in "abc"},
        **{f"map.{key}": (ABSENT, 1) for key in "def"},
    }


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("1000m", "1"), ("1Gi", "1024Mi"), ("0.5", "500m"), (1, "1"), (2, "2000m"), (1.5, "1500m"),
        ("1e3", "1k"), ("1E", "1000P"), ("+1", "1."), ("-1Ki", "-1024"), ("1e-3", "1m"),
        (".5", 0.5), ("1000000u", "1"), ("1000000000n", "1"), ("12E2", "1200"),
    ],
)  # fmt: skip
def test_equal_quantities_are_equal_where_the_schema_says_quantity(
    before: Json, after: Json
) -> None:
    def limits(value: Json) -> Json:
        return container(resources={"limits": {"example.com/thing": value}})

    assert field_changes(limits(before), limits(after)) == ()
    assert len(field_changes(limits(before), limits("7"))) == 1


@pytest.mark.parametrize(
    "texts",
    [
        lambda value: {**BLANK, "resources": {"limits": {"cpu": value}}},
        lambda value: config_map(cpu=value),
        lambda value: container(env=[{"name": "CPU", "value": value}]),
        lambda value: container(args=[value]),
        lambda value: {**deployment({}), "metadata": {"annotations": {"cpu": value}}},
    ],
)
def test_what_only_looks_like_a_quantity_is_a_text(texts: Any) -> None:
    (change,) = field_changes(texts("1000m"), texts("1"))
    assert change[1:] == ("1000m", "1")


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("1", "1001m"), ("1Gi", "1G"), ("1M", "1m"), ("abc", "abd"), ("1", "1x"), ("1", None),
        ("1e999999999", "1e999999998"), ("1" * 5000, "1" * 5001), ("0", True), ("1", True),
    ],
)  # fmt: skip
def test_other_quantities_differ(before: Json, after: Json) -> None:
    pair = [container(resources={"limits": {"cpu": value}}) for value in (before, after)]
    assert differences(*pair) == {f"{WEB}.resources.limits.cpu": (before, after)}


def test_a_quantity_in_another_form_makes_no_other_item() -> None:
    """Sources of a projected volume have no key, so they are equal or not as a whole."""

    def sources(*items: Json) -> Json:
        return deployment({"volumes": [{"name": "a", "projected": {"sources": [*items]}}]})

    def source(divisor: str) -> Json:
        field = {"path": "cpu", "resourceFieldRef": {"resource": "x", "divisor": divisor}}
        return {"downwardAPI": {"items": [field]}}

    new = {"secret": {"name": "s"}}
    before = sources(source("1"), source("2"))
    after = sources(new, source("1000m"), source("2k"))
    at = f"{POD}.volumes[a].projected.sources"
    assert differences(before, after) == {
        f"{at}[0]": (ABSENT, new),
        f"{at}[1]": (source("2"), ABSENT),
        f"{at}[2]": (ABSENT, source("2k")),
    }


def test_quantities_of_custom_resources() -> None:
    def divisor(value: Json) -> Json:
        source = {"valueFrom": {"resourceFieldRef": {"divisor": value}}}
        return kubeadm(clusterConfiguration={"apiServer": {"extraEnvs": [{"name": "a", **source}]}})

    assert field_changes(divisor("1000m"), divisor("1")) == ()
    assert len(field_changes(divisor("1000m"), divisor("2"))) == 1
    kind = store.kinds()["bootstrap.cluster.x-k8s.io/v1beta2/KubeadmConfigTemplate"]
    assert json.dumps(CRD_QUANTITY) in json.dumps(store.root(kind))


@pytest.mark.parametrize(("before", "after"), [(5, "5"), ("50%", "0.5"), ("1000m", "1")])
def test_numbers_or_texts_that_are_no_quantities_differ(before: Json, after: Json) -> None:
    pair = [
        {
            "apiVersion": "cluster.x-k8s.io/v1beta2",
            "kind": "MachineDeployment",
            "spec": {"rollout": {"strategy": {"rollingUpdate": {"maxSurge": value}}}},
        }
        for value in (before, after)
    ]
    assert list(differences(*pair).values()) == [(before, after)]


@given(st.from_regex(r"[+-]?[0-9]{1,15}(\.[0-9]{0,9})?([eE][+-]?[0-9])?", fullmatch=True))
def test_a_quantity_without_suffix_is_the_number(text: str) -> None:
    assert quantity(text) == Fraction(Decimal(text))


# --- words ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("before", "after", "expected"),
    [
        (container(image="a"), container(image="b"), "spec.template.spec.containers[web].image"),
        (config_map(**{"a.b": "1"}), config_map(**{"a.b": "2"}), "data[a.b]"),
        (config_map(**{"a b": "1"}), config_map(**{"a b": "2"}), "data[a b]"),
        ({"a-b": {"": 1}}, {"a-b": {"": 2}}, "a-b[]"),
        ({"app.kubernetes.io/name": 1}, {}, "[app.kubernetes.io/name]"),
        (container(args=["a"]), container(args=["b"]), f"{WEB}.args[0]"),
    ],
)  # fmt: skip
def test_a_path_for_people(before: Json, after: Json, expected: str) -> None:
    (change,) = field_changes(before, after)
    assert show_path(change.path) == expected


def test_rules_fit_steps_that_name_items() -> None:
    (change,) = field_changes(container(image="a"), container(image="b"))
    rule = Rule("Deployment.apps", path("spec.template.spec.containers.web.image"), lambda *_: ())
    assert leads(rule.path, change.path)
    assert change.path == ("spec", "template", "spec", "containers", "web", "image")


def test_another_order_of_items_with_keys_is_told_apart() -> None:
    """No field changes; but the pods of a workload are created again, see ``reordered_lists``."""
    before, after = container(env=[A, B]), container(env=[B, C, A])
    assert [show_path(place) for place in reordered_lists(before, after)] == [ENV]
    assert reordered_lists(before, container(env=[A, C, B])) == ()
    assert reordered_lists(container(args=["a", "b"]), container(args=["b", "a"])) == ()
