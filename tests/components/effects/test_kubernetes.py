"""Verdicts of the rules of Kubernetes' own kinds on changes to tokyo-1, row by row."""

import functools
import json
from collections.abc import Iterator
from pathlib import Path as FilePath
from typing import Any, NamedTuple

import kubernetes_validate  # type: ignore[import-untyped]
import pytest

from components.effects import placement
from components.effects.applying import Applier, Kind
from components.effects.kubernetes import HOLDS_DATA, KINDS, RULES, rules_for
from components.effects.networks import NETWORKS
from components.effects.placement import Fit, fits, running, tolerating
from components.effects.rules import find, find_whole
from components.effects.vocabulary import ABSENT, Action, Effect, Impact, Path, Side
from components.machines.bootstrap import machine_labels, registration
from components.machines.fleet import from_site, side_of
from components.making.manifest import Json
from schemas.kubernetes.objects import strict_schema
from schemas.kubernetes.objects.store import kinds as stored_kinds
from schemas.model.site_file import Taint
from tests.kit.effects_cases import (
    EVERY,
    MOST_OPEN,
    NOTHING,
    OPEN,
    Edits,
    Said,
    Wrap,
    at,
    body,
    change_of,
    effects,
    in_all,
    of,
    pools,
    said,
    tokyo,
    with_pool,
)
from tests.kit.effects_rows import (
    ANYWHERE,
    CONTROL,
    DAEMON_SETS,
    GENERATION,
    IMAGE,
    MANAGEMENT,
    MERGED,
    NEW_CONTENT,
    OTHERS,
    POOL,
    PROTECTED,
    RESERVED,
    SPEC,
    TOLERANT,
    WORKLOADS,
    Row,
    affinity,
    asks,
    nothing,
    restart,
    unknown,
)
from tests.kit.repository import all_sites


# --- where pods run ---
def hosts_of_pods(side: Side, pod_spec: Json) -> tuple[str, ...]:
    """The hosts that pods of a spec run on or may run on, in the order of the host list."""
    return tuple(name for name, fit in fits(side, pod_spec).items() if fit is not Fit.NO)


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        ({}, OPEN),
        (ANYWHERE, EVERY),
        ({"tolerations": [{**CONTROL, "operator": "Exists"}]}, f"control {OPEN}"),
        ({"tolerations": [CONTROL]}, f"control {OPEN}"),
        ({"tolerations": [RESERVED]}, f"{OPEN} h100"),
        ({"tolerations": [{**RESERVED, "value": "other"}]}, OPEN),
        ({"tolerations": [{**RESERVED, "effect": "NoExecute"}]}, OPEN),
        ({"tolerations": [{"key": "example.com/reserved", "operator": "Exists"}]}, f"{OPEN} h100"),
        ({"nodeSelector": {POOL: "cpu"}}, "cpu"),
        ({"nodeSelector": {POOL: "control"}}, ""),
        ({"nodeSelector": {POOL: "control"}, **ANYWHERE}, "control"),
        ({"nodeSelector": {"kubernetes.io/os": "linux"}}, OPEN),
        ({"nodeSelector": {"kubernetes.io/os": "windows"}}, ""),
        ({"nodeSelector": {"topology.kubernetes.io/region": "jp-east"}}, OPEN),
        ({"nodeSelector": {"topology.kubernetes.io/zone": "nowhere"}}, ""),
        ({"nodeSelector": {"node-role.kubernetes.io/control-plane": ""}, **ANYWHERE}, "control"),
        (affinity(asks(POOL, "In", "v100", "h100")), "v100"),
        (affinity(asks(POOL, "NotIn", "v100")), "cpu a100"),
        (affinity(asks(POOL, "In", "cpu"), asks(POOL, "In", "a100")), "cpu a100"),
        (affinity(asks("node-role.kubernetes.io/control-plane", "DoesNotExist")), OPEN),
        (affinity(asks("node-role.kubernetes.io/control-plane", "Exists")), ""),
        (affinity(asks("foresite.dev/nobody-sets-this", "Exists")), ""),
        (affinity({}), ""),
        (affinity(), ""),
        (affinity(asks("generation", "Exists")), "cpu"),
        (affinity(asks("generation", "Gt", "1")), "cpu"),
        (affinity(asks("generation", "Gt", "2")), ""),
        (affinity(asks("generation", "Lt", "3")), "cpu"),
        (affinity(asks("generation", "NotIn", "2")), "v100 a100"),
    ],
)
def test_pods_run_where_the_scheduler_would_put_them(spec: Json, expected: str) -> None:
    """Expected from nodeaffinity.go and toleration.go of Kubernetes 1.34: an absent label satisfies
    NotIn and DoesNotExist alone, terms are alternatives, an empty one selects nothing."""
    site = with_pool(tokyo(), "cpu", labels=GENERATION)
    hosts = hosts_of_pods(side_of(site, {}), spec)
    assert pools(site, Effect(Impact.NONE, ("", ""), (), "", "", hosts)) == expected


def test_pods_find_single_hosts() -> None:
    side = side_of(tokyo(), {})
    name = tokyo().by_pool["cpu"][3].name
    by_field = {"matchFields": [{"key": "metadata.name", "operator": "In", "values": [name]}]}
    for spec in (
        {"nodeName": name},
        {"nodeSelector": {"kubernetes.io/hostname": name}},
        affinity(by_field),
    ):
        assert hosts_of_pods(side, spec) == (name,)
    zone = {"nodeSelector": {"topology.kubernetes.io/zone": "b", POOL: "cpu"}}
    expected = [host.name for host in tokyo().by_pool["cpu"] if host.zone == "b"]
    assert list(hosts_of_pods(side, zone)) == expected


def test_a_label_that_others_set_decides_nothing() -> None:
    """Node feature discovery and operators label nodes as well; what they say is not in Git."""
    side = side_of(tokyo(), {})
    found = fits(side, {"nodeSelector": {"nvidia.com/gpu.present": "true", POOL: "v100"}})
    assert {each.pool for each in tokyo().hosts if found[each.name] is Fit.MAYBE} == {"v100"}
    assert Fit.YES not in found.values()


def test_a_site_without_taints_runs_pods_on_its_control_plane() -> None:
    site = all_sites()["lab-1"]
    assert hosts_of_pods(side_of(site, {}), {}) == tuple(host.name for host in site.hosts)


@pytest.mark.parametrize(
    ("key", "effect", "spec", "runs"),
    [
        ("node.kubernetes.io/unschedulable", "NoSchedule", {}, True),
        ("node.kubernetes.io/not-ready", "NoExecute", {}, True),
        ("node.kubernetes.io/network-unavailable", "NoSchedule", {}, False),
        ("node.kubernetes.io/network-unavailable", "NoSchedule", {"hostNetwork": True}, True),
        ("example.com/other", "NoSchedule", {}, False),
        ("example.com/other", "PreferNoSchedule", {}, True),
    ],
)
def test_pods_of_daemon_sets_tolerate_nodes_in_trouble(
    key: str, effect: str, spec: Json, runs: bool
) -> None:
    """Kubernetes 1.34, AddOrUpdateDaemonPodTolerations."""
    site = with_pool(tokyo(), "cpu", taints=[Taint(key=key, effect=effect)])
    hosts = hosts_of_pods(side_of(site, {}), tolerating(spec))
    assert (site.by_pool["cpu"][0].name in hosts) == runs


def test_spares_run_no_pods() -> None:
    site = tokyo()
    side = side_of(site, {})
    spares = sum(pool.spares for pool in site.file.pools)
    assert spares
    assert running(side, [host.name for host in site.hosts]) == len(site.hosts) - spares
    few = [host.name for host in site.by_pool["v100"][:5]]
    assert running(side, few) == 5


# --- what a changed field does ---


@pytest.mark.parametrize(
    "row",
    [
        pytest.param(row, id=f"{row.kind}: {name}")
        for table in (DAEMON_SETS, WORKLOADS, OTHERS)
        for name, row in table.items()
    ],
)
def test_a_changed_field_does_what_kubernetes_and_pulumi_do(row: Row) -> None:
    before, after = body(row.kind, row.given), body(row.kind, {**row.given, **row.edits})
    site = change_of([(before, after)], row.wrap)
    found = effects(site, row.kind, rules_for(row.by))
    assert said(site, found) == row.expected
    assert all(each.why for each in found)


def test_only_hosts_of_both_sides_get_other_pods() -> None:
    """A host that is new gets its pod as it joins, and one that goes is judged where it goes."""
    old, new = tokyo(), tokyo()
    old = of(old, hosts=old.hosts[:-1])
    new = of(new, hosts=new.hosts[1:])
    both = {host.name for host in old.hosts} & {host.name for host in new.hosts}
    it = body("DaemonSet", TOLERANT)
    for pair in ((it, body("DaemonSet", {**TOLERANT, **IMAGE})), (it, None), (None, it)):
        site = change_of([pair], sites=(old, new))
        (found,) = in_all(site, effects(site, "DaemonSet"))
        assert set(found.hosts) == both


@pytest.mark.parametrize(
    ("strategy", "pace"),
    [
        ({}, "1 at a time"),
        ({"maxUnavailable": 20}, "20 at a time"),
        # Percentages are rounded up: of 398 nodes.
        ({"maxUnavailable": "10%"}, "40 at a time"),
        ({"maxUnavailable": "100%"}, "all at once"),
        ({"maxUnavailable": 1000}, "all at once"),
        ({"maxSurge": 3, "maxUnavailable": 0}, "on 3 at a time"),
    ],
)
def test_a_rollout_says_its_pace(strategy: Json, pace: str) -> None:
    given: Edits = {**TOLERANT, at("spec.updateStrategy.rollingUpdate"): strategy}
    pair = (body("DaemonSet", given), body("DaemonSet", {**given, **IMAGE}))
    site = change_of([pair])
    (found,) = in_all(site, effects(site, "DaemonSet"))
    assert pace in found.why


@pytest.mark.parametrize("value", [None, 0, "x", ["x"], [None], {"x": 0}], ids=str)
@pytest.mark.parametrize(
    ("kind", "path"),
    [
        ("DaemonSet", ("spec",)),
        ("DaemonSet", SPEC),
        ("DaemonSet", (*SPEC, "tolerations")),
        ("DaemonSet", (*SPEC, "nodeSelector")),
        ("DaemonSet", (*SPEC, "affinity")),
        ("Deployment", at("spec.strategy")),
        ("StatefulSet", at("spec.updateStrategy")),
        ("Role", ("rules",)),
        ("Role", ("rules", 0, "verbs")),
        ("RoleBinding", ("subjects",)),
        ("ValidatingAdmissionPolicy", ("spec",)),
        ("CustomResourceDefinition", ("spec",)),
    ],
)
def test_a_value_of_a_wrong_type_is_judged_all_the_same(kind: str, path: Path, value: Any) -> None:
    """Manifests in a ConfigMap are texts to the schemas, so nobody has refused it before."""
    before, after = body(kind), body(kind, {path: value})
    for pair in ((before, after), (after, before)):
        site = change_of([pair])
        assert [each.name for each in effects(site, kind)] != []


# --- what an object's coming and going does ---


class Whole(NamedTuple):
    kind: str
    added: set[Said]
    gone: set[Said]


DELETED = Action.DELETED
REMOVED = (Impact.REMOVE, EVERY, None, DELETED)
WHOLE = [
    Whole("DaemonSet", {restart(OPEN, MOST_OPEN)}, {restart(OPEN, MOST_OPEN, DELETED)}),
    Whole("Deployment", {restart(OPEN, 3)}, {restart(OPEN, 3, DELETED)}),
    Whole("StatefulSet", {restart(OPEN, 4)}, {restart(OPEN, 4, DELETED)}),
    Whole("Job", {restart(OPEN, 2)}, {restart(OPEN, 2, DELETED)}),
    Whole("CronJob", {nothing()}, {restart(OPEN, MOST_OPEN, DELETED)}),
    Whole("Pod", {restart(OPEN, 1)}, {restart(OPEN, 1, DELETED)}),
    Whole("Namespace", {nothing()}, {unknown(DELETED)}),
    Whole("CustomResourceDefinition", {nothing()}, {unknown(DELETED)}),
    Whole("ConfigMap", {nothing()}, {unknown(DELETED)}),
    Whole("Secret", {nothing()}, {unknown(DELETED)}),
    Whole("ServiceAccount", {nothing()}, {unknown(DELETED)}),
    Whole("Role", {nothing()}, {unknown(DELETED)}),
    Whole("RoleBinding", {nothing()}, {unknown(DELETED)}),
    Whole("NetworkPolicy", {unknown()}, {nothing(DELETED)}),
    Whole("ValidatingAdmissionPolicy", {nothing()}, {nothing(DELETED)}),
    *(
        Whole(kind, {nothing()}, {nothing(DELETED)})
        for kind in (
            "Service",
            "PriorityClass",
            "RuntimeClass",
            "ResourceQuota",
            "LimitRange",
            "PodDisruptionBudget",
            "StorageClass",
            "PersistentVolumeClaim",
            "PersistentVolume",
        )
    ),
]


@pytest.mark.parametrize("row", WHOLE, ids=lambda row: row.kind)
def test_an_object_comes_and_goes(row: Whole) -> None:
    it = body(row.kind)
    for pair, expected in (((None, it), row.added), ((it, None), row.gone)):
        site = change_of([pair])
        assert said(site, effects(site, row.kind)) == expected
    protected = change_of([(it, None)], PROTECTED)
    assert said(protected, effects(protected, row.kind)) == {nothing(Action.REFUSED)}
    kept = change_of([(it, None)], Wrap(keep=True))
    assert said(kept, effects(kept, row.kind)) == {nothing(Action.LEFT)}
    merged = change_of([(it, None)])
    found = effects(merged, row.kind, rules_for(MERGED))
    assert said(merged, found) == {nothing(Action.LEFT)}


def test_a_kept_object_stays_beside_the_one_of_another_name() -> None:
    pair = (body("DaemonSet"), body("DaemonSet", name="b"))
    site = change_of([pair], Wrap(keep=True))
    (found,) = in_all(site, effects(site, "DaemonSet"))
    assert said(site, [found]) == {restart(OPEN, MOST_OPEN, Action.REPLACED)}
    assert "stays" in found.why


@pytest.mark.parametrize(
    ("kind", "edits"),
    [
        ("Namespace", {("metadata", "name"): "tokyo-1"}),
        ("CustomResourceDefinition", {at("spec.group"): "metal3.io"}),
        ("CustomResourceDefinition", {at("spec.group"): "infrastructure.cluster.x-k8s.io"}),
    ],
)
def test_what_takes_machines_along_removes_hosts(kind: str, edits: Edits) -> None:
    site = change_of([(body(kind, edits), None)], MANAGEMENT)
    assert said(site, effects(site, kind)) == {REMOVED}


@pytest.mark.parametrize("when", ["whenDeleted", "whenScaled"])
def test_claims_that_go_with_pods_are_named(when: str) -> None:
    policy: Edits = {at("spec.persistentVolumeClaimRetentionPolicy"): {when: "Delete"}}
    it = body("StatefulSet", policy)
    fewer = body("StatefulSet", {**policy, at("spec.replicas"): 1})
    gone = effects(change_of([(it, None)]), "StatefulSet")
    scaled = effects(change_of([(it, fewer)]), "StatefulSet")
    assert ["data" in each.why for each in (*gone, *scaled)] == [
        when == "whenDeleted",
        when == "whenScaled",
    ]


def test_a_priority_class_that_goes_names_who_still_needs_it() -> None:
    needs = body("DaemonSet", {(*SPEC, "priorityClassName"): "a"})
    site = change_of([(body("PriorityClass"), None), (needs, needs)])
    (found,) = effects(site, "PriorityClass")
    assert "DaemonSet impact/a" in found.why


def test_a_binding_is_judged_by_its_policy() -> None:
    spec = {"policyName": "a", "validationActions": ["Deny"]}
    metadata = {"name": "a"}
    api = {"apiVersion": "admissionregistration.k8s.io/v1"}
    binding = {**api, "kind": "ValidatingAdmissionPolicyBinding", "metadata": metadata}
    for policy, expected in ((body("ValidatingAdmissionPolicy"), nothing()), (None, unknown())):
        there = [(policy, policy)] if policy else []
        site = change_of([(None, {**binding, "spec": spec}), *there])
        assert said(site, effects(site, "ValidatingAdmissionPolicyBinding")) == {expected}


def test_a_binding_to_a_policy_that_is_not_ours_is_unknown() -> None:
    bindings = [
        {
            "apiVersion": "admissionregistration.k8s.io/v1",
            "kind": "ValidatingAdmissionPolicyBinding",
            "metadata": {"name": "a"},
            "spec": {"policyName": policy, "validationActions": ["Deny"]},
        }
        for policy in ("a", "elsewhere")
    ]
    policy = body("ValidatingAdmissionPolicy")
    site = change_of([(bindings[0], bindings[1]), (policy, policy)])
    assert said(site, effects(site, "ValidatingAdmissionPolicyBinding")) == {unknown()}


@pytest.mark.parametrize("kind", ["APIService", "Ingress", "Thing"])
def test_a_kind_without_a_rule_is_unknown(kind: str) -> None:
    it = {"apiVersion": "v1", "kind": kind, "metadata": {"name": "a"}, "spec": {"a": 1}}
    for pair in ((None, it), (it, None), (it, {**it, "spec": {"a": 2}})):
        site = change_of([pair])
        assert said(site, effects(site, kind)) == {unknown()}


# --- objects that are not applied (yet) ---


def test_what_comes_with_its_site_restarts_nothing() -> None:
    site = change_of([(None, body("DaemonSet"))], sites=(None, tokyo()))
    assert said(site, effects(site, "DaemonSet")) == {nothing()}


@pytest.mark.parametrize(
    ("contexts", "pair", "wrap", "expected"),
    [
        # No cluster is named: nothing is applied there.
        ((None, None), (None, {}), Wrap(), nothing()),
        ((None, None), ({}, IMAGE), Wrap(), nothing()),
        ((None, None), ({}, IMAGE), PROTECTED, nothing()),
        # It is named no more: Pulumi deletes what it knows there.
        (("a", None), ({}, IMAGE), Wrap(), restart(OPEN, MOST_OPEN, DELETED)),
        (("a", None), ({}, IMAGE), PROTECTED, nothing(Action.REFUSED)),
        (("a", None), ({}, None), PROTECTED, nothing(Action.REFUSED)),
        (("a", None), (None, {}), Wrap(), nothing()),
        ((None, "a"), (None, {}), Wrap(), restart(OPEN, MOST_OPEN)),
    ],
)
def test_objects_follow_the_context_of_their_cluster(
    contexts: tuple[str | None, str | None],
    pair: tuple[Edits | None, Edits | None],
    wrap: Wrap,
    expected: Said,
) -> None:
    """components/shell.py registers the objects of those clusters alone that have a context."""
    bodies = tuple(None if edits is None else body("DaemonSet", edits) for edits in pair)
    sites = (tokyo(context=contexts[0]), tokyo(context=contexts[1]))
    site = change_of([(bodies[0], bodies[1])], wrap, sites)
    assert said(site, effects(site, "DaemonSet")) == {expected}


# --- ConfigMaps and Secrets, and who reads them ---

VOLUMES = (*SPEC, "volumes")
MOUNTS = (*SPEC, "containers", 0, "volumeMounts")
ENV = (*SPEC, "containers", 0, "env")
FROM = (*SPEC, "containers", 0, "envFrom")
WHOLE_MOUNT = [{"name": "v", "mountPath": "/a"}]
READERS: dict[str, tuple[str, Edits, str]] = {
    "volume": (
        "ConfigMap",
        {VOLUMES: [{"name": "v", "configMap": {"name": "a"}}], MOUNTS: WHOLE_MOUNT},
        "two minutes",
    ),
    "projected": (
        "ConfigMap",
        {VOLUMES: [{"name": "v", "projected": {"sources": [{"configMap": {"name": "a"}}]}}]},
        "two minutes",
    ),
    "subPath": (
        "ConfigMap",
        {
            VOLUMES: [{"name": "v", "configMap": {"name": "a"}}],
            MOUNTS: [{**WHOLE_MOUNT[0], "subPath": "a.conf"}],
        },
        "keep the old content",
    ),
    "env": (
        "ConfigMap",
        {ENV: [{"name": "A", "valueFrom": {"configMapKeyRef": {"name": "a", "key": "a.conf"}}}]},
        "keep the old content",
    ),
    "envFrom": ("ConfigMap", {FROM: [{"configMapRef": {"name": "a"}}]}, "keep the old content"),
    "secret volume": (
        "Secret",
        {VOLUMES: [{"name": "v", "secret": {"secretName": "a"}}]},
        "two minutes",
    ),
    "secret env": ("Secret", {FROM: [{"secretRef": {"name": "a"}}]}, "keep the old content"),
    "image pull secret": ("Secret", {(*SPEC, "imagePullSecrets"): [{"name": "a"}]}, "two minutes"),
}
MOUNTED = READERS["volume"][1]


def content(kind: str = "ConfigMap", given: Edits = NOTHING) -> tuple[Json, Json]:
    return body(kind, given), body(kind, {**given, **NEW_CONTENT[kind]})


@pytest.mark.parametrize("name", READERS)
def test_new_content_restarts_nobody_and_says_when_it_is_read(name: str) -> None:
    kind, edits, words = READERS[name]
    reader = body("DaemonSet", edits)
    site = change_of([content(kind), (reader, reader)])
    (found,) = in_all(site, effects(site, kind))
    assert said(site, [found]) == {nothing()}
    assert words in found.why
    assert "DaemonSet impact/a" in found.why


def test_new_content_that_pods_restart_for_is_judged_with_them() -> None:
    """A hash of the content, as an annotation of the pods."""
    hashed = {**MOUNTED, at("spec.template.metadata.annotations.hash"): "2"}
    site = change_of([content(), (body("DaemonSet", MOUNTED), body("DaemonSet", hashed))])
    (found,) = effects(site, "ConfigMap")
    assert "judged there" in found.why
    assert said(site, effects(site, "DaemonSet")) == {restart(OPEN, MOST_OPEN)}


def test_new_content_of_pods_that_come_or_go_with_it_is_judged_with_them() -> None:
    reader = body("DaemonSet", MOUNTED)
    for pair in ((None, reader), (reader, None)):
        (found,) = effects(change_of([content(), pair]), "ConfigMap")
        assert "judged there" in found.why


def test_a_reader_that_changes_elsewhere_does_not_restart() -> None:
    labelled = {**MOUNTED, at("metadata.labels.tier"): "y"}
    site = change_of([content(), (body("DaemonSet", MOUNTED), body("DaemonSet", labelled))])
    (found,) = effects(site, "ConfigMap")
    assert "two minutes" in found.why


@pytest.mark.parametrize(
    "reader",
    [
        None,
        body("DaemonSet"),
        body("DaemonSet", {VOLUMES: [{"name": "v", "configMap": {"name": "other"}}]}),
        {**body("DaemonSet", MOUNTED), "metadata": {"name": "a", "namespace": "elsewhere"}},
    ],
)
def test_content_that_nobody_of_ours_reads_is_unknown(reader: Json | None) -> None:
    pairs = [content(), *([(reader, reader)] if reader else [])]
    site = change_of(pairs)
    assert said(site, effects(site, "ConfigMap")) == {unknown()}


@pytest.mark.parametrize(
    ("by", "wrap", "immutable", "action", "words"),
    [
        (Applier.PULUMI, Wrap(), False, None, "two minutes"),
        # The kubelet stops watching what is immutable (watch_based_manager.go).
        (Applier.PULUMI, Wrap(), True, Action.REPLACED, "keep the old content"),
        (Applier.PULUMI, PROTECTED, False, None, "two minutes"),
        (Applier.PULUMI, PROTECTED, True, Action.REFUSED, "protected"),
        (MERGED, Wrap(), False, None, "two minutes"),
        (MERGED, Wrap(), True, None, "refuses"),
    ],
)
def test_new_content_is_replaced_merged_or_refused(
    by: Applier, wrap: Wrap, immutable: bool, action: Action | None, words: str
) -> None:
    given: Edits = {("immutable",): True} if immutable else {}
    reader = body("DaemonSet", MOUNTED)
    site = change_of([content(given=given), (reader, reader)], wrap)
    (found,) = effects(site, "ConfigMap", rules_for(by))
    assert said(site, [found]) == {nothing(action)}
    assert words in found.why


def test_immutable_is_for_good() -> None:
    for before, after, expected in ((ABSENT, True, nothing()), (True, ABSENT, nothing())):
        pair = tuple(
            body("ConfigMap", {("immutable",): each} if each is True else {})
            for each in (before, after)
        )
        site = change_of([(pair[0], pair[1])])
        (found,) = effects(site, "ConfigMap")
        assert said(site, [found]) == {expected}
        assert ("refuses" in found.why) == (before is True)


def test_content_under_a_new_name() -> None:
    """The content's hash in the name: pods that name the old one still need it to start."""
    renamed = (body("ConfigMap"), body("ConfigMap", NEW_CONTENT["ConfigMap"], name="b"))
    new = {**MOUNTED, VOLUMES: [{"name": "v", "configMap": {"name": "b"}}]}
    for after, words in ((MOUNTED, "still name it"), (new, "no pod")):
        site = change_of([renamed, (body("DaemonSet", MOUNTED), body("DaemonSet", after))])
        found = effects(site, "ConfigMap")
        assert said(site, found) == {nothing(Action.REPLACED), nothing()}
        assert any(words in each.why for each in found)


def test_pods_that_need_what_is_deleted_cannot_start() -> None:
    reader = body("DaemonSet", MOUNTED)
    for after, words in ((reader, "still name it"), (body("DaemonSet"), "any more")):
        site = change_of([(body("ConfigMap"), None), (reader, after)])
        (found,) = effects(site, "ConfigMap")
        assert said(site, [found]) == {nothing(DELETED)}
        assert words in found.why


# --- the rules as a whole ---


def definitions(kind: str) -> Iterator[tuple[Json, Json]]:
    """The schemas of a kind, each with what it refers to: ours, or Kubernetes' own where a
    component makes none of it yet."""
    names = [name for name in stored_kinds() if name.endswith(f"/{kind}")]
    for name in names:
        schema = strict_schema(*name.rsplit("/", 1))
        yield schema, schema["definitions"]
    refers = {} if names else upstream()
    for schema in refers.values():
        identities = schema.get("x-kubernetes-group-version-kind", [])
        if any(each["kind"] == kind and each["version"] == "v1" for each in identities):
            yield schema, refers


@functools.cache
def upstream() -> Json:
    """Kubernetes 1.34's definitions."""
    folder = FilePath(kubernetes_validate.__file__).parent / "kubernetes-json-schema"
    text = (folder / "v1.34.0-local-strict" / "_definitions.json").read_text("utf-8")
    found: Json = json.loads(text)["$defs"]
    return found


def has(schema: Json, refers: Json, path: Path) -> bool:
    """True if objects of a schema have a field."""
    while "$ref" in schema:
        schema = refers[str(schema["$ref"]).rpartition("/")[2]]
    if not path:
        return True
    properties = schema.get("properties") or {}
    step = str(path[0])
    return step in properties and has(properties[step], refers, path[1:])


@pytest.mark.parametrize(
    # Definitions of pod networks' own kinds come with their charts.
    "kind",
    [each for each in KINDS if each not in NETWORKS],
    ids=lambda kind: kind.name,
)
def test_rules_judge_fields_that_there_are(kind: Kind) -> None:
    found = list(definitions(kind.name.partition(".")[0]))
    assert found, "no schema of it"
    for rule in RULES:
        if rule.kind == kind.name:
            cluster_scoped = rule.path == ("metadata", "namespace")
            assert cluster_scoped or any(has(*each, rule.path) for each in found), rule.path


def test_every_kind_is_judged_once() -> None:
    names = [kind.name for kind in KINDS]
    assert len(names) == len(set(names))
    for kind in names:
        assert find_whole(RULES, kind) is not None
        assert find(RULES, kind, ("metadata", "labels", "a")) is not None
    paths = [(rule.kind, rule.path, rule.whole) for rule in RULES]
    assert len(paths) == len(set(paths))


def test_no_rule_judges_a_whole_object_field_by_field() -> None:
    """A field that no rule names has to stay unknown: a rule without a path would judge it as
    well."""
    assert [rule for rule in RULES if not rule.whole and not rule.path] == []


def test_every_kind_that_holds_data_has_a_rule() -> None:
    assert {kind.name for kind in KINDS} >= HOLDS_DATA


def test_labels_that_the_nodes_get_are_those_that_pods_look_for() -> None:
    """Foresite's labels as the machines component writes them for kubelets and Machines."""
    site = tokyo()
    for pool in site.file.pools:
        group = from_site(site).pools[pool.name][0]
        written = {*machine_labels(site, pool), *_argument(registration(site, pool))}
        judged = set(placement.node_labels(group, group.hosts[0]))
        by_others = {"metal3.io/uuid"}
        by_kubernetes = {
            "kubernetes.io/os",
            "kubernetes.io/hostname",
            "node-role.kubernetes.io/control-plane",
        }
        assert written - by_others == judged - by_kubernetes


def _argument(registration: Json) -> list[str]:
    (argument,) = registration["nodeRegistration"]["kubeletExtraArgs"]
    return [each.partition("=")[0] for each in argument["value"].split(",")]
