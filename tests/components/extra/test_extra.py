"""What a team brings: registered as it is, judged by its own definitions, kept from Foresite's."""

from typing import Any

import pytest
import yaml

from components.effects.vocabulary import ObjectChange
from components.extra.effects import owners_rule
from components.extra.objects import objects
from components.making.manifest import Manifest, Target
from components.making.validation import object_problems
from components.site import site_objects
from controlplane import ApiError, ControlPlane
from controlplane.crds import install_crds
from schemas.kubernetes.manifests import read_manifests
from tests.golden import every_site
from tests.kit.charts import NETWORK, with_extra

SITE = every_site()["lab-1"]
CRD: dict[str, object] = {
    "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
    "metadata": {"name": "tools.extra.example"},
}  # fmt: skip


def problems(text: str, **fields: Any) -> list[str]:
    site = with_extra(SITE, text, **fields)
    return [str(problem.message) for _, problem in object_problems(site, site_objects(site))]


def peer(**spec: Any) -> str:
    body = {"apiVersion": "network.example/v1", "kind": "NetworkPeer", "spec": spec}
    return f"{NETWORK}---\n" + yaml.safe_dump(
        {**body, "metadata": {"name": "a", "namespace": "kube-system"}}
    )


def test_objects_are_what_the_file_says_with_labels_of_ours() -> None:
    made = objects(with_extra(SITE))
    assert [each.kind for each in made] == [each["kind"] for each in read_manifests(NETWORK)]
    for each, said in zip(made, read_manifests(NETWORK), strict=True):
        assert {k: v for k, v in each.body.items() if k != "metadata"} == {
            k: v for k, v in said.items() if k != "metadata"
        }
        assert each.body["metadata"]["labels"]["foresite.dev/component"] == "extra-network"
        assert each.name.startswith("network/") and each.target is Target.SITE
        assert each.protect == (each.kind == "CustomResourceDefinition")
    # Pulumi waits until the kind is served, as objects of it follow.
    assert "pulumi.com/skipAwait" not in made[0].body["metadata"]["annotations"]


def test_entries_say_which_cluster_and_what_is_protected() -> None:
    made = objects(with_extra(SITE, cluster="management", protect=True))
    assert {each.target for each in made} == {Target.MANAGEMENT}
    assert all(each.protect for each in made)
    assert objects(SITE) == []


def test_custom_resources_are_judged_by_the_definition_that_comes_along() -> None:
    assert problems(NETWORK) == []
    assert problems(peer(address="10.0.0.1")) == []
    assert "is required, but missing" in str(problems(peer(weight=1)))
    assert "must be integer" in str(problems(peer(address="10.0.0.1", weight="x")))
    assert "is an unknown field" in str(problems(peer(address="10.0.0.1", color="x")))
    (fault,) = problems(yaml.safe_dump(next(yaml.safe_load_all(peer())) | {"kind": "Nothing"}))
    assert "there is no schema" in fault


@pytest.mark.parametrize(
    "spec",
    [
        None, [], "x", {"versions": 3}, {"versions": [None]}, {"group": "a", "versions": [{}]},
        {"group": "extra.example", "scope": "Namespaced", "names": {"kind": "Tool"}, "versions": [
            {"name": "v1", "served": True, "schema": {"openAPIV3Schema": {
                "type": "object", "properties": {"a": {"pattern": "(?=x"}}}}}]},
        {"group": "extra.example", "scope": "Namespaced", "names": {"kind": "Tool"}, "versions": [
            {"name": "v1", "served": True, "schema": {"openAPIV3Schema": {"properties": 3}}}]},
    ],
)  # fmt: skip
def test_a_definition_of_any_shape_is_a_problem_and_no_crash(spec: object) -> None:
    body: dict[str, object] = {"apiVersion": "extra.example/v1", "kind": "Tool", "a": "b"}
    body |= {"metadata": {"name": "a", "namespace": "b"}}
    assert problems(yaml.safe_dump_all([{**CRD, "spec": spec}, body]))


def test_what_foresite_makes_is_not_made_a_second_time() -> None:
    made = next(each for each in site_objects(SITE)["teams"] if each.kind == "Namespace")
    text = yaml.safe_dump({**made.body, "metadata": {"name": made.key[3]}})
    assert any("is also made as teams" in each for each in problems(text))


def test_namespaces_of_foresite_are_closed_and_those_of_teams_are_open() -> None:
    made = site_objects(SITE)
    config = {"apiVersion": "v1", "kind": "ConfigMap"}
    for component in made:
        for space in (each.key[3] for each in made[component] if each.kind == "Namespace"):
            text = yaml.safe_dump({**config, "metadata": {"name": "x", "namespace": space}})
            open_to_all = component in ("teams", "machines")
            assert (problems(text) == []) == open_to_all, space


@pytest.mark.parametrize(
    "kind", ["Metal3Remediation.infrastructure.cluster.x-k8s.io", "Machine.cluster.x-k8s.io",
             "MachinePool.cluster.x-k8s.io", "Namespace", "APIService.apiregistration.k8s.io"]
)  # fmt: skip
def test_no_owner_states_effects_of_what_foresite_knows_or_what_makes_machines(kind: str) -> None:
    name, _, group = kind.partition(".")
    said = {
        "effect": "none",
        "why": "it does nothing to hosts",
        "source": "pools 1.2, main.go",
        "owner": "net-team",
    }
    rules = [{**said, "kind": name, "until": "2027-06-30"}]
    site = with_extra(SITE, rules=rules)
    body = {"apiVersion": f"{group}/v1".lstrip("/"), "kind": name, "metadata": {"name": "a"}}
    change = ObjectChange("extra", None, Manifest("network/a", body))
    assert owners_rule(site, change, None) is None
    body["apiVersion"] = "network.example/v1"
    assert owners_rule(site, change, None) is not None


@pytest.mark.parametrize(
    ("api", "kind", "namespace", "more"),
    [
        ("admissionregistration.k8s.io/v1", "MutatingWebhookConfiguration", "", {"webhooks": []}),
        ("apiregistration.k8s.io/v1", "APIService", "", {"spec": {
            "group": "metrics.k8s.io", "version": "v1beta1", "groupPriorityMinimum": 100,
            "versionPriority": 100}}),
        ("storage.k8s.io/v1", "StorageClass", "", {"provisioner": "nfs.csi.k8s.io"}),
        ("networking.k8s.io/v1", "Ingress", "pools", {"spec": {"ingressClassName": "public"}}),
        ("autoscaling/v2", "HorizontalPodAutoscaler", "pools", {"spec": {
            "maxReplicas": 2, "scaleTargetRef": {"kind": "Deployment", "name": "a"}}}),
        ("v1", "PersistentVolumeClaim", "pools", {"spec": {"accessModes": ["ReadWriteOnce"]}}),
    ],
)  # fmt: skip
def test_kinds_of_kubernetes_that_charts_bring_have_schemas(
    api: str, kind: str, namespace: str, more: dict[str, Any]
) -> None:
    metadata = {"name": "a", **({"namespace": namespace} if namespace else {})}
    body = {"apiVersion": api, "kind": kind, "metadata": metadata, **more}
    assert problems(yaml.safe_dump(body)) == []
    assert "is an unknown field" in str(problems(yaml.safe_dump({**body, "color": "x"})))


@pytest.mark.controlplane
def test_the_api_server_takes_every_object_and_judges_by_cel(api: ControlPlane) -> None:
    made = objects(with_extra(SITE))
    with api.client() as client:
        install_crds(client, [each.body for each in made if each.kind == CRD["kind"]])
        for each in made:
            client.apply(each.body, dry_run=True)
        bad = next(each.body for each in made if each.kind == "NetworkPeer")
        with pytest.raises(ApiError, match="weight must be below 100"):
            client.apply({**bad, "spec": {**bad["spec"], "weight": 100}}, dry_run=True)
