"""Effects of changes to the pod network on the hosts of tokyo-1, whichever way its manifests
take."""

from collections.abc import Iterator
from typing import Any

import pytest

from components.effects.kubernetes import RULES as KUBERNETES
from components.effects.rules import judge_object
from components.effects.vocabulary import (
    ABSENT,
    Action,
    Effect,
    FieldChange,
    Impact,
    Name,
    ObjectChange,
    Side,
    SiteChange,
)
from components.machines.fleet import side_of
from components.making.manifest import Manifest, Target
from components.pod_network.effects import RULES
from components.pod_network.objects import COMPONENT, objects
from schemas.facts.site import Site
from schemas.kubernetes.manifests import read_manifests
from schemas.kubernetes.objects import strict_schema
from schemas.model.vocabulary import PodNetworkInstall
from tests.kit.effects_cases import EVERY, MOST, Said, at, fields, in_all, of, said, tokyo
from tests.kit.effects_rows import nothing, restart, unknown

CONFIG: Name = (COMPONENT, "ConfigMap/pod-network")
SET: Name = (COMPONENT, "ClusterResourceSet/pod-network")
AGENT: Name = (COMPONENT, "DaemonSet/kube-flannel/flannel")
INNER: Name = (COMPONENT, "ConfigMap/kube-flannel/flannel")
DIRECT = PodNetworkInstall.DIRECT
THROUGH = PodNetworkInstall.CLUSTER_RESOURCE_SET
FILE = tokyo().file.cluster.pod_network.manifests
TEXT = tokyo().texts[FILE]
"""Flannel; its pods tolerate all taints, so they run on every host."""

Edit = tuple[tuple[str, str], ...]
"""Texts of the file, and what stands there afterwards."""
IMAGE: Edit = (("flannel:v0.28.4@", "flannel:v0.28.5@"),)
BACKEND: Edit = (('"Type": "vxlan"', '"Type": "host-gw"'),)
SELECTOR: Edit = (("app.kubernetes.io/name: flannel", "app.kubernetes.io/name: other"),)
NODES = "      hostNetwork: true\n"
ONE_POOL: Edit = ((NODES, f"{NODES}      nodeSelector: {{node.cluster.x-k8s.io/pool: cpu}}\n"),)
PODS = "    metadata:\n"
HASHED: Edit = ((PODS, f"{PODS}      annotations: {{hash: a}}\n"),)
NAMED = "kind: DaemonSet\nmetadata:\n  name: flannel\n"
RENAMED: Edit = ((NAMED, NAMED.replace("flannel", "other")),)
FEWER_RIGHTS: Edit = (("verbs: [get, list, watch]", "verbs: [get]"),)
SPOKEN: Edit = (("# The pod network", "# The network"),)
SWAPPED: Edit = (("NET_ADMIN, NET_RAW", "NET_RAW, NET_ADMIN"),)
LAST = TEXT.splitlines(keepends=True)[-1]
OTHER_KIND = "---\napiVersion: example.com/v1\nkind: Thing\nmetadata: {name: a}\n"
THING: Edit = ((LAST, f"{LAST}{OTHER_KIND}"),)


def edited(edit: Edit, text: str = TEXT) -> str:
    for old, new in edit:
        assert old in text
        text = text.replace(old, new)
    return text


def network(text: str = TEXT, install: PodNetworkInstall = THROUGH, **cluster: Any) -> Site:
    chosen = tokyo().file.cluster.pod_network.model_copy(update={"install": install})
    site = tokyo(pod_network=chosen, **cluster)
    return of(site, texts={**site.texts, FILE: text})


def side(site: Site) -> Side:
    return side_of(site, {(COMPONENT, each.name): each for each in objects(site)})


def differing(before: Manifest, after: Manifest) -> Iterator[FieldChange]:
    """The fields that differ; of the manifests in a ConfigMap those of each object."""
    if before.kind != "ConfigMap" or before.target is not Target.MANAGEMENT:
        yield from fields(before.body, after.body)
        return
    (key, old), (_, new) = (next(iter(each.body["data"].items())) for each in (before, after))
    inner = list(fields(named(old), named(new)))
    for each in inner:
        yield each._replace(path=("data", key, *each.path))
    if old != new and not inner:
        yield FieldChange(("data", key), old, new)


def named(text: str) -> dict[str, Any]:
    found = {}
    for each in read_manifests(text):
        metadata = each["metadata"]
        parts = (each["kind"], metadata.get("namespace"), metadata["name"])
        found["/".join(part for part in parts if part)] = each
    return found


def change(before: Site | None, after: Site) -> SiteChange:
    sides = (side(before) if before else None, side(after))
    old = sides[0].objects if sides[0] else {}
    changes = {}
    for name in dict.fromkeys((*sides[1].objects, *old)):
        mine, theirs = old.get(name), sides[1].objects.get(name)
        if mine != theirs:
            found = tuple(differing(mine, theirs)) if mine and theirs else ()
            changes[name] = ObjectChange(COMPONENT, mine, theirs, found)
    return SiteChange("tokyo-1", *sides, changes)


def effects(site: SiteChange, name: Name) -> list[Effect]:
    return judge_object(RULES, site, site.changes[name])


# --- through Cluster API ---

ALL_HOSTS = restart(EVERY, MOST)


@pytest.mark.parametrize(
    ("edit", "expected"),
    [
        (IMAGE, {ALL_HOSTS}),
        (HASHED, {ALL_HOSTS}),
        # From every host to one pool: there they restart, elsewhere they go.
        (ONE_POOL, {restart("cpu"), restart("control v100 a100 h100", 251)}),
        # The API server refuses another selector, and Cluster API goes on with the rest.
        (SELECTOR, {nothing()}),
        (BACKEND, {nothing()}),
        ((*BACKEND, *IMAGE), {nothing(), ALL_HOSTS}),
        # What the file no longer has stays, so the pods of both run.
        (RENAMED, {nothing(Action.LEFT), ALL_HOSTS}),
        (FEWER_RIGHTS, {unknown()}),
        (SPOKEN, {nothing()}),
        (THING, {unknown()}),
    ],
)
def test_each_object_of_the_file_is_judged(edit: Edit, expected: set[Said]) -> None:
    site = change(network(), network(edited(edit)))
    first, *found = effects(site, CONFIG)
    assert said(site, [first]) == {nothing()}
    assert said(site, found) == expected
    assert {each.name for each in found} == {CONFIG}
    assert all(each.path[:2] == ("data", "manifests.yaml") for each in found)


def test_an_effect_says_which_object_and_field_it_is_of() -> None:
    site = change(network(), network(edited(IMAGE)))
    found = in_all(site, effects(site, CONFIG))
    (agent,) = [each for each in found if "containers" in each.path]
    where = ("data", "manifests.yaml", "DaemonSet/kube-flannel/flannel")
    assert agent.path == (*where, *at("spec.template.spec.containers.flannel.image"))
    assert "DaemonSet kube-flannel/flannel" in agent.why


def test_content_that_the_agent_restarts_for_is_judged_with_it() -> None:
    for edit, words in ((BACKEND, "two minutes"), ((*BACKEND, *IMAGE), "judged there")):
        found = effects(change(network(), network(edited(edit))), CONFIG)
        assert [words in each.why for each in found if "net-conf.json" in each.path] == [True]


def test_lists_in_another_order_are_no_mere_form() -> None:
    """Whoever compares may say that only the text differs; an API server keeps the order, and a
    DaemonSet whose template differs in it makes new pods."""
    texts = (TEXT, edited(SWAPPED))
    site = change(network(texts[0]), network(texts[1]))
    whole = FieldChange(("data", "manifests.yaml"), *texts)
    config = site.changes[CONFIG]._replace(fields=(whole,))
    site = SiteChange(site.name, site.before, site.after, {CONFIG: config})
    _, *found = effects(site, CONFIG)
    assert said(site, found) == {ALL_HOSTS}


@pytest.mark.parametrize(
    "path",
    [
        ("data", "manifests.yaml", 0, "spec"),
        ("data", "manifests.yaml", "DaemonSet/elsewhere/none", "spec"),
        ("data", "manifests.yaml"),
        ("data",),
    ],
)
def test_what_cannot_be_told_apart_is_unknown(path: tuple[str | int, ...]) -> None:
    site = change(network(), network(edited(IMAGE)))
    config = site.changes[CONFIG]._replace(fields=(FieldChange(path, ABSENT, "a"),))
    site = SiteChange(site.name, site.before, site.after, {CONFIG: config})
    assert unknown() in said(site, effects(site, CONFIG))


@pytest.mark.parametrize(
    ("path", "value", "expected"),
    [
        ("spec.clusterSelector.matchLabels", {"a": "b"}, nothing(Action.REFUSED)),
        ("spec.strategy", "ApplyOnce", nothing(Action.REFUSED)),
        ("spec.resources", [], nothing()),
        ("metadata.labels.a", "b", nothing()),
        ("spec.later", 1, unknown()),
    ],
)
def test_a_resource_set_is_changed_or_refused(path: str, value: Any, expected: Said) -> None:
    """Cluster API 1.13, internal/webhooks/clusterresourceset.go."""
    both = side(network())
    one = both.objects[SET]
    edit = FieldChange(at(path), ABSENT, value)
    site = SiteChange("tokyo-1", both, both, {SET: ObjectChange(COMPONENT, one, one, (edit,))})
    assert said(site, effects(site, SET)) == {expected}


def test_rules_of_resource_sets_judge_fields_that_there_are() -> None:
    schema = strict_schema("addons.cluster.x-k8s.io/v1beta2", "ClusterResourceSet")
    for rule in RULES:
        if rule.kind != "ClusterResourceSet.addons.cluster.x-k8s.io":
            continue
        inner = schema
        for step in rule.path:
            if "$ref" in inner:
                inner = schema["definitions"][inner["$ref"].rpartition("/")[2]]
            inner = inner["properties"][step]


# --- registered directly ---


@pytest.mark.parametrize(
    ("edit", "name", "expected"),
    [
        (IMAGE, AGENT, {ALL_HOSTS}),
        (BACKEND, INNER, {nothing()}),
        # Pulumi would make it anew, and it is protected.
        (SELECTOR, AGENT, {nothing(Action.REFUSED)}),
        (RENAMED, AGENT, {nothing(Action.REFUSED)}),
        (RENAMED, (COMPONENT, "DaemonSet/kube-flannel/other"), {ALL_HOSTS}),
        (FEWER_RIGHTS, (COMPONENT, "ClusterRole/flannel"), {unknown()}),
    ],
)
def test_direct_objects_are_protected(edit: Edit, name: Name, expected: set[Said]) -> None:
    site = change(network(install=DIRECT), network(edited(edit), DIRECT))
    assert said(site, effects(site, name)) == expected


def test_direct_objects_wait_for_their_cluster() -> None:
    sites = [network(text, DIRECT, context=None) for text in (TEXT, edited(IMAGE))]
    site = change(sites[0], sites[1])
    assert said(site, effects(site, AGENT)) == {nothing()}


def test_a_new_site_restarts_nothing() -> None:
    for install in PodNetworkInstall:
        site = change(None, network(install=install))
        for name in site.changes:
            assert said(site, effects(site, name)) == {nothing()}


# --- from one way to the other ---


def test_objects_that_cluster_api_applied_are_taken_over() -> None:
    site = change(network(), network(install=DIRECT))
    assert len(site.changes) > 2
    for name in site.changes:
        action = Action.DELETED if name in (CONFIG, SET) else None
        found = effects(site, name)
        assert said(site, found) == {nothing(action)}
        assert "taken over" in found[0].why or "stays" in found[0].why


def test_taking_over_and_changing_at_once_says_that_it_stops() -> None:
    site = change(network(), network(edited((*IMAGE, *BACKEND)), DIRECT))
    for name, expected in ((AGENT, {nothing(), ALL_HOSTS}), (INNER, {nothing()})):
        found = effects(site, name)
        assert said(site, found) == expected
        assert "stops" in found[0].why
    assert "judged there" in effects(site, INNER)[1].why


def test_direct_objects_are_not_given_back() -> None:
    """Pulumi refuses to let go of them; Cluster API would apply the same."""
    site = change(network(install=DIRECT), network())
    for name in site.changes:
        refused = Action.REFUSED if name not in (CONFIG, SET) else None
        assert said(site, effects(site, name)) == {nothing(refused)}
    changed = change(network(install=DIRECT), network(edited(IMAGE)))
    assert ALL_HOSTS in said(changed, effects(changed, CONFIG))


def test_other_kinds_are_judged_as_everywhere() -> None:
    """Rules of this component come first, so it has one for each that Kubernetes' kinds have."""
    mine = {(rule.kind, rule.path, rule.whole) for rule in RULES}
    assert mine >= {(rule.kind, rule.path, rule.whole) for rule in KUBERNETES}
    assert len(mine) == len(RULES)


def test_it_says_what_is_not_known_of_traffic() -> None:
    for install in PodNetworkInstall:
        site = change(network(install=install), network(edited(IMAGE), install))
        found = [each for name in site.changes for each in effects(site, name)]
        restarts = [each for each in found if each.impact is Impact.POD_RESTART]
        assert restarts
        assert all("network meanwhile" in each.why for each in restarts)
