"""The rights of a pod: one good pod, changed in one place for each rule."""

import re
from typing import Any

import pytest

from policies.pods import pods
from policies.rule import Object
from tests.kit.policy_objects import GONE, GOOD, LABELS, POD, Place, found, good, paths, pod

WEB: Place = ("containers", 0)
FIRST: Place = ("initContainers", 0)
CONTEXT = "securityContext"
AT = "spec.template.spec"
MAKERS = {
    "Pod": "spec",
    "Deployment": "spec.template.spec",
    "DaemonSet": "spec.template.spec",
    "StatefulSet": "spec.template.spec",
    "Job": "spec.template.spec",
    "CronJob": "spec.jobTemplate.spec.template.spec",
    "JobSet": "spec.replicatedJobs[0].template.spec.template.spec",
    "NodeOperationTemplate": "spec.template.spec.jobTemplate.spec.template.spec",
}
"""Where each kind has the spec of its pods."""

BROKEN: list[tuple[str, str, Any, str]] = [
    ("privilege-escalation", "containers[0].securityContext.allowPrivilegeEscalation", True, ""),
    (
        "privilege-escalation",
        "initContainers[0].securityContext.allowPrivilegeEscalation",
        GONE,
        "",
    ),
    ("capabilities-dropped", "containers[0].securityContext.capabilities.drop", ["NET_RAW"], ""),
    (
        "capabilities-added",
        "containers[0].securityContext.capabilities.add",
        ["NET_BIND_SERVICE", "SYS_ADMIN"],
        "[1]",
    ),
    ("run-as-non-root", "containers[0].securityContext.runAsNonRoot", False, ""),
    ("run-as-non-root", "securityContext.runAsNonRoot", False, ""),
    ("run-as-user", "securityContext.runAsUser", 0, ""),
    ("run-as-user", "containers[0].securityContext.runAsUser", 0, ""),
    (
        "seccomp-profile",
        "containers[0].securityContext.seccompProfile",
        {"type": "Unconfined"},
        ".type",
    ),
    ("seccomp-profile", "securityContext.seccompProfile.type", "Unconfined", ""),
    ("host-network", "hostNetwork", True, ""),
    ("host-pid", "hostPID", True, ""),
    ("host-ipc", "hostIPC", True, ""),
    ("host-path", "volumes[1]", {"name": "x", "hostPath": {"path": "/"}}, ".hostPath"),
    ("volume-types", "volumes[1]", {"name": "x", "nfs": {"server": "x"}}, ".nfs"),
    ("host-ports", "containers[0].ports[0].hostPort", 80, ""),
    ("probe-host", "containers[0].livenessProbe.httpGet.host", "10.0.0.1", ""),
    (
        "probe-host",
        "containers[0].lifecycle",
        {"preStop": {"tcpSocket": {"host": "10.0.0.1", "port": 1}}},
        ".preStop.tcpSocket.host",
    ),
    ("privileged", "containers[0].securityContext.privileged", True, ""),
    ("proc-mount", "containers[0].securityContext.procMount", "Unmasked", ""),
    (
        "selinux-options",
        "securityContext.seLinuxOptions",
        {"type": "spc_t", "level": "s0"},
        ".type",
    ),
    (
        "selinux-options",
        "containers[0].securityContext.seLinuxOptions",
        {"role": "system_r"},
        ".role",
    ),
    (
        "apparmor-profile",
        "containers[0].securityContext.appArmorProfile",
        {"type": "Unconfined"},
        ".type",
    ),
    (
        "sysctls",
        "securityContext.sysctls",
        [{"name": "net.ipv4.tcp_rmem", "value": "1"}, {"name": "vm.swappiness", "value": "1"}],
        "[1]",
    ),
    (
        "windows-host-process",
        "securityContext.windowsOptions",
        {"hostProcess": True},
        ".hostProcess",
    ),
    ("read-only-root-filesystem", "containers[0].securityContext.readOnlyRootFilesystem", GONE, ""),
    ("service-account-token", "automountServiceAccountToken", GONE, ""),
]
"""A rule, a place below the spec of a pod, what breaks the rule there, and the rest of the path
that is found."""


ALLOWED: list[tuple[str, str, Any]] = [
    ("capabilities-added", "containers[0].securityContext.capabilities.add", ["NET_BIND_SERVICE"]),
    ("run-as-non-root", "containers[0].securityContext.runAsNonRoot", True),
    ("seccomp-profile", "containers[0].securityContext.seccompProfile", {"type": "Localhost"}),
    ("host-network", "hostNetwork", False),
    ("volume-types", "volumes[1]", {"name": "x", "csi": {"driver": "x"}}),
    ("probe-host", "containers[0].livenessProbe.httpGet.host", ""),
    ("proc-mount", "containers[0].securityContext.procMount", "Default"),
    ("selinux-options", "securityContext.seLinuxOptions", {"type": "container_t", "level": "s0"}),
    ("apparmor-profile", "securityContext.appArmorProfile", {"type": "RuntimeDefault"}),
    ("sysctls", "securityContext.sysctls", [{"name": "net.ipv4.tcp_rmem", "value": "1"}]),
]


def place(text: str) -> Place:
    """The steps of a path as findings have it."""
    steps = re.findall(r"[^.\[\]]+", text)
    return tuple(int(step) if step.isdecimal() else step for step in steps)


@pytest.mark.parametrize(("rule", "at", "value", "rest"), BROKEN)
def test_one_change_breaks_one_rule(rule: str, at: str, value: Any, rest: str) -> None:
    assert paths(rule, good("Deployment")) == []
    assert paths(rule, pod(value, *place(at))) == [f"{AT}.{at}{rest}"]


@pytest.mark.parametrize(("rule", "at", "value"), ALLOWED)
def test_what_the_standard_allows_is_let_pass(rule: str, at: str, value: Any) -> None:
    assert paths(rule, pod(value, *place(at))) == []


@pytest.mark.parametrize("kind", MAKERS)
def test_pods_are_found_in_every_kind(kind: str) -> None:
    (only,) = pods(good(kind))
    assert only.path == MAKERS[kind]
    assert [each.name for each in only.containers] == ["first", "web"]
    assert only.ends == (kind in ("Job", "CronJob", "JobSet", "NodeOperationTemplate"))


def test_a_pod_in_a_text_is_judged_at_its_place() -> None:
    text = "# a comment\napiVersion: v1\nkind: Pod\nmetadata: {name: a, namespace: b}\n"
    text += "spec:\n  hostNetwork: true\n  containers: [{name: c, image: d}]\n"
    each = good("ConfigMap", ("data", "pod.yaml"), text)
    assert paths("host-network", each) == ['data["pod.yaml"]:Pod b/a.spec.hostNetwork']


def test_no_profile_at_all_is_told_of_each_container() -> None:
    assert paths("seccomp-profile", pod(GONE, CONTEXT, "seccompProfile")) == [
        f"{AT}.initContainers[0].securityContext.seccompProfile.type",
        f"{AT}.containers[0].securityContext.seccompProfile.type",
    ]
    assert len(paths("run-as-non-root", pod(GONE, CONTEXT, "runAsNonRoot"))) == 2


def test_apparmor_by_annotation_is_judged() -> None:
    key = "container.apparmor.security.beta.kubernetes.io/web"
    place = ("spec", "template", "metadata", "annotations")
    bad = good("Deployment", place, {key: "unconfined"})
    assert paths("apparmor-profile", bad) == [f'spec.template.metadata.annotations["{key}"]']
    fine = good("Deployment", place, {key: "runtime/default"})
    assert paths("apparmor-profile", fine) == []


def bound(name: str = "web", kind: str = "ServiceAccount") -> Object:
    subject = {"kind": kind, "name": name, "namespace": "web"}
    return good("RoleBinding", ("subjects", 0), subject)


def test_a_token_is_for_who_has_rights() -> None:
    rule = "service-account-token"
    spec = {**GOOD["Deployment"]["spec"]["template"]["spec"], "serviceAccountName": "web"}
    del spec["automountServiceAccountToken"]
    asks = good("Deployment", POD, spec)
    assert paths(rule, asks, bound()) == []
    assert paths(rule, asks, bound("other")) == [f"{AT}.automountServiceAccountToken"]
    elsewhere = Object("management", bound().body)
    assert paths(rule, asks, elsewhere) == [f"{AT}.automountServiceAccountToken"]


def test_rights_are_for_an_account_of_its_own() -> None:
    rule = "default-service-account"
    assert paths(rule, bound()) == []
    assert paths(rule, bound("default")) == ["subjects[0]"]
    assert paths(rule, bound("system:serviceaccounts:web", "Group")) == ["subjects[0]"]
    assert paths(rule, bound("system:authenticated", "Group")) == []


def test_a_namespace_says_its_level() -> None:
    key = "pod-security.kubernetes.io/enforce"
    assert paths("namespace-level", good("Namespace")) == []
    text = "apiVersion: v1\nkind: Namespace\nmetadata: {name: a}\n"
    inside = good("ConfigMap", ("data", "x"), text)
    assert paths("namespace-level", inside) == [f'data.x:Namespace a.metadata.labels["{key}"]']
    for labels in (LABELS, {**LABELS, key: "none"}):
        bad = good("Namespace", ("metadata", "labels"), labels)
        assert paths("namespace-level", bad) == [f'metadata.labels["{key}"]']


def test_a_finding_says_what_to_do() -> None:
    (one,) = found("privileged", pod(True, *WEB, CONTEXT, "privileged"))
    assert one.message == "container web is root of its host, with all devices"
    assert one.fix == "leave privileged out, and add the capabilities that it needs"
