"""Patches: RFC 6902, names that follow from content, and what no patch may change."""

import copy
import json
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from components.making.json_patch import PatchError, apply_operation, tokens
from components.making.manifest import hash_name
from components.making.patches import _at, _refusal
from components.site import objects_by_name, patch_faults
from foresite.judged import judge_site
from schemas.facts.site import Site
from schemas.load import load_site
from schemas.model.codes import Code
from schemas.model.host_agent import HostAgent, InPlace
from schemas.model.patches import Patch, PatchOperation
from tests.kit.repository import FLEET

FOUND = load_site(FLEET, "tsukuba-1").site
assert FOUND
SITE = FOUND
TEMPLATE = "KubeadmConfigTemplate/mncore2"
COMMANDS = "/spec/template/spec/postKubeadmCommands"
FILES = "/spec/template/spec/files"
ADD = {"op": "add", "path": COMMANDS, "value": ["true"]}


def with_patches(*patches: dict[str, Any], site: Site = SITE) -> Site:
    said = {"component": "machines", "object": TEMPLATE, "reason": "a tool of the vendor"}
    said |= {"owner": "infra", "until": "2027-03-31"}
    made = [Patch.model_validate({**said, **each}) for each in patches]
    return replace(site, file=site.file.model_copy(update={"patches": made}))


def patched(*operations: dict[str, Any], **more: Any) -> Site:
    return with_patches({"operations": list(operations), **more})


# An oracle of another make: values as sets of paths to leaves, edited as text would be.
JSON = st.recursive(
    st.integers(0, 3) | st.booleans() | st.sampled_from(["", "a", "b/c", "d~e"]),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(["a", "b/c", "d~e", "0"]), inner, max_size=3)
    ),
    max_leaves=8,
)


def places(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    if path:
        yield path
    pairs = (
        value.items()
        if isinstance(value, dict)
        else enumerate(value)
        if isinstance(value, list)
        else ()
    )
    for key, item in pairs:
        yield from places(item, (*path, key))


def oracle(value: Any, path: tuple[Any, ...], op: str, new: Any) -> Any:
    """The value rebuilt from its parts, each with what becomes of it."""
    if not path:
        return new
    key, *rest = path
    if rest:
        parts = dict(enumerate(value)) if isinstance(value, list) else dict(value)
        parts[key] = oracle(parts[key], tuple(rest), op, new)
        return [*parts.values()] if isinstance(value, list) else parts
    if isinstance(value, list):
        kept = {"add": [new, value[key]] if key < len(value) else [new], "remove": []}
        return value[:key] + kept.get(op, [new]) + value[key + 1 :]
    return {k: v for k, v in value.items() if k != key} | ({} if op == "remove" else {key: new})


@given(data=st.data(), body=JSON, new=JSON, op=st.sampled_from(["add", "remove", "replace"]))
def test_an_operation_does_what_rfc_6902_says(data: Any, body: Any, new: Any, op: str) -> None:
    whole = {"root": body}
    path = data.draw(st.sampled_from([*places(whole)]))
    text = "".join("/" + str(each).replace("~", "~0").replace("/", "~1") for each in path)
    before = copy.deepcopy(whole)
    said: dict[str, Any] = {"op": op, "path": text, "value": new}
    operation = PatchOperation.model_construct(**said)
    found = apply_operation(whole, operation)
    assert json.dumps(found, sort_keys=True) == json.dumps(
        oracle(whole, path, op, new), sort_keys=True
    )
    assert whole == before
    is_same = PatchOperation.model_construct(op="test", path="/root", value=body)
    assert apply_operation(whole, is_same) == before


@pytest.mark.parametrize(
    ("op", "path", "value"),
    [
        ("replace", "/b", 1),
        ("remove", "/b", None),
        ("test", "/a/0/n", True),
        ("add", "/a/3", 1),
        ("remove", "/a/-", None),
        ("remove", "/a/01", None),
        ("replace", "/a/-1", 1),
        ("add", "/t/x", 1),
        ("add", "/a[n=9]/x", 1),
        ("add", "/same[n=1]/x", 1),
        ("add", "/t[n=1]", 1),
    ],
)
def test_an_operation_that_an_object_cannot_take_is_an_error(
    op: str, path: str, value: Any
) -> None:
    body = {"a": [{"n": 1}, {"n": 2}], "t": "text", "same": [{"n": 1}, {"n": 1}]}
    with pytest.raises(PatchError) as error:
        apply_operation(
            body, PatchOperation.model_validate({"op": op, "path": path, "value": value})
        )
    assert str(error.value) and error.value.fix


def test_an_item_is_selected_by_a_field() -> None:
    body = {"files": [{"path": "/etc/a"}, {"path": "/etc/b"}]}
    operation = PatchOperation(op="add", path="/files[path=/etc/b]/mode", value="0600")
    assert apply_operation(body, operation)["files"][1] == {"path": "/etc/b", "mode": "0600"}


def test_a_site_without_patches_has_the_very_same_objects() -> None:
    assert objects_by_name(with_patches()) == objects_by_name(SITE)


def test_a_patched_template_is_named_by_its_content_and_what_refers_to_it_follows() -> None:
    before, after = objects_by_name(SITE), objects_by_name(patched(ADD))
    changed = {name for name in before if before[name] != after[name]}
    deployment = ("machines", "MachineDeployment/mncore2")
    assert changed == {("machines", TEMPLATE), deployment}
    template = after["machines", TEMPLATE].body
    name = hash_name("mncore2", template["spec"])
    assert template["metadata"]["name"] == name
    assert template["spec"]["template"]["spec"]["postKubeadmCommands"] == ["true"]
    machine = after[deployment].body["spec"]["template"]["spec"]
    assert machine["bootstrap"]["configRef"]["name"] == name


def test_another_value_is_another_name() -> None:
    sides = (SITE, patched(ADD), patched({**ADD, "value": ["sync"]}))
    assert len({objects_by_name(each)["machines", TEMPLATE].key for each in sides}) == 3


def test_a_data_template_renames_the_machine_templates_too() -> None:
    site = patched(
        {"op": "replace", "path": "/spec/networkData/services/dns/0", "value": "10.0.0.99"},
        object="Metal3DataTemplate/*",
    )
    assert patch_faults(site) == []
    after = objects_by_name(site)
    for (_, logical), each in after.items():
        if logical.startswith("Metal3MachineTemplate/"):
            spec = each.body["spec"]
            assert each.key[3] == hash_name(each.key[3].rpartition("-")[0], spec)
            names = {e.key[3] for e in after.values() if e.kind == "Metal3DataTemplate"}
            assert spec["template"]["spec"]["dataTemplate"]["name"] in names


def _replace(path: str, value: Any) -> dict[str, Any]:
    return {"op": "replace", "path": path, "value": value}


REFUSED: list[tuple[str, str, dict[str, Any]]] = [
    ("machines", TEMPLATE, _replace("/metadata/name", "other")),
    ("machines", TEMPLATE, _replace("/metadata/labels", {})),
    ("machines", TEMPLATE, {"op": "remove", "path": f"{FILES}/0"}),
    (
        "machines",
        TEMPLATE,
        {
            "op": "add",
            "path": "/spec/template/spec/joinConfiguration/nodeRegistration/taints",
            "value": [],
        },
    ),
    ("machines", "MachineDeployment/mncore2", _replace("/spec/replicas", 1)),
    ("machines", "MachineDeployment/mncore2", _replace("/spec/rollout/strategy/type", "OnDelete")),
    (
        "machines",
        "MachineDeployment/mncore2",
        {"op": "add", "path": "/metadata/annotations/cluster.x-k8s.io~1paused", "value": ""},
    ),
    (
        "machines",
        "MachineDeployment/mncore2",
        {"op": "remove", "path": "/metadata/annotations/argocd.argoproj.io~1sync-options"},
    ),
    (
        "machines",
        "Metal3MachineTemplate/mncore2",
        _replace("/spec/template/spec/hostSelector/matchLabels", {}),
    ),
    ("machines", "KubeadmControlPlane", _replace("/spec/replicas", 1)),
    ("machines", "Cluster", _replace("/spec/clusterNetwork/apiServerPort", 1)),
    ("machines", "BareMetalHost/*", _replace("/spec/online", False)),
    ("machines", "IPPool", {"op": "remove", "path": "/spec"}),
    ("machines", "MachineHealthCheck/mncore2", {"op": "remove", "path": "/spec"}),
    ("machines", "ValidatingAdmissionPolicy*", {"op": "remove", "path": "/spec"}),
    *(
        (
            "machines",
            "MachineDeployment/mncore2",
            {"op": "add", "path": f"/metadata/{key}", "value": "x"},
        )
        for key in (
            "annotations/argocd.argoproj.io~1hook",
            "annotations/helm.sh~1hook",
            "annotations/kustomize.toolkit.fluxcd.io~1force",
            "annotations/kustomize.toolkit.fluxcd.io~1ssa",
            "labels/topology.cluster.x-k8s.io~1owned",
            "annotations/machinedeployment.clusters.x-k8s.io~1revision",
            "uid",
            "resourceVersion",
            "creationTimestamp",
        )
    ),
    *(
        ("accelerators", name, {"op": "add", "path": path, "value": value})
        for name, path, value in (
            ("NodeFeatureRule/*", "/spec/rules/0/taints", [{"key": "a", "effect": "NoExecute"}]),
            ("NodeFeatureRule/*", "/spec/rules/0/labels", {"node.cluster.x-k8s.io/pool": "cpu"}),
            ("DaemonSet/*", "/metadata/labels/node.cluster.x-k8s.io~1pool", "cpu"),
            ("DaemonSet/*", "/metadata/labels/app.kubernetes.io~1name", "other"),
            ("DaemonSet/*", "/spec/template/spec/serviceAccount", "other"),
        )
    ),
    ("remediation", "Deployment/turns", {"op": "add", "path": "/spec/paused", "value": True}),
    ("pod-network", "ConfigMap*", {"op": "remove", "path": "/data"}),
    *(
        (component, name, {"op": "add", "path": f"/spec/template/spec/{field}", "value": value})
        for component, name, field, value in (
            ("accelerators", "DaemonSet/*", "priority", 1),
            ("accelerators", "DaemonSet/*", "priorityClassName", "other"),
            ("accelerators", "DaemonSet/*", "nodeSelector", {"a": "b"}),
            ("remediation", "DaemonSet/*", "terminationGracePeriodSeconds", 900),
            ("remediation", "Deployment/*", "topologySpreadConstraints", []),
            ("remediation", "Deployment/*", "hostNetwork", True),
        )
    ),
    (
        "machines",
        "Namespace",
        {"op": "add", "path": "/metadata/labels/pod-security.kubernetes.io~1enforce", "value": "x"},
    ),
    ("machines", "Namespace", {"op": "add", "path": "/spec", "value": {"finalizers": []}}),
    (
        "machines",
        TEMPLATE,
        {
            "op": "add",
            "path": f"{FILES}/-",
            "value": {"path": "/etc//kubernetes/./x.yaml", "content": "a"},
        },
    ),
]


@pytest.mark.parametrize(("component", "name", "operation"), REFUSED)
def test_what_rules_and_the_preview_rely_on_is_refused(
    component: str, name: str, operation: dict[str, Any]
) -> None:
    site = patched(operation, component=component, object=name)
    (fault,) = patch_faults(site)
    assert fault.code is Code.PATCH_REFUSED, fault
    assert fault.path == ("patches", 0, "operations", 0, "path") and fault.fix
    assert objects_by_name(site) == objects_by_name(SITE)


def test_what_an_agent_applies_is_no_patchs_and_the_rest_renames_its_template() -> None:
    agent = HostAgent(applies=[InPlace.REGISTRIES])
    mirrored = SITE.file.sources.model_copy(update={"registry_mirror": "https://a.example"})
    update = {"host_agent": agent, "sources": mirrored}
    site = replace(SITE, file=SITE.file.model_copy(update=update))
    (name,) = (name for name in objects_by_name(site) if name[1] == TEMPLATE)
    before = objects_by_name(site)[name].key
    mirror = "/etc/containerd/certs.d/_default/hosts.toml".replace("/", "~1")
    content = {"op": "replace", "path": f"{FILES}[path={mirror}]/content", "value": "other"}
    (fault,) = patch_faults(with_patches({"operations": [content]}, site=site))
    assert fault.code is Code.PATCH_REFUSED and "host_agent" in fault.fix
    renamed = with_patches({"operations": [ADD]}, site=site)
    assert not patch_faults(renamed)
    after = objects_by_name(renamed)
    assert after[name].key != before
    used = after["machines", "MachineDeployment/mncore2"].body["spec"]["template"]["spec"]
    assert used["bootstrap"]["configRef"]["name"] == after[name].key[3]


@pytest.mark.parametrize(
    ("patch", "code"),
    [
        ({"object": "KubeadmConfigTemplate/mncore3", "operations": [ADD]}, Code.PATCH_UNUSED),
        ({"component": "machine", "operations": [ADD]}, Code.PATCH_UNUSED),
        (
            {"operations": [{"op": "test", "path": "/kind", "value": "KubeadmConfigTemplate"}]},
            Code.PATCH_UNUSED,
        ),
        (
            {"operations": [{"op": "test", "path": "/kind", "value": "Cluster"}, ADD]},
            Code.PATCH_FAILED,
        ),
        ({"operations": [{"op": "remove", "path": "/spec/x"}]}, Code.PATCH_FAILED),
        ({"operations": [ADD], "until": "2025-03-31"}, Code.PATCH_EXPIRED),
    ],
)
def test_a_patch_that_does_nothing_or_has_ended_fails_a_check(
    patch: dict[str, Any], code: Code
) -> None:
    site = with_patches(patch)
    found = [each[1] for each in judge_site(site, {}).others if isinstance(each, tuple)]
    assert [each for each in found if each.value.startswith("patch-")] == [code]


def test_patches_that_undo_each_other_change_nothing() -> None:
    (fault,) = patch_faults(
        with_patches({"operations": [ADD]}, {"operations": [{"op": "remove", "path": COMMANDS}]})
    )
    assert fault.code is Code.PATCH_UNUSED and fault.path == ("patches", 1)


def test_a_patch_that_takes_a_spec_away_is_judged_and_raises_nothing() -> None:
    made = objects_by_name(SITE)
    component, name = next(each for each in made if each[1].startswith("PrometheusRule/"))
    site = patched({"op": "remove", "path": "/spec"}, component=component, object=name)
    assert patch_faults(site) == []
    assert "spec" not in objects_by_name(site)[component, name].body


def test_a_label_of_an_object_is_not_one_of_its_pods() -> None:
    """Where both are made of one map, too."""
    add = {"op": "add", "path": "/metadata/labels/example.com~1cost-centre", "value": "4711"}
    component, name = "remediation", "Deployment/node-operation-controller"
    site = patched(add, component=component, object=name)
    assert patch_faults(site) == []
    assert json.dumps(objects_by_name(site)[component, name].body).count("4711") == 1


def test_what_equals_in_python_is_another_value() -> None:
    """1 is not true: it changes the object, and its schema refuses it."""
    patch = {"component": "remediation", "object": "Deployment/turns"}
    path = "/spec/template/spec/automountServiceAccountToken"
    (same,) = patch_faults(with_patches({**patch, "operations": [_replace(path, True)]}))
    assert same.code is Code.PATCH_UNUSED
    assert patch_faults(with_patches({**patch, "operations": [_replace(path, 1)]})) == []


def test_the_same_value_under_another_key_is_a_change() -> None:
    body = {"labels": {"cluster.x-k8s.io/a": "x"}}
    other = {"labels": {"cluster.x-k8s.io/b": "x"}}
    path = tokens("/labels/cluster.x-k8s.io~1*")
    assert [*_at(body, path)] != [*_at(other, path)]


@pytest.mark.parametrize(
    ("kind", "path"),
    [
        ("NodeHealthCheck", "/spec/maxUnhealthy"),
        ("SriovNetworkPoolConfig", "/spec/maxUnavailable"),
        ("SriovNetworkNodePolicy", "/spec/numVfs"),
        ("ClusterPolicy", "/spec/daemonsets/rollingUpdate/maxUnavailable"),
        ("NVIDIADriver", "/spec/nodeSelector/a"),
        ("ExternalSecret", "/spec/target/deletionPolicy"),
    ],
)
def test_limits_and_places_of_operators_are_refused(kind: str, path: str) -> None:
    manifest = objects_by_name(SITE)["machines", "Namespace"]
    bodies = []
    for value in ("1", "2"):
        body: Any = value
        for step in reversed(path.split("/")[1:]):
            body = {step: body}
        bodies.append({"kind": kind, **body})
    made = manifest._replace(body={**manifest.body, **bodies[0]})
    assert _refusal("remediation", made, path, *bodies)
