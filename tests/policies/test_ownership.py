"""Rules of ownership, labels and access: whose an object is, and who else may change it."""

from typing import Any

import pytest

from policies.rule import Object
from policies.rules.ownership import IN_NAMESPACES, PROTECTED, qualified_kind
from schemas.kubernetes.objects.store import kinds
from tests.golden import every_site, objects
from tests.kit.policy_objects import GONE, GOOD, found, good, paths
from tests.kit.policy_sites import KEPT, made

OPTIONS = "argocd.argoproj.io/sync-options"
PRUNE = "kustomize.toolkit.fluxcd.io/prune"
SITE = "foresite.dev/site"


@pytest.mark.parametrize("label", ["app.kubernetes.io/managed-by", SITE, "foresite.dev/component"])
@pytest.mark.parametrize("value", [GONE, "", None])
def test_every_object_says_whose_it_is(label: str, value: Any) -> None:
    each = good("ConfigMap", ("metadata", "labels", label), value)
    assert paths("labels-of-owner", each) == [f'metadata.labels["{label}"]']


def test_all_objects_are_of_one_site() -> None:
    ours = [good("ConfigMap"), good("Service")]
    other = good("Role", ("metadata", "labels", SITE), "osaka-1")
    assert not found("one-site", *ours)
    (one,) = found("one-site", *ours, other)
    assert "osaka-1" in one.message and one.fix == "write tokyo-1"


@pytest.mark.parametrize("kind", ["ConfigMap", "Deployment", "Role", "PodDisruptionBudget"])
def test_what_lives_in_a_namespace_names_it(kind: str) -> None:
    each = good(kind, ("metadata", "namespace"), GONE)
    assert paths("namespace-named", each) == ["metadata.namespace"]
    assert not found("namespace-named", good(kind))


def test_what_lives_in_no_namespace_names_none() -> None:
    assert not found("namespace-named", good("Namespace"), good("NodeOperationTemplate"))


def test_the_kinds_in_namespaces_are_those_of_the_schemas() -> None:
    scopes = {}
    for name, kind in kinds().items():
        api, _, plain = name.rpartition("/")
        group = api.rpartition("/")[0]
        scopes[f"{group}/{plain}"] = kind.scope
    assert not [name for name in IN_NAMESPACES if scopes.get(name, "Namespaced") != "Namespaced"]
    used = {
        qualified_kind(Object("site", each.body))
        for s in every_site().values()
        for each in objects(s)
    }
    assert {name for name in used if scopes[name] == "Namespaced"} <= IN_NAMESPACES


CLUSTER = made("cluster.x-k8s.io/v1beta2", "Cluster", "management", metadata={"annotations": KEPT})


def host(**annotations: str) -> Object:
    return made(
        "metal3.io/v1alpha1", "BareMetalHost", "management", metadata={"annotations": annotations}
    )


@pytest.mark.parametrize(
    ("annotations", "missing"),
    [
        (KEPT, []),
        (KEPT | {OPTIONS: "ServerSideApply=true, Prune=false,Delete=false"}, []),
        (KEPT | {OPTIONS: "Prune=false"}, [OPTIONS]),
        (KEPT | {PRUNE: "enabled"}, [PRUNE]),
        ({}, [OPTIONS, PRUNE]),
    ],
)
def test_hosts_are_kept_by_what_deploys_from_git(annotations: Any, missing: list[str]) -> None:
    where = [f'metadata.annotations["{name}"]' for name in missing]
    assert paths("protected-from-pruning", CLUSTER, host(**annotations)) == where
    # Of a site without its Cluster all is free to go.
    assert not found("protected-from-pruning", host(**annotations))


def test_what_foresite_protects_is_what_the_rule_is_about() -> None:
    for site in every_site().values():
        for each in objects(site):
            if qualified_kind(Object("site", each.body)) in PROTECTED:
                assert each.protect or each.keep, each.title


@pytest.mark.parametrize(
    ("name", "value", "bad"),
    [
        ("pulumi.com/patchForce", "true", True),
        ("pulumi.com/patchForce", "false", False),
        ("kustomize.toolkit.fluxcd.io/force", "enabled", True),
        (OPTIONS, "Force=true", True),
        (OPTIONS, "Prune=false,Replace=true", True),
        (OPTIONS, "ServerSideApply=true", False),
        ("pulumi.com/patchFieldManager", "foresite", False),
    ],
)
def test_nothing_is_taken_from_its_other_owner(name: str, value: str, bad: bool) -> None:
    each = good("ConfigMap", ("metadata", "annotations"), {name: value})
    assert paths("no-forced-ownership", each) == [f'metadata.annotations["{name}"]'] * bad


def role(kind: str = "ClusterRole", **rule: Any) -> Object:
    whole = {"apiGroups": [""], "resources": ["configmaps"], "verbs": ["get"], **rule}
    return made("rbac.authorization.k8s.io/v1", kind, rules=[whole])


ACCESS = ("roles-without-wildcards", "roles-without-escalation", "secrets-of-one-namespace")


@pytest.mark.parametrize(
    ("rule", "each", "field"),
    [
        ("roles-without-wildcards", role(verbs=["*"]), "verbs"),
        ("roles-without-wildcards", role(resources=["*"]), "resources"),
        ("roles-without-wildcards", role(apiGroups=["*"]), "apiGroups"),
        ("roles-without-wildcards", role(nonResourceURLs=["*"]), "nonResourceURLs"),
        ("roles-without-wildcards", role("Role", verbs=["get", "*"]), "verbs"),
        ("roles-without-wildcards", role(resources=["*/status"]), "resources"),
        ("roles-without-wildcards", role(nonResourceURLs=["/*"]), "nonResourceURLs"),
        ("roles-without-escalation", role(verbs=["bind"]), "verbs"),
        ("roles-without-escalation", role(verbs=["escalate"]), "verbs"),
        ("roles-without-escalation", role(verbs=["impersonate"]), "verbs"),
        ("roles-without-escalation", role(resources=["nodes/proxy"]), "resources"),
        ("roles-without-escalation", role(resources=["serviceaccounts/token"]), "resources"),
        ("roles-without-escalation", role(resources=["*/token"]), "resources"),
        ("roles-without-escalation", role(resources=["*/proxy"]), "resources"),
        ("roles-without-escalation", role(resources=["nodes/proxy"], apiGroups=["*"]), "resources"),
        (
            "roles-without-escalation",
            role(resources=["*/approval"], apiGroups=["certificates.k8s.io"]),
            "resources",
        ),
        ("secrets-of-one-namespace", role(resources=["secrets"]), "resources"),
        ("secrets-of-one-namespace", role(resources=["secrets"], verbs=["list"]), "resources"),
    ],
)
def test_roles_lead_to_nothing_more(rule: str, each: Object, field: str) -> None:
    assert paths(rule, each) == [f"rules[0].{field}"]


@pytest.mark.parametrize(
    "each",
    [
        role(),
        role("Role", resources=["secrets"]),
        role(resources=["secrets"], resourceNames=["one"]),
        role(resources=["secrets"], verbs=["create"]),
        role(resources=["secrets"], apiGroups=["example.com"]),
        role(resources=["nodes"]),
    ],
)
def test_roles_for_what_is_needed_are_good(each: Object) -> None:
    assert [rule for rule in ACCESS if found(rule, each)] == []


@pytest.mark.parametrize(
    ("selector", "bad"),
    [
        ({}, True),
        ({"matchLabels": {}}, True),
        ({"matchExpressions": [{"key": "absent", "operator": "DoesNotExist"}]}, True),
        ({"matchLabels": {"kubernetes.io/bootstrapping": "rbac-defaults"}}, True),
        ({"matchLabels": {"rbac.example.com/aggregate-to-view": "true"}}, False),
    ],
)
def test_a_role_gathers_only_roles_that_it_names(selector: Any, bad: bool) -> None:
    rule = {"clusterRoleSelectors": [selector]}
    each = made("rbac.authorization.k8s.io/v1", "ClusterRole", aggregationRule=rule, rules=[])
    where = ["aggregationRule.clusterRoleSelectors[0]"] * bad
    assert paths("roles-without-wildcards", each) == where


def test_roles_that_are_text_are_judged_too() -> None:
    text = "apiVersion: rbac.authorization.k8s.io/v1\nkind: ClusterRole\nmetadata: {name: a}\n"
    text += "rules:\n- {apiGroups: [''], resources: ['*'], verbs: [get]}\n"
    each = good("ConfigMap", ("data", "a.yaml"), text)
    assert paths("roles-without-wildcards", each) == [
        'data["a.yaml"]:ClusterRole a.rules[0].resources'
    ]
    # Whatever kind it is in: an operator's own may be applied as well.
    each = good("NodeOperationTemplate", ("spec", "applied"), text)
    assert paths("roles-without-wildcards", each) == [
        "spec.applied:ClusterRole a.rules[0].resources"
    ]


@pytest.mark.parametrize(
    ("place", "value", "path"),
    [
        (("roleRef", "name"), "cluster-admin", "roleRef.name"),
        (("subjects",), [{"kind": "Group", "name": "system:masters"}], "subjects[0].name"),
        (("subjects",), [{"kind": "Group", "name": "system:authenticated"}], "subjects[0].name"),
        (("subjects",), [{"kind": "User", "name": "system:anonymous"}], "subjects[0].name"),
        (("subjects",), [{"kind": "Group", "name": "operators"}], ""),
    ],
)
def test_nobody_is_given_everything(place: Any, value: Any, path: str) -> None:
    assert paths("no-cluster-admin", good("RoleBinding", place, value)) == ([path] if path else [])


def test_the_good_ones_break_none() -> None:
    rules = ("labels-of-owner", "one-site", "namespace-named", "no-forced-ownership", *ACCESS)
    every = [good(kind) for kind in GOOD]
    assert [rule for rule in rules if found(rule, *every)] == []
