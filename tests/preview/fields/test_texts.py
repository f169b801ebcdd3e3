"""Texts that hold data: compared as data where they are read safely, and else as texts."""

import copy
import json
from typing import Any

import pytest
import yaml

from components.effects.vocabulary import ABSENT, FieldChange
from components.making.dump import dump, dump_all
from components.site import site_objects
from preview.differences.fields import MAX_LINES, show_path, text_lines
from tests.kit.fields import field_changes
from tests.kit.repository import all_sites
from tests.preview.fields.test_fields import Json, config_map, container, differences, kubeadm


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
        json.dumps({"a": [0] * 250_000}),
        "",
    ],
    ids=range(18),
)
def test_what_is_not_safely_read_is_a_text(text: str) -> None:
    """Neither where only one side is such a text, nor where both are."""
    other = "b: 2\n" + text if not text.startswith("{") else '{"b": 2, ' + text[1:]
    for key in ("x.json", "x.yaml"):
        for after in (other, "b: 1\n"):
            (change,) = field_changes(config_map(**{key: text}), config_map(**{key: after}))
            assert change == FieldChange(("data", key), text, after)


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
    assert show_path(change.path) == "data.inner" + "[ConfigMap/a].data.inner" * 3


@pytest.mark.parametrize("kind", ["KubeadmConfigTemplate", "KubeadmControlPlane"])
def test_files_of_machines_hold_data(kind: str) -> None:
    def files(content: str) -> Json:
        return kubeadm(kind, files=[{"path": "/x.conf"}, {"path": "/a", "content": content}])

    (change,) = field_changes(files(dump(NET)), files(dump(NEW_NET)))
    assert show_path(change.path).endswith("files[/a].content.Backend.Type")
    (change,) = field_changes(files("[a]\nb = 1\n"), files("[a]\nb = 2\n"))
    assert show_path(change.path).endswith("files[/a].content")


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
    assert changed.endswith("].content[Pod/kube-system/kube-vip].spec.containers[kube-vip].image")


def test_secrets_are_no_data() -> None:
    def secret(text: str) -> Json:
        return {"apiVersion": "v1", "kind": "Secret", "stringData": {"a.json": text}}

    assert list(differences(secret('{"a": 1}'), secret('{"a": 2}'))) == ["stringData[a.json]"]


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


# --- lists of known files ---
def endpoint(name: str, address: str = "10.0.0.1") -> Json:
    return {
        "metadata": {"filter_metadata": {"envoy.lb": {"hash_key": name}}},
        "endpoint": {"address": {"socket_address": {"address": address, "port_value": 1}}},
    }


def endpoints(**zones: list[Json]) -> str:
    groups = [
        {"locality": {"region": "r", "zone": zone}, "lb_endpoints": found}
        for zone, found in zones.items()
    ]
    kind = "type.googleapis.com/envoy.config.endpoint.v3.ClusterLoadAssignment"
    return json.dumps(
        {"resources": [{"@type": kind, "cluster_name": "cache", "endpoints": groups}]}
    )


HOSTS = "[endpoints.json].resources[cache].endpoints"
AT = "lb_endpoints[n-2].endpoint.address.socket_address.address"


@pytest.mark.parametrize(
    ("before", "after", "changed"),
    [
        (
            endpoints(a=[endpoint("n-1"), endpoint("n-2"), endpoint("n-3")]),
            endpoints(a=[endpoint("n-1"), endpoint("n-3")]),
            {f"{HOSTS}[r/a].lb_endpoints[n-2]": (endpoint("n-2"), ABSENT)},
        ),
        (
            endpoints(a=[endpoint("n-1"), endpoint("n-2")]),
            endpoints(a=[endpoint("n-0"), endpoint("n-1"), endpoint("n-2", "10.0.0.9")]),
            {
                f"{HOSTS}[r/a].{AT}": ("10.0.0.1", "10.0.0.9"),
                f"{HOSTS}[r/a].lb_endpoints[n-0]": (ABSENT, endpoint("n-0")),
            },
        ),
        (
            endpoints(a=[endpoint("n-1"), endpoint("n-2")], b=[]),
            endpoints(a=[endpoint("n-1")], b=[endpoint("n-2")]),
            {
                f"{HOSTS}[r/a].lb_endpoints[n-2]": (endpoint("n-2"), ABSENT),
                f"{HOSTS}[r/b].lb_endpoints[n-2]": (ABSENT, endpoint("n-2")),
            },
        ),
    ],
)
def test_hosts_of_a_cache_are_known_by_name(
    before: str, after: str, changed: dict[str, tuple[Any, Any]]
) -> None:
    sides = (config_map(**{"endpoints.json": text}) for text in (before, after))
    assert {k.removeprefix("data"): v for k, v in differences(*sides).items()} == changed


def test_hosts_of_one_name_are_known_by_their_place() -> None:
    """Two endpoints of one key cannot be told apart by it."""
    before = endpoints(a=[endpoint("n-1"), endpoint("n-1", "10.0.0.2")])
    after = endpoints(a=[endpoint("n-1"), endpoint("n-1", "10.0.0.3")])
    sides = (config_map(**{"endpoints.json": text}) for text in (before, after))
    (path,) = differences(*sides)
    assert "lb_endpoints[1]" in path


@pytest.mark.parametrize(
    ("key", "before", "after", "path"),
    [
        (
            "buckets.json",
            {"Bucket": [{"Name": "a", "BucketQuota": "1Gi"}, {"Name": "b", "BucketQuota": "1Gi"}]},
            {"Bucket": [{"Name": "b", "BucketQuota": "2Gi"}, {"Name": "a", "BucketQuota": "1Gi"}]},
            "[buckets.json].Bucket[b].BucketQuota",
        ),
        (
            "envoy.json",
            {"static_resources": {"clusters": [{"name": "x"}, {"name": "y", "timeout": "1s"}]}},
            {"static_resources": {"clusters": [{"name": "y", "timeout": "2s"}, {"name": "x"}]}},
            "[envoy.json].static_resources.clusters[y].timeout",
        ),
    ],
)
def test_lists_of_known_files_have_keys(key: str, before: Json, after: Json, path: str) -> None:
    sides = (config_map(**{key: json.dumps(each)}) for each in (before, after))
    assert list(differences(*sides)) == [f"data{path}"]
