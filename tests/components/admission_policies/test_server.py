"""The rules of clusters on a real API server: what each lets pass, and what it refuses to whom."""

from collections.abc import Iterator, Mapping
from copy import deepcopy
from typing import Any, NamedTuple

import pytest

from components.admission_policies.objects import facts
from components.making.manifest import Json
from policies.cluster import RELEASE_ANNOTATION, cluster_rules
from tests.kit.admission_server import (
    ADMIN,
    CLUSTER_API,
    CONTROLLER,
    KUBELET,
    MANAGER,
    NAMESPACES,
    NEIGHBOUR,
    ON_CALL,
    OPERATOR,
    REMEDIATOR,
    RESETTER,
    SITE,
    As,
    User,
    serving,
)
from tests.kit.repository import all_sites
from tests.kit.waiting import until

pytestmark = pytest.mark.controlplane
DIGEST = f"registry.example/a:v1@sha256:{'0' * 64}"
FAULTY = {"key": "remediation.foresite.dev/faulty", "value": "disk-full", "effect": "NoSchedule"}
QUARANTINED = {**FAULTY, "key": "remediation.foresite.dev/quarantined"}
OTHER = {"key": "example.com/mine", "value": "", "effect": "NoSchedule"}
MARKS = {
    "node.cluster.x-k8s.io/accelerator": "v100",
    "foresite.dev/rack": "r1",
    "seen.foresite.dev/v100": "8",
}
TEAM, OURS = "vision", "node-remediation"


class Case(NamedTuple):
    """A write that somebody makes; ``refused``: part of the answer, empty where it passes."""

    user: User
    method: str
    path: str
    body: Json | None = None
    refused: str = ""


def core(kind: str, name: str = "", namespace: str = "") -> str:
    where = f"namespaces/{namespace}/" if namespace else ""
    return f"/api/v1/{where}{kind}{f'/{name}' if name else ''}"


def custom(group: str, kind: str, name: str) -> str:
    return f"/apis/{group}/namespaces/{SITE}/{kind}/{name}"


CLUSTER = custom("cluster.x-k8s.io/v1beta2", "clusters", SITE)
CONTROL = custom("controlplane.cluster.x-k8s.io/v1beta2", "kubeadmcontrolplanes", SITE)
POOLED = custom("ipam.metal3.io/v1alpha1", "ippools", SITE)
NETWORK = custom("infrastructure.cluster.x-k8s.io/v1beta2", "metal3clusters", SITE)


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> Iterator[As]:
    with serving(tmp_path_factory.mktemp("admission")) as (_, found):
        found.apply(marked())
        found.apply(namespace("stranger", {}))
        found.apply(service("LoadBalancer", ["192.0.2.1"]))
        until(lambda: all(found.said(*each[:4]) for each in ONE_EACH.values()))
        yield found


def node(*taints: Json, labels: Mapping[str, str] = MARKS) -> Json:
    metadata = {"name": "n", "labels": dict(labels)}
    spec = {"taints": list(taints)}
    return {"apiVersion": "v1", "kind": "Node", "metadata": metadata, "spec": spec}


def marked(**labels: str) -> Json:
    """The node with other labels."""
    return node(FAULTY, QUARANTINED, OTHER, labels={**MARKS, **labels})


def namespace(name: str, labels: Json, **annotations: str) -> Json:
    metadata = {"name": name, "labels": labels, "annotations": annotations}
    return {"apiVersion": "v1", "kind": "Namespace", "metadata": metadata}


def pod(image: str = DIGEST, **more: Any) -> Json:
    spec = {"containers": [{"name": "main", "image": image}], **more}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "a"}, "spec": spec}


def daemon_set(name: str = "a") -> Json:
    labels = {"app": "a"}
    template = {"metadata": {"labels": labels}, "spec": pod()["spec"]}
    spec = {"selector": {"matchLabels": labels}, "template": template}
    return {"apiVersion": "apps/v1", "kind": "DaemonSet", "metadata": {"name": name}, "spec": spec}


def service(kind: str = "ClusterIP", external: list[str] | None = None, name: str = "old") -> Json:
    spec: Json = {"type": kind, "ports": [{"port": 80}], "externalIPs": external or []}
    metadata = {"name": name, "namespace": TEAM}
    return {"apiVersion": "v1", "kind": "Service", "metadata": metadata, "spec": spec}


def of(client: As, path: str, **changes: Any) -> Json:
    """The object there, with other labels or annotations (None: without), or another spec."""
    found = deepcopy(client.request("GET", path))
    for part in ("labels", "annotations"):
        values = {**found["metadata"].get(part, {}), **changes.get(part, {})}
        found["metadata"][part] = {k: v for k, v in values.items() if v is not None}
    found.setdefault("spec", {}).update(changes.get("spec", {}))
    return found


def first(client: As, group: str, kind: str) -> str:
    """The path of the first object of a kind in the site's namespace."""
    items = client.request("GET", f"/apis/{group}/namespaces/{SITE}/{kind}")["items"]
    return custom(group, kind, items[0]["metadata"]["name"])


SERVICES, PODS, SETS = (
    core("services", namespace=TEAM),
    core("pods", namespace=OURS),
    f"/apis/apps/v1/namespaces/{OURS}/daemonsets",
)
BINDINGS = "/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicybindings"
ONE_EACH = {
    "site-deletion": Case(ADMIN, "DELETE", CLUSTER),
    "machine-deletion": Case(ADMIN, "DELETE", CONTROL),
    "namespace-marks": Case(
        OPERATOR, "POST", core("namespaces"), namespace("b", {"foresite.dev/team": "vision"})
    ),
    "namespace-deletion": Case(OPERATOR, "DELETE", core("namespaces", TEAM)),
    "privileged-pods": Case(OPERATOR, "POST", PODS, pod()),
    "image-digest": Case(ADMIN, "POST", PODS, pod("registry.example/a:v1")),
    "exposed-services": Case(OPERATOR, "POST", SERVICES, service("NodePort", name="b")),
}
"""A fault for each rule that a request by itself can break: with all of them it is known that the
policies judge. The others' are made with them, and before them."""


def judged(client: As, case: Case) -> None:
    said = client.said(case.user, case.method, case.path, case.body)
    assert case.refused in said if case.refused else said == "", said


@pytest.mark.parametrize("name", ONE_EACH)
def test_each_rule_says_its_name_and_what_to_do(client: As, name: str) -> None:
    case = ONE_EACH[name]
    said = client.said(*case[:4])
    assert f"'{name}.foresite.dev'" in said or f"'foresite-{SITE}-{name}'" in said
    assert set(ONE_EACH) <= {rule.name for rule in cluster_rules(facts(all_sites()[SITE]))}


# --- the management cluster -----------------------------------------------------------------------


@pytest.mark.parametrize("user", [ADMIN, OPERATOR, CLUSTER_API])
@pytest.mark.parametrize("path", [CLUSTER, CONTROL, POOLED, NETWORK])
def test_what_a_site_stands_on_is_deleted_by_nobody(client: As, user: User, path: str) -> None:
    assert RELEASE_ANNOTATION in client.said(user, "DELETE", path)


def test_the_namespace_of_a_site_is_deleted_by_nobody(client: As) -> None:
    assert RELEASE_ANNOTATION in client.said(ADMIN, "DELETE", core("namespaces", SITE))


def test_all_at_once_is_refused_as_well(client: As) -> None:
    assert RELEASE_ANNOTATION in client.said(ADMIN, "DELETE", CLUSTER.rpartition("/")[0])


def test_other_namespaces_are_not_looked_at(client: As) -> None:
    assert client.said(OPERATOR, "DELETE", core("namespaces", "stranger")) == ""


def test_writing_is_not_deleting(client: As) -> None:
    judged(client, Case(CLUSTER_API, "PUT", CLUSTER, of(client, CLUSTER, spec={"paused": True})))


def merged(client: As, path: str, patch: Json) -> None:
    client.request("PATCH", path, patch, "application/merge-patch+json")


def passes(client: As, user: User, path: str) -> None:
    """A deletion is let through, once the server has seen the last change."""
    until(lambda: client.said(user, "DELETE", path) == "")


def annotated(client: As, path: str, value: str | None) -> None:
    merged(client, path, {"metadata": {"annotations": {RELEASE_ANNOTATION: value}}})


@pytest.mark.parametrize("path", [CLUSTER, CONTROL, POOLED, core("namespaces", SITE)])
def test_what_was_released_can_be_deleted(client: As, path: str) -> None:
    annotated(client, path, "")
    assert RELEASE_ANNOTATION in client.said(ADMIN, "DELETE", path)
    annotated(client, path, "the hall is given back")
    try:
        passes(client, ADMIN, path)
    finally:
        annotated(client, path, None)
        until(lambda: client.said(ADMIN, "DELETE", path))


def test_a_released_namespace_releases_what_is_in_it(client: As) -> None:
    annotated(client, core("namespaces", SITE), "the hall is given back")
    try:
        for path in (CLUSTER, CONTROL, POOLED, NETWORK):
            passes(client, OPERATOR, path)
    finally:
        annotated(client, core("namespaces", SITE), None)
        until(lambda: client.said(ADMIN, "DELETE", CLUSTER))


def test_a_host_is_kept_while_a_machine_runs_on_it(client: As) -> None:
    host = first(client, "metal3.io/v1alpha1", "baremetalhosts")
    assert client.said(OPERATOR, "DELETE", host) == ""
    machine = {"apiVersion": "infrastructure.cluster.x-k8s.io/v1beta2", "kind": "Metal3Machine",
               "name": "control-x", "namespace": SITE}  # fmt: skip
    merged(client, host, {"spec": {"consumerRef": machine}})
    assert "control-x" in client.said(ADMIN, "DELETE", host)
    annotated(client, host, "the board is broken")
    assert client.said(ADMIN, "DELETE", host) == ""
    merged(client, host, {"spec": {"consumerRef": None}})
    annotated(client, host, None)


def test_a_pool_is_kept_until_it_is_empty(client: As) -> None:
    pool = first(client, "cluster.x-k8s.io/v1beta2", "machinedeployments")
    assert "is in use" in client.said(CLUSTER_API, "DELETE", pool)
    merged(client, pool, {"spec": {"replicas": 0}})
    assert client.said(OPERATOR, "DELETE", pool) == ""
    merged(client, f"{pool}/status", {"status": {"replicas": 2}})
    assert "is in use" in client.said(OPERATOR, "DELETE", pool)


# --- the site's own cluster -----------------------------------------------------------------------


def test_who_may_change_the_rules_may_do_what_they_forbid(client: As) -> None:
    """Pulumi, Cluster API in its own cluster, and administrators are not held up."""
    own = core("namespaces", TEAM)
    changed = of(client, own, labels={"foresite.dev/team": "other"})
    judged(client, Case(ADMIN, "PUT", own, changed))
    judged(client, Case(ADMIN, "PUT", core("nodes", "n"), node()))
    judged(client, Case(ADMIN, "POST", PODS, pod()))
    judged(client, Case(ADMIN, "POST", SERVICES, service("NodePort", name="b")))
    judged(client, Case(ADMIN, "DELETE", own))


ENFORCE = "pod-security.kubernetes.io/enforce"


@pytest.mark.parametrize(
    ("where", "changes", "refused"),
    [
        (TEAM, {"labels": {ENFORCE: "restricted"}}, "Pod Security"),
        (TEAM, {"labels": {ENFORCE: None}}, "Pod Security"),
        (TEAM, {"labels": {"app.kubernetes.io/managed-by": None}}, "Pod Security"),
        (TEAM, {"labels": {"foresite.dev/team": None}}, "site file"),
        (TEAM, {"labels": {"foresite.dev/rdma": "host-network"}}, "site file"),
        (TEAM, {"annotations": {"foresite.dev/priorities": "urgent"}}, "annotations"),
        (TEAM, {"annotations": {"scheduling.volcano.sh/queue-name": "x"}}, "queue"),
        (TEAM, {"labels": {"example.com/cost": "7"}}, ""),
        (TEAM, {"annotations": {"example.com/cost": "7"}}, ""),
        ("stranger", {"labels": {ENFORCE: "restricted"}}, ""),
        ("stranger", {"annotations": {"scheduling.volcano.sh/queue-name": "x"}}, ""),
        ("stranger", {"labels": {"foresite.dev/team": "vision"}}, "site file"),
    ],
)
def test_marks_of_namespaces(client: As, where: str, changes: Json, refused: str) -> None:
    path = core("namespaces", where)
    body = of(client, path, **changes)
    for part in ("", "/status", "/finalize"):
        judged(client, Case(OPERATOR, "PUT", f"{path}{part}", body, refused))


def test_namespaces_of_others_come_and_go(client: As) -> None:
    judged(client, Case(OPERATOR, "POST", core("namespaces"), namespace("b", {"a": "b"})))
    judged(client, Case(OPERATOR, "DELETE", core("namespaces", "stranger")))
    judged(client, Case(ON_CALL, "DELETE", core("namespaces", TEAM), None, "site file"))


POD_WRITERS = (
    (CONTROLLER, ""),
    (MANAGER, ""),
    (NEIGHBOUR, ""),
    (KUBELET, ""),
    (OPERATOR, "may be root"),
    (CLUSTER_API, "may be root"),
)


@pytest.mark.parametrize(("user", "refused"), POD_WRITERS)
def test_pods_in_privileged_namespaces(client: As, user: User, refused: str) -> None:
    judged(client, Case(user, "POST", PODS, pod(), refused))
    judged(client, Case(user, "POST", SETS, daemon_set(), refused))
    job = {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "a"},
           "spec": {"template": {"spec": {**pod()["spec"], "restartPolicy": "Never"}}}}  # fmt: skip
    judged(client, Case(user, "POST", f"/apis/batch/v1/namespaces/{OURS}/jobs", job, refused))
    # Pods of others are their own affair.
    judged(client, Case(user, "POST", core("pods", namespace="stranger"), pod("a:latest")))


def test_a_program_of_ours_keeps_its_spec_and_may_be_marked(client: As) -> None:
    made = daemon_set("kept")
    client.request("POST", SETS, made)
    path = f"{SETS}/kept"
    judged(client, Case(OPERATOR, "PUT", path, of(client, path, annotations={"a": "b"})))
    changed = of(client, path)
    changed["spec"]["template"]["spec"]["hostPID"] = True
    judged(client, Case(OPERATOR, "PUT", path, changed, "may be root"))
    judged(client, Case(CONTROLLER, "PUT", path, changed))


@pytest.fixture(scope="module")
def running(client: As) -> str:
    """The path of a pod of ours that runs, of before the rules: its image is a tag."""
    made = pod("registry.example/a:v1")
    made["metadata"]["name"] = "running"
    advised = client.request("GET", f"{BINDINGS}/image-digest.foresite.dev")["spec"]
    merged(
        client, f"{BINDINGS}/image-digest.foresite.dev", {"spec": {"validationActions": ["Warn"]}}
    )
    until(lambda: client.said(ADMIN, "POST", PODS, made) == "")
    client.request("POST", PODS, made)
    actions = {"validationActions": advised["validationActions"]}
    merged(client, f"{BINDINGS}/image-digest.foresite.dev", {"spec": actions})
    until(lambda: client.said(ADMIN, "POST", PODS, pod("registry.example/a:v1")))
    return f"{PODS}/running"


def imaged(client: As, path: str, image: str) -> Json:
    body = of(client, path)
    body["spec"]["containers"][0]["image"] = image
    return body


def test_a_pod_of_what_a_team_brings_has_the_images_that_its_entry_allows(client: As) -> None:
    ours = {"app.kubernetes.io/managed-by": "foresite"}
    tag = pod("registry.example/a:v1")
    for component in ("extra-dns", "pod-network", "dns"):
        client.apply(namespace(component, {**ours, "foresite.dev/component": component}))
        said = client.said(ADMIN, "POST", core("pods", namespace=component), tag)
        assert (said == "") == (component != "dns"), said


def test_a_pod_of_ours_keeps_its_images_and_may_be_marked(client: As, running: str) -> None:
    finalized = of(client, running)
    finalized["metadata"]["finalizers"] = ["example.com/mine"]
    for user in (OPERATOR, CONTROLLER, KUBELET):
        judged(client, Case(user, "PUT", running, finalized))
        judged(client, Case(user, "PUT", f"{running}/status", finalized))
    judged(client, Case(OPERATOR, "PUT", running, imaged(client, running, DIGEST), "may be root"))
    judged(client, Case(CONTROLLER, "PUT", running, imaged(client, running, DIGEST)))
    # Nobody gives it another tag, as nobody starts a pod with one.
    for user in (CONTROLLER, ADMIN):
        other = imaged(client, running, "registry.example/a:v2")
        judged(client, Case(user, "PUT", running, other, "digest (name:tag@sha256:...): reg"))


def test_no_container_is_put_into_a_privileged_pod(client: As, running: str) -> None:
    path, body = f"{running}/ephemeralcontainers", client.request("GET", running)
    debug = {"name": "debug", "image": DIGEST, "terminationMessagePolicy": "File"}
    body["spec"]["ephemeralContainers"] = [debug]
    judged(client, Case(OPERATOR, "PUT", path, body, "may be root"))
    judged(client, Case(ADMIN, "PUT", path, body))
    body["spec"]["ephemeralContainers"] = [{**debug, "image": "busybox"}]
    judged(client, Case(ADMIN, "PUT", path, body, "busybox"))


@pytest.mark.parametrize(
    ("made", "refused"),
    [
        (pod(), ""),
        (pod("registry.example/a:v1"), "registry.example/a:v1"),
        (pod("registry.example/a"), "digest"),
        (pod("registry.example/a@sha256:0"), "a@sha256:0"),
        (pod(initContainers=[{"name": "i", "image": "b:v2"}]), "b:v2"),
        (pod(initContainers=[{"name": "i", "image": DIGEST}]), ""),
    ],
)
def test_images_in_our_namespaces(client: As, made: Json, refused: str) -> None:
    judged(client, Case(CONTROLLER, "POST", PODS, made, refused))


@pytest.mark.parametrize(
    ("user", "made", "refused"),
    [
        (OPERATOR, node(FAULTY, QUARANTINED), ""),
        (OPERATOR, node(QUARANTINED, OTHER), "has a fault"),
        (OPERATOR, node(FAULTY, OTHER), "has a fault"),
        (OPERATOR, node({**FAULTY, "effect": "PreferNoSchedule"}, QUARANTINED), "has a fault"),
        (REMEDIATOR, node(), ""),
        (ON_CALL, node(), ""),
        (NEIGHBOUR, node(), "has a fault"),
        (OPERATOR, marked(**{"node.cluster.x-k8s.io/accelerator": "h100"}), "site file"),
        (KUBELET, marked(**{"node.cluster.x-k8s.io/accelerator": "h100"}), "site file"),
        (KUBELET, marked(**{"foresite.dev/rack": "r2"}), "site file"),
        (OPERATOR, marked(**{"remediation.foresite.dev/turn": "disk-full"}), "site file"),
        (REMEDIATOR, marked(**{"remediation.foresite.dev/turn": "disk-full"}), ""),
        (RESETTER, marked(**{"remediation.foresite.dev/turn": "disk-full"}), "site file"),
        (RESETTER, marked(**{"remediation.foresite.dev/reset": "true"}), ""),
        (NEIGHBOUR, marked(**{"remediation.foresite.dev/reset": "true"}), "site file"),
        (RESETTER, node(), "has a fault"),
        (OPERATOR, marked(**{"seen.foresite.dev/v100": "7"}), ""),
        (KUBELET, marked(**{"kubernetes.io/os": "linux"}), ""),
        (OPERATOR, marked(**{"example.com/mine": "yes"}), ""),
    ],
)
def test_marks_of_nodes(client: As, user: User, made: Json, refused: str) -> None:
    judged(client, Case(user, "PUT", core("nodes", "n"), made, refused))


def test_a_kubelet_registers_and_reports(client: As) -> None:
    new = node()
    new["metadata"]["name"] = "m"
    judged(client, Case(KUBELET, "POST", core("nodes"), new))
    path = f"{core('nodes', 'n')}/status"
    report = {"status": {"conditions": [{"type": "Ready", "status": "True"}]}}
    judged(client, Case(KUBELET, "PUT", path, {**of(client, core("nodes", "n")), **report}))
    # So it does in fact, with the labels that it has from its host, until its node is gone.
    named = {"metadata": {"labels": {"kubernetes.io/arch": "amd64"}}}
    strategic = "application/strategic-merge-patch+json"
    assert client.said(KUBELET, "PATCH", path, report | named, strategic) == ""
    for label in ("node.cluster.x-k8s.io/accelerator", "foresite.dev/rack"):
        for value in ("other", None):
            marks = {"metadata": {"labels": {label: value}}}
            said = client.said(KUBELET, "PATCH", path, report | marks, strategic)
            assert "follow from the site file" in said


@pytest.mark.parametrize("user", [OPERATOR, NEIGHBOUR])
def test_marks_of_nodes_do_not_come_with_a_status(client: As, user: User) -> None:
    path = f"{core('nodes', 'n')}/status"
    stolen = marked(**{"node.cluster.x-k8s.io/accelerator": "h100"})
    judged(client, Case(user, "PUT", path, stolen, "site file"))
    judged(client, Case(REMEDIATOR, "PUT", path, stolen))
    # Taints do not come with it at all.
    judged(client, Case(user, "PUT", path, node()))


@pytest.mark.parametrize(
    ("made", "refused"),
    [
        (service(name="b"), ""),
        (service("ExternalName", name="b") | {"spec": {"type": "ExternalName",
                                                       "externalName": "a.example"}}, ""),
        (service("NodePort", name="b"), "open to everyone"),
        (service("LoadBalancer", name="b"), "open to everyone"),
        (service("ClusterIP", ["192.0.2.1"], name="b"), "meant for others"),
    ],
)  # fmt: skip
def test_new_services_of_teams(client: As, made: Json, refused: str) -> None:
    judged(client, Case(OPERATOR, "POST", SERVICES, made, refused))


def test_services_that_are_there_can_be_written(client: As) -> None:
    path = core("services", "old", TEAM)
    judged(client, Case(OPERATOR, "PUT", path, of(client, path, labels={"a": "b"})))
    more = of(client, path, spec={"externalIPs": ["192.0.2.1", "192.0.2.2"]})
    judged(client, Case(OPERATOR, "PUT", path, more, "meant for others"))
    closed = of(client, path, spec={"externalIPs": []})
    judged(client, Case(OPERATOR, "PUT", path, closed))
    judged(client, Case(OPERATOR, "PUT", path, of(client, path, spec={"type": "NodePort"}),
                        "open to everyone"))  # fmt: skip


def test_services_of_others_are_not_looked_at(client: As) -> None:
    made = service("NodePort")
    made["metadata"]["namespace"] = "stranger"
    judged(client, Case(OPERATOR, "POST", core("services", namespace="stranger"), made))


# --- these change what the others look at, so they come last --------------------------------------


def test_what_a_cluster_that_goes_leaves_is_cluster_apis(client: As) -> None:
    """Cluster API deletes the parts of a Cluster by itself, without a word on each of them."""
    merged(client, CLUSTER, {"metadata": {"finalizers": ["cluster.cluster.x-k8s.io"]}})
    annotated(client, CLUSTER, "the hall is given back")
    client.request("DELETE", CLUSTER)
    for path in (CONTROL, POOLED, NETWORK):
        passes(client, CLUSTER_API, path)
    merged(client, CLUSTER, {"metadata": {"finalizers": None}})
    passes(client, OPERATOR, CONTROL)


def test_a_namespace_that_goes_takes_everything(client: As) -> None:
    host = first(client, "metal3.io/v1alpha1", "baremetalhosts")
    merged(client, host, {"spec": {"consumerRef": {"name": "x", "namespace": SITE}}})
    assert client.said(NAMESPACES, "DELETE", host)
    annotated(client, core("namespaces", SITE), "the hall is given back")
    client.request("DELETE", core("namespaces", SITE))
    annotated(client, core("namespaces", SITE), None)
    passes(client, NAMESPACES, host)
