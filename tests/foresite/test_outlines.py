"""Hosts of one outline are judged by a blank one, as each would be."""

import copy
import functools
import json
import re
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import Any
from unittest import mock

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bench import fleet
from components.making.dump import dump_all
from components.making.manifest import Manifest
from components.making.validation import object_problems
from components.site import site_objects
from foresite.commands.check import all_problems, examine
from foresite.commands.render import files_of
from policies.judge import findings
from policies.memo import memoize
from policies.rule import Found, Object, ObjectRule, Severity
from policies.rules import RULES
from schemas.facts.site import Site
from schemas.kubernetes.outline import LEAVES, Blank, Leaf, LeafRead, blank, filled, outline
from schemas.kubernetes.secret_scan import is_secret_name
from schemas.load import load_site
from tests.kit.good_objects import changed, nodes
from tests.kit.repository import FLEET

READERS = ("policies.judge", "policies.memo", "policies.rules.secrets")
"""Whoever takes the short way."""
HOSTILE = (
    *("", "a" * 64, "a" * 201, "-a", "A_b", "a\n", "a\nb", "%s%d", "leaf0", "kube-system", "yes"),
    *(
        "12:30",
        "1e3",
        "ümläut",
        "\ud800",
        "AKIA" + "ABCDEFGHIJKLMNOP",
        "glpat-" + "abcdefghij0123456789",
    ),
    *("a1b2c3.abcdefgh01234567", "LS0tLS1CRUdJTiBSU0EgUFJJVkFURSBLRVktLS0tLQo="),
    *("https://user:password1@10.0.0.1/", "redfish://10.0.0.1/?token=abcdefghijkl"),
    *("apiVersion: v1\nkind: Secret\ndata: {a: b}\n", "apiVersionkind", '"image":', "token:"),
    *(None, 7, True, 1.5, ["a"], {"containers": [{"image": "a"}]}),
)
"""Leaves of which most are wrong somewhere."""
EXTRA: tuple[tuple[tuple[str, ...], Any], ...] = (
    (("spec", "unknown"), 1),
    (("spec", "online"), 1),
    (("spec", "rootDeviceHints"), {"minSizeGigabytes": "12"}),
    (("spec", "password"), "correct-horse-battery"),
    (("spec", "image"), {"url": "http://a/b"}),
    (("metadata", "namespace"), "default"),
    (("metadata", "labels", "foresite.dev/site"), "elsewhere"),
    (("metadata", "labels", "bad key"), "a"),
    (("metadata", "annotations", "argocd.argoproj.io/sync-options"), "Replace=true"),
    (("metadata", "annotations", "note"), "a" * 300_000),
    (("metadata", "annotations", "note"), "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}"),
    (("metadata", "labels"), None),
    (("metadata", "annotations"), ["a"]),
    (("spec", "bmc"), "redfish://10.0.0.1"),
    (("spec",), None),
    (("spec", "template"), {"spec": {"containers": [{"name": "a", "image": "busybox"}]}}),
)
"""Changes of what hosts have in common."""


@contextmanager
def the_long_way() -> Iterator[None]:
    with ExitStack() as stack:
        for module in READERS:
            stack.enter_context(mock.patch(f"{module}.outline", return_value=None))
        yield


@functools.cache
def site() -> Site:
    found = load_site(FLEET, "tokyo-1").site
    assert found is not None
    return found


@functools.cache
def made() -> tuple[Manifest, ...]:
    return tuple(site_objects(site())["machines"])


def hosts() -> list[Manifest]:
    return [each for each in made() if each.kind == "BareMetalHost"]


def put(body: dict[str, Any], path: tuple[str, ...], value: Any) -> None:
    parent: Any = body
    for step in path[:-1]:
        parent = parent.get(step)
        if not isinstance(parent, dict):
            return
    parent[path[-1]] = value


@st.composite
def bodies(draw: st.DrawFn) -> list[dict[str, Any]]:
    """A few hosts: like one another, but for leaves that may be wrong and now and then more."""
    shapes = [hosts()[index].body for index in (0, 60)]
    words = st.from_regex(r"[\w:/.@+-]{1,70}", fullmatch=True)
    every = []
    for _ in range(draw(st.integers(2, 6))):
        body = copy.deepcopy(draw(st.sampled_from(shapes)))
        alike = outline(body)
        assert alike is not None
        leaves = list[Any](alike.leaves)
        for index in draw(st.sets(st.integers(0, LEAVES - 1), max_size=4)):
            leaves[index] = draw(st.one_of(words, words, st.sampled_from(HOSTILE)))
        body = filled(body, tuple(leaves))
        if draw(st.integers(0, 3)) == 0:
            put(body, *copy.deepcopy(draw(st.sampled_from(EXTRA))))
        every.append(body)
    return every


def told(every: list[Manifest]) -> tuple[Any, ...]:
    """Findings, faults and text of some objects, in which nothing is known from before."""
    fresh = [each._replace(body=copy.deepcopy(each.body)) for each in every]
    objects = [Object(each.target.value, each.body) for each in fresh]
    numbers = {id(each): number for number, each in enumerate(objects)}
    found = [
        (each.rule.name, numbers[id(each.object)], each.found) for each in findings(objects, RULES)
    ]
    try:
        wrong = object_problems(site(), {"machines": fresh})
    except (KeyError, TypeError, AttributeError):
        wrong = []  # metadata that no component makes
    return found, wrong, dump_all([each.body for each in fresh])


@settings(max_examples=150)
@given(bodies())
def test_the_short_way_and_the_long_way_agree(every: list[dict[str, Any]]) -> None:
    """Findings with their objects and places, faults and bytes are the same."""
    some = [each for each in made() if each.kind in ("Cluster", "IPPool", "Namespace")]
    manifests = [*some, *(Manifest(f"host-{n}", body) for n, body in enumerate(every))]
    short = told(manifests)
    with the_long_way():
        assert told(manifests) == short


@settings(max_examples=8)
@given(
    st.integers(fleet.SMALLEST, 60),
    st.sets(st.integers(0, 20), max_size=3),
    st.sampled_from(["AKIA" + "ABCDEFGHIJKLMNOP", "x" * 64, "apiVersionkind", "EX-1"]),
)
def test_sites_are_checked_and_rendered_alike(
    tmp_path_factory: pytest.TempPathFactory, size: int, lines: set[int], serial: str
) -> None:
    """Whatever stands in some lines of a host list: problems with their places, files as bytes."""
    root = tmp_path_factory.mktemp("fleet")
    (name,) = fleet.make(root / "one", 1, size)
    file = root / "one" / "sites" / f"{name}.hosts.csv"
    rows = file.read_text(encoding="utf-8").splitlines()
    for number in lines:
        rows[number + 1] = f"{rows[number + 1].rpartition(',')[0]},{serial}{number}"
    if lines and serial.startswith("AKIA"):
        rows[min(lines) + 1] = f"{rows[min(lines) + 1].rpartition(',')[0]},{serial}"
    file.write_text("\n".join(rows) + "\n", encoding="utf-8")
    loaded = load_site(root / "one", name)
    short = all_problems(loaded, root / "one")
    if lines and serial.startswith("AKIA"):
        assert min(lines) + 2 in {each.line for each in short}
    with the_long_way():
        assert all_problems(loaded, root / "one") == short
    if loaded.site is not None:
        objects = site_objects(loaded.site)
        files, said = files_of(loaded.site, objects), examine(loaded.site, objects)
        with the_long_way():
            objects = site_objects(loaded.site)
            assert files_of(loaded.site, objects) == files
            assert examine(loaded.site, objects) == said


def test_hosts_of_a_site_share_few_outlines() -> None:
    """All hosts have one; there is one for each pool in each zone."""
    found = [outline(each.body) for each in hosts()]
    assert None not in found
    shapes = {(host.pool, host.zone) for host in site().hosts}
    assert len({each.key for each in found if each is not None}) == len(shapes)


def test_no_leaf_stands_beside_the_name_of_a_secret() -> None:
    body = filled(hosts()[0].body, tuple(f"leaf-{index}" for index in range(LEAVES)))
    keys = [path[-1] for path, value in nodes(body) if str(value).startswith("leaf-")]
    assert len(keys) == LEAVES
    assert not any(is_secret_name(str(key)) for key in keys)


READS = (
    lambda leaf: leaf == "a",
    lambda leaf: leaf in {"a", "b"},
    lambda leaf: leaf in ["a", "b"],
    lambda leaf: "a" in leaf,
    lambda leaf: leaf.startswith("a"),
    lambda leaf: isinstance(leaf, str),
    "{}".format,
    str,
    lambda leaf: leaf or "",
    len,
    lambda leaf: leaf + "a",
    lambda leaf: "".join(iter([leaf])),
    lambda leaf: sorted([leaf, "a"]),
    re.compile("a").match,
    json.dumps,
)
"""How a rule may look at a text."""


@pytest.mark.parametrize("read", READS)
def test_a_rule_that_reads_a_leaf_judges_each_host(
    read: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its author does not have to know of outlines: a new rule is never skipped by mistake."""
    judged: list[Any] = []

    def look(each: Object) -> Iterator[Found]:
        if each.kind == "BareMetalHost":
            read(each.body["metadata"]["annotations"]["foresite.dev/serial"])
            judged.append(each.name)
        yield from ()

    rule = ObjectRule("reads", Severity.MANDATORY, "what", "why", "source", look)
    monkeypatch.setattr("policies.judge._OURS", frozenset({rule}))
    assert not list(findings([Object("management", each.body) for each in hosts()], [rule]))
    assert len(judged) == len(hosts())


def test_a_rule_that_reads_no_leaf_is_judged_once_an_outline(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    judged: list[Object] = []

    def look(each: Object) -> Iterator[Found]:
        judged.append(each)
        if each.namespace == "elsewhere":
            yield Found("metadata.namespace", "wrong", "another")

    rule = ObjectRule("reads-not", Severity.MANDATORY, "what", "why", "source", look)
    objects = [Object("management", each.body) for each in hosts()]
    assert not list(findings(objects, [rule]))
    assert len(judged) == len(hosts()), "a site's own rule judges each"
    judged.clear()
    monkeypatch.setattr("policies.judge._OURS", frozenset({rule}))
    assert not list(findings(objects, [rule]))
    assert len(judged) < len(hosts()) / 4
    assert all(isinstance(each.body, Blank) for each in judged)
    wrong = copy.deepcopy(hosts()[7].body)
    wrong["metadata"]["namespace"] = "elsewhere"
    (found,) = findings([*objects[:7], Object("management", wrong), *objects[8:]], [rule])
    assert found.object.body is wrong


def test_what_is_remembered_of_an_outline_is_that_nothing_is_found() -> None:
    asked: list[Any] = []

    @memoize
    def words(body: dict[str, Any]) -> tuple[str, ...]:
        asked.append(body)
        return ("yes",) if "image" in body["spec"] else ()

    assert [words(each.body) for each in hosts()] == [()] * len(hosts())
    assert len(asked) < len(hosts()) / 4
    other = changed(hosts()[3].body, ("spec", "image"), {})
    assert words(other) == ("yes",)


def test_leaves_of_a_blank_object_cannot_be_read() -> None:
    leaf = blank(hosts()[0].body)["metadata"]["name"]
    assert type(leaf) is Leaf
    for look in (str, repr, bool, hash, format, lambda each: each == "a", lambda each: each.upper):
        with pytest.raises(LeafRead):
            look(leaf)
