"""The policies of clusters as objects: which there are, in which cluster, and for whom."""

from dataclasses import replace
from typing import Any

import pytest

from components.admission_policies.objects import COMPONENT, KUBERNETES_OWN, facts, objects
from components.making.decommission import MAY_BE_DELETED
from components.making.faults import FAULTY_TAINT, QUARANTINED_TAINT, RESET_LABEL
from components.making.manifest import COMPONENT_LABEL, SITE_LABEL, Json, Target
from components.site import site_objects
from policies.cluster import (
    MANAGEMENT,
    RELEASE_ANNOTATION,
    RESET,
    SITE,
    TAINTS,
    Facts,
    cluster_rules,
)
from schemas.facts.site import Site
from schemas.kubernetes.node_labels import ACCELERATOR_LABEL, POOL_LABEL, RACK_LABEL, TEAM_LABEL
from schemas.kubernetes.objects import load_crds
from schemas.model.vocabulary import ClusterRule
from schemas.rules.policies import LIVED_BY, fault_of, in_no_namespace
from tests.kit.admission_sites import OWN, own, with_policies
from tests.kit.repository import all_sites, with_resets

POLICY, BINDING = "ValidatingAdmissionPolicy", "ValidatingAdmissionPolicyBinding"
EVERY = cluster_rules(Facts("a", "b", operators=("c",)))
every_rule = pytest.mark.parametrize("rule", EVERY, ids=[rule.name for rule in EVERY])


def bodies(site: Site, kind: str) -> dict[str, Json]:
    """The objects of a kind by their logical names."""
    made = {each.name: each.body for each in objects(site) if each.kind == kind}
    return {name.partition("/")[2]: body for name, body in made.items()}


# --- what is there --------------------------------------------------------------------------------


@pytest.mark.parametrize("name", sorted(all_sites()))
def test_each_policy_has_its_binding_and_says_what_it_asks_for(name: str) -> None:
    site = all_sites()[name]
    policies, bindings = bodies(site, POLICY), bodies(site, BINDING)
    assert list(policies) == list(bindings) == [rule.name for rule in cluster_rules(facts(site))]
    for logical, body in policies.items():
        metadata = body["metadata"]
        assert bindings[logical]["spec"]["policyName"] == metadata["name"]
        assert metadata["labels"][COMPONENT_LABEL] == COMPONENT
        assert metadata["labels"][SITE_LABEL] == name
        assert metadata["annotations"]["foresite.dev/what"]


def test_policies_go_to_the_cluster_that_they_are_about() -> None:
    targets = {each.name.partition("/")[2]: each.target for each in objects(all_sites()["tokyo-1"])}
    assert targets == {rule.name: Target(rule.cluster) for rule in EVERY}


def test_two_sites_of_one_management_cluster_do_not_share_a_policy() -> None:
    first, second = (
        {each.key for each in objects(all_sites()[name]) if each.target is Target.MANAGEMENT}
        for name in ("tokyo-1", "tsukuba-1")
    )
    assert first and not first & second


@every_rule
def test_a_rule_says_all_that_a_reader_asks(rule: Any) -> None:
    for text in (rule.what, rule.why, rule.source):
        assert len(text) >= 20
    assert [each.name for each in EVERY].count(rule.name) == 1
    assert rule.matches and rule.validations
    assert rule.what[0].isupper() and not rule.what.endswith(".")


@every_rule
def test_no_rule_looks_at_what_nodes_and_leaders_live_by(rule: Any) -> None:
    for each in rule.matches:
        assert "*" not in (each["group"], *each["resources"], *each["operations"])
        assert not {name for name in each["resources"] if "lease" in name or name == "events"}
        # Of a status only the labels that come with it: a real server shows that reports pass.
        status = {name for name in each["resources"] if name.endswith("/status")}
        assert status <= {"nodes/status", "namespaces/status"}
    if rule.cluster == MANAGEMENT:
        # What controllers write and make on a management cluster is theirs.
        assert {op for each in rule.matches for op in each["operations"]} == {"DELETE"}
    if any(set(each["resources"]) & {"nodes"} for each in rule.matches):
        assert [each["operations"] for each in rule.matches] == [["UPDATE"]]


@every_rule
def test_expressions_are_whole(rule: Any) -> None:
    for each in rule.validations:
        assert fault_of(f"object == ({each['expression']})") is None
        assert fault_of(f"object == ({each['message']})") is None
    for text in rule.variables.values():
        assert fault_of(f"object == ({text})") is None


@every_rule
def test_of_the_sites_own_cluster_who_may_change_a_rule_may_break_it(rule: Any) -> None:
    """But for one, which any program of ours keeps by itself."""
    free = [each for each in rule.validations if "variables.allowed" not in each["expression"]]
    assert bool(free) == (rule.cluster == MANAGEMENT or rule.name == "image-digest")


# --- what they share with what they judge ---------------------------------------------------------


def test_words_that_a_judge_writes_by_itself_are_those_of_the_judged() -> None:
    assert RELEASE_ANNOTATION == MAY_BE_DELETED
    assert RESET == RESET_LABEL
    assert set(TAINTS) == {FAULTY_TAINT, QUARANTINED_TAINT}
    texts = {
        rule.name: str([*rule.variables.values(), *rule.validations, rule.where]) for rule in EVERY
    }
    assert TEAM_LABEL in texts["exposed-services"]
    for label in (ACCELERATOR_LABEL, POOL_LABEL, RACK_LABEL):
        assert f"'{label.partition('/')[0]}/'" in texts["node-marks"]


def test_the_site_file_knows_every_rule_of_the_sites_own_cluster() -> None:
    assert [each.value for each in ClusterRule] == [r.name for r in EVERY if r.cluster == SITE]


@pytest.mark.parametrize("name", ["tokyo-1", "tsukuba-1"])
def test_the_one_who_marks_nodes_is_the_one_who_may(name: str) -> None:
    """Of all accounts that Foresite makes, and that may write nodes for that."""
    made = [each.body for part in site_objects(all_sites()[name]).values() for each in part]
    accounts = {
        f"system:serviceaccount:{each['metadata']['namespace']}:{each['metadata']['name']}"
        for each in made
        if each["kind"] == "ServiceAccount"
    }
    assert facts(all_sites()[name]).remediator in accounts
    assert facts(all_sites()[name]).remediator.endswith(":turns")
    assert facts(all_sites()[name]).resetter == ""
    assert facts(with_resets()).resetter == "system:serviceaccount:node-remediation:reboots"


def test_a_site_without_remediation_has_nobody_who_marks_nodes() -> None:
    plain = with_policies()
    site = replace(plain, file=plain.file.model_copy(update={"remediation": None}))
    spec = bodies(site, POLICY)["node-marks"]["spec"]
    assert "request.userInfo" not in str(spec["validations"])


def test_images_of_an_operator_are_its_own_choice() -> None:
    """lab-1 has NVIDIA's GPU operator, whose drivers are tags."""
    chosen = bodies(all_sites()["lab-1"], BINDING)["image-digest"]["spec"]["matchResources"]
    named = {"key": "kubernetes.io/metadata.name", "operator": "NotIn", "values": ["gpu-operator"]}
    assert named in chosen["namespaceSelector"]["matchExpressions"]
    others = bodies(with_policies(), BINDING)["image-digest"]["spec"]["matchResources"]
    assert "NotIn" not in str(others)


# --- what a site says -----------------------------------------------------------------------------


def test_a_rule_that_only_warns() -> None:
    site = with_policies(advisory=["exposed-services"])
    actions = {
        name: body["spec"]["validationActions"] for name, body in bodies(site, BINDING).items()
    }
    assert actions.pop("exposed-services") == ["Warn", "Audit"]
    assert set(map(tuple, actions.values())) == {("Deny",)}


def test_a_rule_of_the_sites_own() -> None:
    kinds = ["v1/pods", "apps/v1/deployments", "kueue.x-k8s.io/v1beta2/workloads"]
    site = with_policies(own(kinds=kinds))
    policy, binding = (bodies(site, kind)["own/owned"] for kind in (POLICY, BINDING))
    assert policy["metadata"]["name"] == binding["spec"]["policyName"] == "owned.site.foresite.dev"
    asked = policy["spec"]["matchConstraints"]["resourceRules"]
    assert [(*each["apiGroups"], *each["apiVersions"], *each["resources"]) for each in asked] == [
        ("", "v1", "pods"),
        ("apps", "v1", "deployments"),
        ("kueue.x-k8s.io", "v1beta2", "workloads"),
    ]
    (validation,) = policy["spec"]["validations"]
    assert validation["expression"] == OWN["expression"]
    assert OWN["what"] in validation["message"] and OWN["why"] in validation["message"]
    assert binding["spec"]["validationActions"] == ["Deny"]


def test_a_rule_of_the_sites_own_spares_kubernetes_itself_unless_told() -> None:
    def selector(rule: Json) -> Json:
        spec: Json = bodies(with_policies(rule), BINDING)["own/owned"]["spec"]
        (found,) = spec["matchResources"]["namespaceSelector"]["matchExpressions"]
        return {found["operator"]: set(found["values"])}

    assert selector(own()) == {"NotIn": {"kube-system", "kube-public", "kube-node-lease"}}
    assert set(KUBERNETES_OWN) == selector(own())["NotIn"]
    assert selector(own(namespaces=["kube-system", "vision"])) == {"In": {"kube-system", "vision"}}


def test_an_advisory_rule_of_the_sites_own_only_warns() -> None:
    site = with_policies(own(severity="advisory"))
    spec = bodies(site, BINDING)["own/owned"]["spec"]
    assert spec["validationActions"] == ["Warn", "Audit"]


def test_what_sites_make_in_no_namespace_is_known() -> None:
    """A binding's namespaces would leave none of it out."""
    known = {
        (crd["spec"]["group"], crd["spec"]["names"]["plural"]): crd["spec"]["scope"] == "Cluster"
        for crd in load_crds()
    } | {("rbac.authorization.k8s.io", "clusterroles"): True, ("", "pods"): False}
    assert {each: in_no_namespace(*each) for each in known} == known
    # Of namespaces the API server asks by their own labels.
    assert not in_no_namespace("", "namespaces")
    assert not [each for each in LIVED_BY if in_no_namespace(*each)]
