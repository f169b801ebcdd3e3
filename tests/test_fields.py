"""What differs in meaning between two objects: one bullet of the promise a table, and its laws."""

import copy
import json
import random
from collections.abc import Iterable
from decimal import Decimal
from typing import Any

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from components.dump import dump, dump_all
from components.impact.rules import fits, path
from components.impact.rules import Rule as AnyRule
from components.impact.vocabulary import ABSENT, FieldChange
from components.site import site_objects
from preview.fields import MAX_LINES, field_changes, reordered, shown, text_lines
from preview.kinds import CRD_QUANTITY
from preview.quantities import quantity
from schemas.objects import store
from tests.repository import all_sites

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
    found = {shown(change.path): (change.before, change.after) for change in changes}
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
    first = {"path": "/a", "owner": "root", "permissions": "0644", "content": "x"}
    second = {**first, "path": "/b"}
    edited = {**first, "content": "y"}
    other = {"path": "/c", "content": "z"}
    at = "spec.template.spec.files"
    cases = [
        ([first, second], [edited, second], {f"{at}[0].content": ("x", "y")}),
        ([first, second], [first, other, second], {f"{at}[1]": (ABSENT, other)}),
        (
            [first, second],
            [edited, other, second],
            {f"{at}[0].content": ("x", "y"), f"{at}[1]": (ABSENT, other)},
        ),
        ([first], [other, second], {f"{at}[0]": (first, other), f"{at}[1]": (ABSENT, second)}),
    ]
    for before, after, changed in cases:
        assert differences(kubeadm(files=before), kubeadm(files=after)) == changed


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
            assert len(reordered(pair[0], pair[1])) == 1, (name, way)
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
        ("1e3", "1k"), ("1E", "1000P"), ("+1", "1."), ("-1Ki", "-1024"), ("1e-3", "1m"), (".5", 0.5),
        ("1000000u", "1"), ("1000000000n", "1"), ("12E2", "1200"),
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
        ("1e999999999", "1e999999998"), ("1" * 50, "1" * 51), ("0", True),
    ],
)  # fmt: skip
def test_other_quantities_differ(before: Json, after: Json) -> None:
    pair = [container(resources={"limits": {"cpu": value}}) for value in (before, after)]
    assert differences(*pair) == {f"{WEB}.resources.limits.cpu": (before, after)}


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
    amount = quantity(text)
    assert amount is not None
    assert amount == Decimal(text).as_integer_ratio()[0] / amount.__class__(
        Decimal(text).as_integer_ratio()[1]
    )


# --- texts that hold data ---------------------------------------------------------------------


def role(name: str, **fields: Any) -> dict[str, Any]:
    head = {"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "Role"}
    return {**head, "metadata": {"name": name, "namespace": "x"}, **fields}


NET = {"Network": "10.0.0.0/8", "Backend": {"Type": "vxlan"}}
NEW_NET = {**NET, "Backend": {"Type": "host-gw"}}
IN_NET = {"[net.json].Backend.Type": ("vxlan", "host-gw")}


@pytest.mark.parametrize(
    ("key", "before", "after", "changed"),
    [
        ("net.json", json.dumps(NET), json.dumps(NEW_NET, indent=1), IN_NET),
        ("net.json", json.dumps(NET), dump(NEW_NET), IN_NET),
        ("net.json", json.dumps(NET, indent="\t"), json.dumps(NEW_NET), IN_NET),
        ("net.json", '{"a": "\\ud83d\\ude00"}', '{"a": 1}', {"[net.json].a": ("\U0001f600", 1)}),
        ("net.yaml", "{a: 1}", "{a: 2}", {"[net.yaml].a": (1, 2)}),
        ("plain", dump(NET), dump(NEW_NET), {".plain.Backend.Type": ("vxlan", "host-gw")}),
        ("plain", dump([{"a": 1}]), dump([{"a": 2}]), {".plain[0].a": (1, 2)}),
        ("list.yml", "- a\n- b\n", "- a\n- c\n", {"[list.yml][1]": ("b", "c")}),
        # A list of words may be anything.
        ("plain", "- a\n- b\n", "- a\n- c\n", {".plain": ("- a\n- b\n", "- a\n- c\n")}),
        ("plain", "a = 1\n", "a = 2\n", {".plain": ("a = 1\n", "a = 2\n")}),
        ("x.yaml", "a: 1", "- 1", {"[x.yaml]": ("a: 1", "- 1")}),
        ("x.yaml", "a: 1", "1", {"[x.yaml]": ("a: 1", "1")}),
        ("x.yaml", "a: 1\n---\nb: 1", "a: 1\n---\nb: 2", {"[x.yaml][1].b": (1, 2)}),
        ("x.yaml", "a: 1", "a: 1\n---\nb: 2", {"[x.yaml][1]": (ABSENT, {"b": 2})}),
        # Objects are known by name, in any order.
        (
            "x.yaml",
            dump_all([role("a"), role("b", rules=[])]),
            dump_all([role("b"), role("a")]),
            {"[x.yaml][Role/x/b].rules": ([], ABSENT)},
        ),
        (
            "x.yaml",
            dump(role("a")),
            dump_all([role("a"), role("b")]),
            {"[x.yaml][Role/x/b]": (ABSENT, role("b"))},
        ),
        # Two of one name are told apart by their order.
        (
            "x.yaml",
            dump_all([role("a"), role("a", rules=[])]),
            dump_all([role("a"), role("a", rules=None)]),
            {"[x.yaml][1].rules": ([], None)},
        ),
    ],
)  # fmt: skip
def test_data_in_texts_is_compared_as_data(
    key: str, before: str, after: str, changed: Json
) -> None:
    expected = {f"data{at}": values for at, values in changed.items()}
    assert differences(config_map(**{key: before}), config_map(**{key: after})) == expected


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (json.dumps(NET), json.dumps(NET, indent=1)),
        (dump(NET), "# why\n" + dump(NET)),
        ("a: 1\nb: 2\n", "b: 2\na: 1\n"),
        ('{"a": 0.0}', '{"a": -0.0}'),
        (dump_all([role("a"), role("b")]), dump_all([role("b"), role("a")])),
        (
            dump({**container(resources={"limits": {"cpu": "1"}}), "metadata": {"name": "a"}}),
            dump({**container(resources={"limits": {"cpu": "1000m"}}), "metadata": {"name": "a"}}),
        ),
    ],
)
def test_another_form_of_the_same_data_changes_the_text(before: str, after: str) -> None:
    assert differences(config_map(plain=before), config_map(plain=after)) == {
        "data.plain": (before, after)
    }


NESTED = "[" * 60 + "]" * 60
BOMB = "a: &a [x, x]\nb: &b [*a, *a]\nc: &c [*b, *b]\nd: [*c, *c]\n"


@pytest.mark.parametrize(
    "text",
    [
        BOMB,
        "a: !!python/object/apply:os.system [true]\n",
        '{"a": ' + "[" * 100 + "]" * 100 + "}",
        '{"a": ' + "[" * 100_000 + "]" * 100_000 + "}",
        '{"a": ' * 100_000,
        "a: " + "[" * 200 + "]" * 200,
        "a: 1\na: 1\n",
        '{"a": 1, "a": 2}',
        '{"a": NaN}',
        '{"a": 1e999}',
        '{"a": "\ud800"}',
        '{"a": ' + "9" * 10_000 + ', "a": 1}',
        "<<: {a: 1}\n",
        "a: 'open\n",
        "a: \x00\n",
        json.dumps({"a": "x" * 2**20}),
        json.dumps({"a": [0] * 50_000}),
        "",
    ],
    ids=range(18),
)
def test_what_is_not_safely_read_is_a_text(text: str) -> None:
    for key in ("x.json", "x.yaml"):
        (change,) = field_changes(config_map(**{key: text}), config_map(**{key: text + " "}))
        assert change == FieldChange(("data", key), text, text + " ")


def test_the_deepest_data_that_is_read_is_compared() -> None:
    before, after = ('{"a": ' * 98 + end + "}" * 98 for end in ("1", "2"))
    (change,) = field_changes(config_map(a=before), config_map(a=after))
    assert change.path == ("data", "a", *"a" * 98)


def test_texts_in_texts_are_data_only_so_deep() -> None:
    texts = ["1", "2"]
    for _ in range(5):
        texts = [
            json.dumps({**config_map(inner=text), "metadata": {"name": "a"}}) for text in texts
        ]
    (change,) = field_changes(*map(json.loads, texts))
    assert shown(change.path) == "data.inner" + "[ConfigMap/a].data.inner" * 3


@pytest.mark.parametrize("kind", ["KubeadmConfigTemplate", "KubeadmControlPlane"])
def test_files_of_machines_hold_data(kind: str) -> None:
    def files(content: str) -> Json:
        return kubeadm(kind, files=[{"path": "/x.conf"}, {"path": "/a", "content": content}])

    (change,) = field_changes(files(dump(NET)), files(dump(NEW_NET)))
    assert shown(change.path).endswith("files[1].content.Backend.Type")
    (change,) = field_changes(files("[a]\nb = 1\n"), files("[a]\nb = 2\n"))
    assert shown(change.path).endswith("files[1].content")


def test_static_pods_are_compared_as_pods() -> None:
    (body,) = [
        manifest.body
        for manifest in site_objects(all_sites()["tokyo-1"])["machines"]
        if manifest.kind == "KubeadmControlPlane"
    ]
    after = copy.deepcopy(body)
    (file,) = [
        file for file in after["spec"]["kubeadmConfigSpec"]["files"] if "kube-vip" in file["path"]
    ]
    pod = yaml.safe_load(file["content"])
    pod["spec"]["containers"][0]["env"].reverse()
    pod["spec"]["containers"][0]["image"] = "new"
    file["content"] = dump(pod)
    ((changed, (_, new)),) = differences(body, after).items()
    assert new == "new"
    assert changed.endswith(
        "].content[Pod/kube-system/kube-vip].spec.containers[kube-vip].image"
    )


def test_secrets_are_no_data() -> None:
    def secret(text: str) -> Json:
        return {"apiVersion": "v1", "kind": "Secret", "stringData": {"a.json": text}}

    assert list(differences(secret('{"a": 1}'), secret('{"a": 2}'))) == ["stringData[a.json]"]


# --- words ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("lines_before", "lines_after", "expected"),
    [
        ("a\nb\nc\nd\ne\n", "a\nb\nC\nd\ne\n",
         ["@@ -1,5 +1,5 @@", " a", " b", "-c", "+C", " d", " e"]),
        ("a\n", "a", ["@@ -1 +1,2 @@", " a", "+\\ no line break at the end"]),
        ("a", "a\n", ["@@ -1,2 +1 @@", " a", "-\\ no line break at the end"]),
        ("", "a\n", ["@@ -0,0 +1 @@", "+a"]),
        ("a\r\n", "a\n", ["@@ -1 +1 @@", "-a\\r", "+a"]),
        ("a\u200b\tb\n", "a\tb\n", ["@@ -1 +1 @@", "-a\\u200b\tb", "+a\tb"]),
        ("a\n", "a\n", []),
    ],
)  # fmt: skip
def test_the_lines_in_which_texts_differ(
    lines_before: str, lines_after: str, expected: list[str]
) -> None:
    assert text_lines(lines_before, lines_after) == expected


def test_the_lines_are_bounded() -> None:
    before = "".join(f"{i}\n" for i in range(100))
    lines = text_lines(before, before.replace("\n", "x\n"))
    assert len(lines) == MAX_LINES + 1
    # One line says where, 200 what.
    assert lines[-1] == f"{201 - MAX_LINES} more lines"
    many = text_lines("a\n" * 10_000, "a\n" * 10_001 + "b\n")
    assert many == ["10000 lines became 10002, too many to compare"]


@pytest.mark.parametrize(
    ("before", "after", "expected"),
    [
        (container(image="a"), container(image="b"), "spec.template.spec.containers[web].image"),
        (config_map(**{"a.b": "1"}), config_map(**{"a.b": "2"}), "data[a.b]"),
        (config_map(**{"a b": "1"}), config_map(**{"a b": "2"}), "data[a b]"),
        ({"a-b": {"": 1}}, {"a-b": {"": 2}}, "a-b[]"),
        ({"app.kubernetes.io/name": 1}, {}, "[app.kubernetes.io/name]"),
        (container(args=["a"]), container(args=["b"]), "spec.template.spec.containers[web].args[0]"),
    ],
)  # fmt: skip
def test_a_path_for_people(before: Json, after: Json, expected: str) -> None:
    (change,) = field_changes(before, after)
    assert shown(change.path) == expected


def test_rules_fit_steps_that_name_items() -> None:
    (change,) = field_changes(container(image="a"), container(image="b"))
    rule = AnyRule("Deployment", path("spec.template.spec.containers.web.image"), lambda *_: ())
    assert fits(rule, change.path)
    assert change.path == ("spec", "template", "spec", "containers", "web", "image")


def test_another_order_of_items_with_keys_is_told_apart() -> None:
    """No field changes; but the pods of a workload are made anew, see ``reordered``."""
    before, after = container(env=[A, B]), container(env=[B, C, A])
    assert [shown(place) for place in reordered(before, after)] == [ENV]
    assert reordered(before, container(env=[A, C, B])) == ()
    assert reordered(container(args=["a", "b"]), container(args=["b", "a"])) == ()


# --- laws -------------------------------------------------------------------------------------

KEYS = {
    "containers": ("name",),
    "env": ("name",),
    "ports": ("containerPort", "protocol"),
    "volumeMounts": ("mountPath",),
}
"""Told here anew, from the Kubernetes API reference: the test does not ask what it tests."""
NAMES = st.sampled_from(["a", "b", "a/b", "c.d"])
SCALARS = st.sampled_from([None, True, False, 0, 1, 1.0, 2, "", "1", "x", "a\nb\n"])
ANYTHING: st.SearchStrategy[Json] = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(NAMES, inner, max_size=3),
    max_leaves=12,
)
QUANTITIES = st.sampled_from(["1", "1000m", "1Gi", "1024Mi", "2", 1, 2])


def _unique(items: st.SearchStrategy[Any], *keys: str) -> st.SearchStrategy[Any]:
    return st.lists(items, max_size=3, unique_by=lambda item: tuple(item[key] for key in keys))


CONTAINERS = _unique(
    st.fixed_dictionaries(
        {"name": NAMES},
        optional={
            "args": st.lists(NAMES, max_size=5),
            "env": _unique(st.fixed_dictionaries({"name": NAMES, "value": NAMES}), "name"),
            "ports": _unique(
                st.fixed_dictionaries(
                    {
                        "containerPort": st.integers(1, 2),
                        "protocol": st.sampled_from(["TCP", "UDP"]),
                    },
                    optional={"hostPort": st.integers(1, 2)},
                ),
                "containerPort",
                "protocol",
            ),
            "volumeMounts": _unique(
                st.fixed_dictionaries({"name": NAMES, "mountPath": NAMES}), "mountPath"
            ),
            "resources": st.fixed_dictionaries(
                {"limits": st.dictionaries(NAMES, QUANTITIES, max_size=2)}
            ),
        },
    ),
    "name",
)
TOLERATIONS = st.lists(st.dictionaries(NAMES, NAMES, max_size=3), max_size=4)
PODS = st.builds(
    lambda containers, tolerations, extra: deployment(
        {"containers": containers, "tolerations": tolerations, "unknown": extra}
    ),
    CONTAINERS,
    TOLERATIONS,
    ANYTHING,
)
DATA = st.dictionaries(NAMES, ANYTHING, min_size=1, max_size=3)
TEXTS = st.one_of(
    st.builds(json.dumps, DATA, indent=st.sampled_from([None, 1])), st.builds(dump, DATA)
)
MAPS = st.builds(lambda text: config_map(**{"a.yaml": text}), TEXTS)
THINGS = st.builds(lambda inner: {**BLANK, "field": inner}, ANYTHING)
PAIRS = st.one_of(st.tuples(each, each) for each in (PODS, MAPS, THINGS))
FEW = settings(max_examples=150, deadline=None)


def meaning(value: Json, name: str = "") -> Json:
    """A value in one form for all that mean the same; the field's name tells what it is."""
    if name == "a.yaml":
        return meaning(yaml.safe_load(value))
    if isinstance(value, dict):
        inner = {key: meaning(item, key) for key, item in value.items()}
        if name == "limits":
            inner = {key: str(_amount(item)) for key, item in value.items()}
        return ("map", sorted(inner.items()))
    if isinstance(value, list):
        items = [meaning(item) for item in value]
        return ("map", sorted(items, key=repr)) if name in KEYS else ("list", items)
    return repr(value)


def _amount(text: Any) -> Decimal:
    factors = {"m": Decimal("0.001"), "Gi": Decimal(2**30), "Mi": Decimal(2**20)}
    for suffix, factor in factors.items():
        if str(text).endswith(suffix):
            return (Decimal(str(text).removesuffix(suffix)) * factor).normalize()
    return Decimal(str(text)).normalize()


def applied(value: Json, changes: list[FieldChange], name: str = "") -> Json:
    """``value`` with the changes made in it."""
    if any(not change.path for change in changes):
        (change,) = changes
        return change.after
    if isinstance(value, str):
        return dump(applied(yaml.safe_load(value), changes))
    if isinstance(value, dict):
        return _in_map(value, changes)
    if name in KEYS:
        keyed = {"/".join(str(item[key]) for key in KEYS[name]): item for item in value}
        return list(_in_map(keyed, changes).values())
    return _in_list(value, changes)


def _in_map(value: Json, changes: list[FieldChange]) -> Json:
    result = dict(value)
    for key in {change.path[0]: None for change in changes}:
        inner = [FieldChange(c.path[1:], *c[1:]) for c in changes if c.path[0] == key]
        result[key] = applied(result.get(key, ABSENT), inner, str(key))
    return {key: item for key, item in result.items() if item is not ABSENT}


def _in_list(value: Json, changes: list[FieldChange]) -> Json:
    """Indexes of what goes and of what changes within are those before, of what comes after."""
    result = list(value)
    whole = [c for c in changes if len(c.path) == 1]
    for index in {c.path[0]: None for c in changes if len(c.path) > 1}:
        inner = [FieldChange(c.path[1:], *c[1:]) for c in changes if c.path[0] == index]
        result[int(index)] = applied(result[int(index)], inner)
    for index in sorted((c.path[0] for c in whole if c.before is not ABSENT), reverse=True):
        del result[int(index)]
    for change in sorted(whole, key=lambda c: c.path[0]):
        if change.after is not ABSENT:
            result.insert(int(change.path[0]), change.after)
    return result


def shuffled(value: Json, source: random.Random, name: str = "") -> Json:
    if isinstance(value, dict):
        return {key: shuffled(item, source, key) for key, item in value.items()}
    if isinstance(value, list):
        items = [shuffled(item, source) for item in value]
        if name in KEYS:
            source.shuffle(items)
        return items
    return value


def mirrored(changes: Iterable[FieldChange]) -> list[str]:
    return sorted(repr(FieldChange(c.path, c.after, c.before)) for c in changes)


@given(PAIRS)
@FEW
def test_there_are_changes_where_the_meaning_or_a_text_differs(pair: tuple[Json, Json]) -> None:
    before, after = pair
    changes = field_changes(before, after)
    in_text = before["kind"] == "ConfigMap" and before != after
    assert bool(changes) == (meaning(before) != meaning(after) or in_text)
    for change in changes:
        assert repr(change.before) != repr(change.after)


@given(PAIRS)
@FEW
def test_the_changes_made_in_the_one_give_the_other(pair: tuple[Json, Json]) -> None:
    before, after = copy.deepcopy(pair)
    changes = field_changes(before, after)
    assert (before, after) == pair
    assert meaning(applied(before, list(changes))) == meaning(after)


@given(PAIRS)
@FEW
def test_swapped_objects_give_swapped_changes(pair: tuple[Json, Json]) -> None:
    forth, back = field_changes(*pair), field_changes(*pair[::-1])
    assert sorted(map(repr, forth)) == mirrored(back)
    assert [list(map(str, c.path)) for c in forth] == sorted(list(map(str, c.path)) for c in forth)


@given(PODS, PODS, st.randoms(use_true_random=False))
@FEW
def test_the_order_of_items_with_keys_is_nothing(
    before: Json, after: Json, source: random.Random
) -> None:
    assert field_changes(before, shuffled(before, source)) == ()
    paths = [change.path for change in field_changes(before, after)]
    assert [change.path for change in field_changes(shuffled(before, source), after)] == paths
