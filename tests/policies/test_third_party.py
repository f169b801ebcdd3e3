"""What a team brings: each danger of a chart is told once, and Foresite's own objects keep all
rules."""

import copy
import datetime
import re
from typing import Any

import pytest

from policies import Object
from policies.exceptions import ExemptionError
from policies.judge import Judgement, judge
from policies.own import OwnRules
from policies.pack.analyzer import Analyzer
from policies.rules import RULES
from policies.third_party import ADVICE, BROUGHT, DANGER_OF, DANGERS, MARKS, parties
from schemas.kubernetes.manifests import read_manifests
from tests.kit.charts import NETWORK
from tests.kit.policy_objects import LABELS

TODAY = datetime.date(2026, 11, 22)
UNTIL = "2027-06-30"


def labelled(body: dict[str, Any], component: str) -> Object:
    body = copy.deepcopy(body)
    own = body["metadata"].get("labels", {})
    body["metadata"]["labels"] = {**own, **LABELS, "foresite.dev/component": component}
    return Object("site", body)


def chart(component: str = "extra-network") -> list[Object]:
    return [labelled(each, component) for each in read_manifests(NETWORK)]


def entry(*allow: dict[str, Any]) -> dict[str, Any]:
    return {"extra": [{"name": "network", "allow": list(allow)}]}


def allowed(found: Judgement) -> list[dict[str, Any]]:
    """Permissions of all that is told."""
    return [
        {"danger": each.danger, "what": list(each.lines), "until": UNTIL}
        for each in found.third.dangers
    ]


def judged(objects: list[Object], *allow: dict[str, Any]) -> Judgement:
    return judge(objects, TODAY, (), RULES, parties(entry(*allow)))


def test_every_rule_of_the_table_exists_and_means_one_thing() -> None:
    names = {rule.name for rule in RULES}
    assert {*DANGER_OF, *ADVICE} <= names
    assert not ADVICE & DANGER_OF.keys()
    assert sum(len(each["rules"]) for each in DANGERS.values()) == len(DANGER_OF)


def test_a_chart_is_told_in_a_few_sentences() -> None:
    as_ours = judge(chart(), TODAY).violations
    found = judged(chart())
    assert len(as_ours) > 30
    assert found.violations == ()
    assert [each.danger for each in found.third.dangers] == [
        "host-access", "cluster-rights", "exposure", "images"
    ]  # fmt: skip
    host = found.third.dangers[0]
    assert "extra-network brings 2 objects with access to their hosts" in host.message
    assert "DaemonSet kube-system/cilium: " in host.message
    assert "host-path /lib/modules, /var/run/network" in host.message
    assert "capabilities-added agent=NET_ADMIN, agent=SYS_MODULE" in host.message
    ((party, objects, rules),) = found.third.advice
    assert (party.name, objects) == ("extra-network", 2) and "probes" in rules


def test_what_is_allowed_is_told_no_more_until_its_last_day() -> None:
    rows = allowed(judged(chart()))
    assert judged(chart(), *rows).third.dangers == ()
    assert judged(chart(), *rows).third.unused == ()
    ended = judged(chart(), *({**each, "until": "2026-11-21"} for each in rows)).third
    assert [each.danger for each in ended.dangers] == [each["danger"] for each in rows]
    assert all(each.expired for each in ended.dangers)


@pytest.mark.parametrize("what", ["container", "path", "capability", "object", "right"])
def test_a_danger_that_an_update_brings_is_told_again_and_no_other(what: str) -> None:
    rows = allowed(judged(chart()))
    bodies = [copy.deepcopy(each.body) for each in chart()]
    daemons = next(each for each in bodies if each["kind"] == "DaemonSet")
    pod = daemons["spec"]["template"]["spec"]
    if what == "container":
        pod["containers"].append({"name": "b", "securityContext": {"privileged": True}})
    elif what == "path":
        pod["volumes"].append({"name": "etc", "hostPath": {"path": "/etc"}})
    elif what == "capability":
        pod["containers"][0]["securityContext"]["capabilities"]["add"].append("SYS_ADMIN")
    elif what == "object":
        bodies.append({**copy.deepcopy(daemons), "metadata": {"name": "n", "namespace": "a"}})
    else:
        role = next(each for each in bodies if each["kind"] == "ClusterRole")
        role["rules"].append({"apiGroups": ["*"], "resources": ["*"], "verbs": ["escalate"]})
    told = judged([labelled(each, "extra-network") for each in bodies], *rows).third.dangers
    new = {
        "container": "privileged b", "path": "host-path /etc", "capability": "SYS_ADMIN",
        "object": "DaemonSet a/n", "right": "roles-without-escalation",
    }[what]  # fmt: skip
    assert new in " ".join(each.message for each in told)
    assert "/lib/modules" not in " ".join(each.message for each in told if what != "object")


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ({"kind": "ClusterRole", "rules": [{"apiGroups": ["a"], "resources": ["*"]}]},
         {"rules": [{"apiGroups": ["a", "apps"], "resources": ["*"]}]}),
        ({"kind": "ClusterRoleBinding", "roleRef": {"name": "cluster-admin"},
          "subjects": [{"kind": "ServiceAccount", "name": "a"}]},
         {"subjects": [{"kind": "Group", "name": "dev"}]}),
        ({"kind": "Service", "spec": {"type": "NodePort", "ports": [{"port": 80}]}},
         {"spec": {"type": "LoadBalancer", "ports": [{"port": 80}]}}),
        ({"kind": "Service", "spec": {"type": "NodePort", "ports": [{"port": 80}]}},
         {"spec": {"type": "NodePort", "ports": [{"port": 22}]}}),
        ({"kind": "Pod", "spec": {"containers": [{"name": "a", "image": "a.example/b:1"}]}},
         {"spec": {"containers": [{"name": "a", "image": "a.example/evil:1"}]}}),
        ({"kind": "Pod", "spec": {"hostPID": True, "containers": [{"name": "a"}]}},
         {"spec": {"hostPID": True, "containers": [{"name": "b"}]}}),
        ({"kind": "Pod", "spec": {"containers": [
            {"name": "a", "securityContext": {"privileged": True}}, {"name": "b"}]}},
         {"spec": {"containers": [
             {"name": "a"}, {"name": "b", "securityContext": {"privileged": True}}]}}),
    ],
)  # fmt: skip
def test_what_takes_the_place_of_what_was_allowed_is_told(
    before: dict[str, Any], after: dict[str, Any]
) -> None:
    body = {"apiVersion": "v1", "metadata": {"name": "a"}, **before}
    rows = allowed(judged([labelled(body, "extra-network")]))
    assert rows and not judged([labelled(body, "extra-network")], *rows).third.dangers
    assert judged([labelled({**body, **after}, "extra-network")], *rows).third.dangers


def test_every_danger_has_a_mark_that_identifies_it() -> None:
    assert MARKS.keys() == DANGER_OF.keys()


@pytest.mark.parametrize(
    "body",
    [
        {"kind": "ClusterRoleBinding", "roleRef": {"name": "system:kube-controller-manager"}},
        {"kind": "RoleBinding", "roleRef": {"name": "admin"}},
        {"kind": "RoleBinding", "subjects": [{"kind": "Group", "name": "system:nodes"}]},
        {"kind": "RoleBinding", "subjects": [
            {"kind": "Group", "name": "system:serviceaccounts:a"}]},
        {"kind": "ClusterRole", "metadata": {"name": "a", "labels": {
            "rbac.authorization.k8s.io/aggregate-to-view": "true"}}},
        {"kind": "ClusterRole", "rules": [
            {"apiGroups": ["admissionregistration.k8s.io"], "verbs": ["patch"],
             "resources": ["mutatingwebhookconfigurations"]}]},
    ],
)  # fmt: skip
def test_rights_that_hand_over_the_cluster_are_told(body: dict[str, Any]) -> None:
    whole = {"apiVersion": "rbac.authorization.k8s.io/v1", "metadata": {"name": "a"}, **body}
    (told,) = judged([labelled(whole, "extra-network")]).third.dangers
    assert told.danger == "cluster-rights"


WEBHOOK = {
    "name": "a.example.com", "failurePolicy": "Ignore",
    "rules": [{"apiGroups": ["apps"], "resources": ["daemonsets"]}],
}  # fmt: skip
POLICY = {"matchConstraints": {"resourceRules": [{"apiGroups": ["*"], "resources": ["*"]}]}}


@pytest.mark.parametrize(
    ("rule", "body"),
    [
        ("privileged-namespace", {"kind": "Namespace", "metadata": {"name": "a", "labels": {
            "pod-security.kubernetes.io/enforce": "privileged"}}}),
        ("host-path", {"kind": "PersistentVolume", "spec": {"hostPath": {"path": "/"}}}),
        ("host-path", {"kind": "PersistentVolume", "spec": {"local": {"path": "/etc"}}}),
        ("devices-held", {"kind": "DaemonSet", "spec": {"template": {"spec": {"containers": [
            {"name": "a", "resources": {"limits": {"nvidia.com/gpu": 1}}}]}}}}),
        ("devices-held", {"kind": "DaemonSet", "spec": {"template": {"spec": {
            "containers": [{"name": "a"}], "resourceClaims": [{"name": "gpu"}]}}}}),
        *(
            ("writes-everywhere", {"kind": "ClusterRole", "rules": [
                {"apiGroups": [group], "resources": [kind], "verbs": [verb]}]})
            for group, kind, verb in (
                ("", "pods", "create"), ("", "pods/exec", "create"), ("", "secrets", "create"),
                ("", "nodes", "patch"), ("apps", "daemonsets", "delete"),
                ("", "namespaces", "deletecollection"), ("batch", "jobs", "*"),
            )
        ),
        ("admission-of-others", {"kind": "MutatingWebhookConfiguration", "webhooks": [WEBHOOK]}),
        ("admission-of-others", {"kind": "ValidatingWebhookConfiguration", "webhooks": [
            {**WEBHOOK, "namespaceSelector": {"matchLabels": {"a": "b"}}}]}),
        ("admission-of-others", {"kind": "ValidatingAdmissionPolicy", "spec": POLICY}),
        ("admission-of-others", {"kind": "ValidatingAdmissionPolicyBinding", "spec": {
            "policyName": "a"}}),
        ("admission-of-others", {"kind": "APIService", "spec": {"service": {"name": "a"}}}),
        ("admission-of-others", {"kind": "CustomResourceDefinition", "spec": {
            "conversion": {"strategy": "Webhook", "webhook": {"a": "b"}}}}),
        ("priority-of-others", {"kind": "PriorityClass", "value": 0, "globalDefault": True}),
        ("priority-of-others", {"kind": "PriorityClass", "value": 1}),
        *(("names-not-reserved", {"kind": "ClusterRole", "metadata": {"name": name}})
          for name in ("admin", "edit", "view", "cluster-admin")),
        ("names-not-reserved", {"kind": "ClusterRoleBinding", "metadata": {
            "name": "cluster-admin"}}),
    ],
)  # fmt: skip
def test_what_foresite_answers_for_in_its_own_objects_is_told_of_others(
    rule: str, body: dict[str, Any]
) -> None:
    one = labelled({"apiVersion": "v1", "metadata": {"name": "a"}, **body}, "extra-network")
    (told,) = [each for each in judged([one]).third.dangers if rule in each.message]
    assert rule in DANGERS[told.danger]["rules"]
    ours = judged([labelled(one.body, "machines")]).violations
    assert rule not in BROUGHT or rule not in {each.rule.name for each in ours}


@pytest.mark.parametrize(
    "body",
    [
        {"kind": "ValidatingWebhookConfiguration", "webhooks": [
            {**WEBHOOK, "rules": [{"apiGroups": ["pools.example"], "resources": ["*"]}]}]},
        {"kind": "PriorityClass", "value": -10},
        {"kind": "Role", "rules": [{"apiGroups": ["apps"], "resources": ["deployments"],
                                    "verbs": ["create"]}]},
        {"kind": "Job", "spec": {"template": {"spec": {"restartPolicy": "Never", "containers": [
            {"name": "a", "image": "a.example/b:1@sha256:" + "a" * 64,
             "resources": {"limits": {"nvidia.com/gpu": 1}}}]}}}},
    ],
)  # fmt: skip
def test_what_reaches_nothing_of_others_is_not_told(body: dict[str, Any]) -> None:
    whole = {"apiVersion": "v1", "metadata": {"name": "a"}, **body}
    assert judged([labelled(whole, "extra-network")]).third.dangers == ()


def test_roles_and_limits_of_others_are_told() -> None:
    role = {"apiVersion": "v1", "kind": "ClusterRole", "metadata": {"name": "repair"}}
    team = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "vision"}}
    mine = {"apiVersion": "v1", "kind": "ClusterRole", "metadata": {"name": "mine"}}
    there = [
        labelled(role, "remediation"),
        labelled(team, "teams"),
        labelled(mine, "extra-network"),
    ]
    binding = {**role, "kind": "ClusterRoleBinding", "roleRef": {"kind": "ClusterRole"}}
    policy = {**mine, "kind": "NetworkPolicy", "spec": {"ingress": [{}]}}
    for body, rule in (
        ({**binding, "roleRef": {"kind": "ClusterRole", "name": "repair"}}, "roles-of-others"),
        ({**binding, "roleRef": {"kind": "ClusterRole", "name": "mine"}}, ""),
        ({**policy, "metadata": {"name": "a", "namespace": "vision"}}, "limits-of-teams"),
        ({**policy, "metadata": {"name": "a", "namespace": "mine"}}, ""),
    ):
        found = judged([*there, labelled(body, "extra-network")]).third.dangers
        assert [rule in each.message for each in found] == ([True] if rule else [])


def test_exceptions_of_foresite_excuse_nothing_of_others() -> None:
    pod = {"hostPID": True, "containers": [{"name": "a"}]}
    name = {"name": "node-problem-detector-a", "namespace": "a"}
    body = {"apiVersion": "apps/v1", "kind": "DaemonSet", "metadata": name,
            "spec": {"template": {"spec": pod}}}  # fmt: skip
    excused = judged([labelled(body, "remediation")]).violations
    assert "host-pid" not in {each.rule.name for each in excused}
    told = judged([labelled(body, "extra-network")]).third.dangers
    assert "host-pid" in told[0].message


def test_a_rule_that_is_added_to_the_table_changes_no_permission() -> None:
    """What is identified by a digest of all of it is not counted."""
    rules = [{"apiGroups": ["*"], "resources": ["*"], "verbs": ["*"]}]
    body = {"apiVersion": "v1", "kind": "ClusterRole", "metadata": {"name": "a"}, "rules": rules}
    (told,) = judged([labelled(body, "extra-network")]).third.dangers
    assert "~" in told.message and not re.search(r"~[0-9a-f]{12}\*", told.message)


def test_what_is_allowed_and_not_there_any_more_is_told() -> None:
    rows = allowed(judged(chart()))
    (rest,) = ([each for each in chart() if each.kind != "DaemonSet"],)
    unused = judged(rest, *rows).third.unused
    assert any("DaemonSet kube-system/cilium" in line for _, line in unused)


def test_objects_of_foresite_keep_every_rule() -> None:
    mine = chart("machines")
    alone = judge(mine, TODAY).violations
    beside = judged([*mine, *chart()], *allowed(judged(chart()))).violations
    assert len([each for each in beside if each.object in mine]) >= len(alone)


def test_a_label_of_an_entry_that_is_not_in_the_file_excuses_nothing() -> None:
    assert judged(chart("extra-other")).violations == judge(chart("extra-other"), TODAY).violations


@pytest.mark.parametrize(
    ("kind", "rule"), [("Secret", "secret-object"), ("ConfigMap", "secret-literal")]
)
def test_secrets_are_refused_whoever_brings_them(kind: str, rule: str) -> None:
    data = {"password": "hunter" + "2hunter2"}
    body = {"apiVersion": "v1", "kind": kind, "metadata": {"name": "a", "namespace": "b"}}
    found = judged([labelled({**body, "stringData": data, "data": data}, "extra-network")])
    assert rule in {each.rule.name for each in found.violations}


def test_a_webhook_that_holds_up_the_api_server_is_a_danger() -> None:
    hook = {
        "name": "a.example.com", "failurePolicy": "Fail", "timeoutSeconds": 30,
        "rules": [{"apiGroups": ["*"], "apiVersions": ["*"], "operations": ["*"],
                   "resources": ["*"]}],
    }  # fmt: skip
    body = {
        "apiVersion": "admissionregistration.k8s.io/v1", "kind": "ValidatingWebhookConfiguration",
        "metadata": {"name": "a"}, "webhooks": [hook],
    }  # fmt: skip
    (told,) = judged([labelled(body, "extra-network")]).third.dangers
    assert told.danger == "admission" and "webhook-blocks" in told.message


def test_a_pod_network_is_third_party_inside_its_config_map_alone() -> None:
    text = {"manifests.yaml": NETWORK}
    body = {"apiVersion": "v1", "kind": "ConfigMap", "data": text}
    config = labelled({**body, "metadata": {"name": "a", "namespace": "b"}}, "pod-network")
    config = config._replace(cluster="management")
    known = parties({"cluster": {"pod_network": {"chart": "charts/network"}}})
    found = judge([config], TODAY, (), RULES, known)
    assert {each.danger for each in found.third.dangers} >= {"host-access", "cluster-rights"}
    assert not [each for each in found.violations if each.rule.name in DANGER_OF]
    # Without a chart and without permissions it is judged as before.
    assert (
        judge([config], TODAY).violations
        == judge(
            [config], TODAY, (), RULES, parties({"cluster": {"pod_network": {"manifests": "a"}}})
        ).violations
    )


def test_the_pack_tells_the_same_dangers() -> None:
    pack = Analyzer(RULES, OwnRules(), (), TODAY, parties(entry()))
    objects = {str(number): each for number, each in enumerate(chart())}
    answer = pack._judge(objects, RULES)
    told = [each for each in answer.diagnostics if each.policyName in DANGERS]
    assert [each.policyName for each in told] == [d.danger for d in judged(chart()).third.dangers]


@pytest.mark.parametrize("allow", ["a", ["a"], [{"danger": "images", "until": "never"}]])
def test_permissions_of_another_shape_are_refused(allow: object) -> None:
    with pytest.raises(ExemptionError):
        parties({"extra": [{"name": "network", "allow": allow}]})
