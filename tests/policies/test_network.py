"""Rules of network exposure: who reaches a site's programs."""

from typing import Any

import pytest

from policies.rule import Object
from tests.kit.policy_objects import GONE, found, good, paths
from tests.kit.policy_sites import POOL, made, workload

Json = dict[str, Any]
ADMISSION = "admissionregistration.k8s.io/v1"


@pytest.mark.parametrize(
    ("place", "value", "bad"),
    [
        ("type", "LoadBalancer", True),
        ("type", "NodePort", True),
        ("type", "ClusterIP", False),
        ("externalIPs", ["10.0.0.9"], True),
        ("externalIPs", [], False),
    ],
)
def test_services_are_for_the_cluster(place: str, value: Any, bad: bool) -> None:
    each = good("Service", ("spec", place), value)
    assert paths("reached-from-outside", each) == [f"spec.{place}"] * bad


@pytest.mark.parametrize("kind", ["Ingress", "Gateway"])
def test_doors_are_named_by_exceptions(kind: str) -> None:
    assert found("reached-from-outside", made("networking.k8s.io/v1", kind, spec={}))


def test_services_that_are_text_are_judged_too() -> None:
    text = "apiVersion: v1\nkind: Service\nmetadata: {name: a}\nspec: {type: NodePort}\n"
    each = good("ConfigMap", ("data", "a.yaml"), text)
    assert paths("reached-from-outside", each) == ['data["a.yaml"]:Service a.spec.type']


def _webhook(resources: list[str], **more: Any) -> Object:
    hook = {"rules": [{"resources": resources, "operations": ["CREATE"]}], **more}
    return made(
        "admissionregistration.k8s.io/v1", "ValidatingWebhookConfiguration", webhooks=[hook]
    )


@pytest.mark.parametrize(
    ("resources", "more", "bad"),
    [
        (["pods"], {}, True),
        (["*"], {"failurePolicy": "Fail"}, True),
        (["pods"], {"namespaceSelector": {}}, True),  # which selects every namespace
        (["pods"], {"namespaceSelector": {"matchLabels": {"team": "a"}}}, False),
        (["pods"], {"objectSelector": {"matchLabels": {"team": "a"}}}, False),
        (["pods"], {"matchConditions": [{"name": "a", "expression": "false"}]}, False),
        (["pods"], {"failurePolicy": "Ignore"}, False),
        (["jobs"], {}, False),
    ],
)
def test_a_webhook_that_is_away_blocks_no_cluster(resources: Any, more: Json, bad: bool) -> None:
    where = ["webhooks[0].failurePolicy"] * bad
    assert paths("webhook-blocks", _webhook(resources, **more)) == where


@pytest.mark.parametrize(("seconds", "bad"), [(30, True), (11, True), (10, False), (None, False)])
def test_a_webhook_answers_soon(seconds: Any, bad: bool) -> None:
    each = _webhook(["jobs"], timeoutSeconds=seconds)
    assert bool(found("webhook-patience", each)) is bad


@pytest.mark.parametrize(("policy", "bad"), [("Ignore", True), ("Fail", False), (None, False)])
def test_an_admission_policy_fails_closed(policy: Any, bad: bool) -> None:
    each = made(ADMISSION, "ValidatingAdmissionPolicy", spec={"failurePolicy": policy})
    assert bool(found("admission-fails-closed", each)) is bad


def _selecting(labels: Json, **metadata: Any) -> Object:
    spec = {"podSelector": {"matchLabels": labels}}
    return made("networking.k8s.io/v1", "NetworkPolicy", spec=spec, metadata=metadata)


@pytest.mark.parametrize(
    ("policy", "bad"),
    [
        ((), True),
        ((_selecting({"app": "web"}),), False),
        ((_selecting({}),), False),
        ((_selecting({"app": "other"}),), True),
        ((_selecting({"app": "web"}, namespace="other"),), True),
    ],
)
def test_what_listens_has_a_network_policy(policy: tuple[Object, ...], bad: bool) -> None:
    containers = [{"ports": [{"containerPort": 8080}]}]
    each = workload("Deployment", {"containers": containers})
    assert paths("network-policy", each, *policy) == ["spec.template.spec"] * bad
    on_host = workload("Deployment", {"containers": containers, "hostNetwork": True})
    assert not found("network-policy", on_host), "no NetworkPolicy holds for the host's network"


def test_what_does_not_listen_needs_none() -> None:
    assert not found("network-policy", workload("Deployment", {"containers": [{"name": "a"}]}))


def _listener(number: int, selector: Json, **port: Any) -> Object:
    ports = [{"containerPort": number, **port}]
    spec = {"hostNetwork": True, "nodeSelector": selector, "containers": [{"ports": ports}]}
    return workload("DaemonSet", spec)


GPU, CPU = {POOL: "gpu"}, {POOL: "cpu"}


@pytest.mark.parametrize(
    ("first", "second", "clash"),
    [
        (_listener(8080, GPU), _listener(8080, GPU), True),
        (_listener(8080, GPU), _listener(8080, {}), True),
        (_listener(8080, GPU), _listener(8080, {"disk": "ssd"}), True),
        (_listener(8080, GPU), _listener(8080, CPU), False),
        (_listener(8080, GPU), _listener(8081, GPU), False),
        (_listener(8080, GPU), _listener(8080, GPU, protocol="UDP"), False),
        (_listener(8080, GPU), _listener(9090, GPU, hostPort=8080), True),
        (_listener(80, {}, hostIP="10.0.0.1"), _listener(80, {}, hostIP="10.0.0.2"), False),
        (_listener(80, {}, hostIP="10.0.0.1"), _listener(80, {}, hostIP="0.0.0.0"), True),
    ],
)
def test_ports_of_a_host_are_given_once(first: Object, second: Object, clash: bool) -> None:
    where = "spec.template.spec.containers[0].ports[0]"
    assert paths("host-ports-apart", first, second) == [where, where] * clash


def test_what_another_clusters_hosts_have_is_no_clash() -> None:
    each = _listener(8080, {})
    assert not found("host-ports-apart", each, Object("management", _listener(8080, {}).body))


def test_the_ports_of_the_kubelet_are_taken() -> None:
    (one,) = found("host-ports-apart", _listener(10250, GPU))
    assert "the kubelet" in one.message
    assert not found("host-ports-apart", good("Deployment", ("metadata", "labels"), GONE))
