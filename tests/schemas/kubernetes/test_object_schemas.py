"""The schemas of objects: what is good passes, one fault is refused at its place, and a second,
independent engine agrees."""

import random
import re
from collections.abc import Iterator
from typing import Any

import jsonschema
import jsonschema_rs
import pytest
import yaml

from schemas.kubernetes.objects import check_object, check_objects, store, strict_schema
from schemas.kubernetes.objects.check import misfits
from schemas.kubernetes.objects.dialect import LIST_KEYS, UnknownFact, compact, dump
from schemas.kubernetes.objects.patterns import portable
from schemas.kubernetes.objects.strict import strict
from schemas.kubernetes.objects.words import first_fault
from tests.kit.good_objects import BY_KIND, GONE, JOB_POD, OBJECTS, Place, changed, nodes

WRONG: tuple[Any, ...] = (
    None,
    True,
    0,
    -1,
    1.5,
    2**40,
    "",
    "x y",
    "a\n",
    [],
    ["x"],
    [{}],
    {},
    {"x": "y"},
)
CONTAINER = ("spec", "template", "spec", "containers", 0)


def mutations(obj: dict[str, Any]) -> Iterator[Any]:
    """An object with one thing wrong at each path: unknown, twice, gone, of a wrong type."""
    for path, node in nodes(obj):
        if isinstance(node, dict):
            yield changed(obj, (*path, "unknown"), "x")
        if isinstance(node, list) and node:
            yield changed(obj, path, [*node, node[0]])
        if path:
            yield from (changed(obj, path, value) for value in (GONE, *WRONG))


def reference_check(obj: dict[str, Any]) -> set[Place]:
    """The places of all faults by the plain ``jsonschema``, with Go's meaning of ``$``."""
    paths: set[Place] = set()
    for error in REFERENCE(strict_schema(obj["apiVersion"], obj["kind"])).iter_errors(obj):
        path = tuple(error.absolute_path)
        if error.validator == "required":
            paths |= {(*path, name) for name in error.validator_value if name not in error.instance}
        elif error.validator == "additionalProperties":
            known = error.schema.get("properties", {})
            keys = "|".join(error.schema.get("patternProperties", ())) or "(?!)"
            extra = [k for k in error.instance if k not in known and not re.search(keys, k)]
            paths |= {(*path, name) for name in extra}
        elif error.validator == LIST_KEYS:
            paths |= {(*path, i) for i in misfits(error.instance, error.validator_value)}
        else:
            paths.add(path)
    return paths


def _pattern(_: Any, pattern: str, instance: Any, __: Any) -> Iterator[jsonschema.ValidationError]:
    go = re.sub(r"\\.|\[(?:\\.|[^\]])*\]|\$", lambda m: r"\Z" if m[0] == "$" else m[0], pattern)
    if isinstance(instance, str) and not re.search(go, instance):
        yield jsonschema.ValidationError("pattern")


def _list_keys(_: Any, keys: Any, items: Any, __: Any) -> Iterator[jsonschema.ValidationError]:
    if misfits(items, keys):
        yield jsonschema.ValidationError("keys")


REFERENCE = jsonschema.validators.extend(  # type: ignore[no-untyped-call]  # a gap in its stubs
    jsonschema.Draft4Validator, {"pattern": _pattern, LIST_KEYS: _list_keys}
)


@pytest.mark.parametrize("kind", BY_KIND)
def test_good_objects_pass(kind: str) -> None:
    assert check_object(BY_KIND[kind]) == []
    assert reference_check(BY_KIND[kind]) == set()


ONE_FAULT: list[tuple[str, Place, Any]] = [
    ("Cluster", ("specs",), {}),
    ("KubeadmControlPlane", ("spec", "kubeadmConfigSpec", "files", 0, "owners"), "root"),
    ("BareMetalHost", ("spec", "raid", "unknown"), 1),
    ("MachineDeployment", ("spec", "replicas"), "8"),
    ("ConfigMap", ("data", "net.yaml"), 1),
    ("Metal3MachineTemplate", ("spec", "template", "spec", "image", "url"), GONE),
    ("Cluster", ("kind",), GONE),
    ("BareMetalHost", ("metadata", "namespace"), GONE),
    ("Metal3RemediationTemplate", ("spec", "template", "spec", "strategy", "timeoutSeconds"), 99),
    ("MachineHealthCheck", ("spec", "checks", "nodeStartupTimeoutSeconds"), 2**31),
    ("MachineDeployment", ("spec", "replicas"), -1),
    ("BareMetalHost", ("spec", "bootMode"), "uefi"),
    ("BareMetalHost", ("spec", "bootMACAddress"), "02:00:00:00:00:1"),
    ("IPPool", ("spec", "pools", 0, "start"), "10.16.1.1\n"),
    ("IPPool", ("spec", "pools", 0, "prefix"), "24"),
    ("DaemonSet", (*CONTAINER, "resources", "limits", "memory"), "1.5GB"),
    ("DaemonSet", (*CONTAINER, "readinessProbe", "httpGet", "port"), 1.0),
    ("Cluster", ("metadata", "creationTimestamp"), "2026-02-30 10:00"),
    ("BareMetalHost", ("spec", "bmc"), None),
    ("BareMetalHost", ("metadata", "lables"), {}),
    ("BareMetalHost", ("metadata", "labels", "gpu model"), "v100"),
    ("BareMetalHost", ("metadata", "labels", "gpu"), "v 100"),
    ("BareMetalHost", ("metadata", "name"), "GPU-001"),
    ("Namespace", ("metadata", "namespace"), "site-1"),
    ("Namespace", ("kind",), "Namespaces"),
    ("Cluster", ("apiVersion",), "cluster.x-k8s.io/v1beta1"),
    ("IPPool", ("spec", "pools", 0, "start"), {1, 2}),
    ("ClusterThrottle", ("spec", "selector", "selecterTerms"), []),
    ("ClusterThrottle", ("spec", "temporaryThresholdOverrides", 0, "threshold"), GONE),
    ("ClusterQueue", ("spec", "cohort"), "research"),
    ("ClusterQueue", ("spec", "queueingStrategy"), "Fifo"),
    ("ClusterPolicy", ("spec", "gfd"), GONE),
    ("DeviceClass", ("spec", "extendedResource"), "example.org/gpu"),
    ("NodeFeatureRule", ("spec", "rules", 0, "matchFeatures", 0, "feature"), GONE),
    ("SriovNetworkNodePolicy", ("spec", "numVfs"), GONE),
    ("SriovNetworkNodePolicy", ("spec", "priority"), 100),
    ("Queue", ("spec", "weight"), 0),
    ("Job", ("spec", "tasks", 0, "template", "spec", "containers", 0, "imagePullSecret"), "a"),
    ("JobSet", (*JOB_POD, "metadata", "annotation"), {}),
    ("JobSet", (*JOB_POD, "spec", "containers", 0, "resources", "limits", "memory"), "64GB"),
    ("TrainJob", ("spec", "podTemplateOverrides"), []),
    ("PrometheusRule", ("spec", "groups", 0, "rules", 0, "for"), "5 minutes"),
]


@pytest.mark.parametrize(("kind", "path", "value"), ONE_FAULT)
def test_one_fault_is_refused_at_its_place(kind: str, path: Place, value: Any) -> None:
    faults = check_object(changed(BY_KIND[kind], path, value))
    assert [fault.path for fault in faults] == [path], faults


@pytest.mark.parametrize(
    ("kind", "path", "value", "message"),
    [
        ("BareMetalHost", ("spec", "bootMod"), "UEFI", "unknown field; did you mean bootMode?"),
        ("BareMetalHost", ("spec", "bootMode"), "uefi", "one of UEFI, UEFISecureBoot, legacy, not"),
        ("Cluster", ("kind",), "Clustr", "did you mean cluster.x-k8s.io/v1beta2/Cluster?"),
        ("BareMetalHost", ("spec", "bmc"), None, "must be object, not null"),
        ("MachineDeployment", ("spec", "replicas"), "8", 'must be integer, not "8"'),
    ],
)
def test_a_fault_says_what_to_write(kind: str, path: Place, value: Any, message: str) -> None:
    (fault,) = check_object(changed(BY_KIND[kind], path, value))
    assert message in fault.message


@pytest.mark.parametrize(
    ("name", "good", "bad"),
    [
        ("byte", ["", "YQ==", "YWI=", "YWJj\nYWJj\n"], ["Y", "YQ=", "Y-==", "=="]),
        ("date-time", ["2026-11-30T23:59:59Z", "2026-01-01T00:00:00.5+09:00"], ["2026-11-30"]),
        (
            "quantity",
            ["1", "+.5", "1.", "-2Ki", "3e-3", "4E", "5m"],
            ["", "Ki", "1K", "1 Ki", "1e"],
        ),
        ("uri", ["http://a/b", "/a", "urn:x"], ["a/b", "http://a b", "1:a"]),
    ],
)
def test_formats(name: str, good: list[str], bad: list[str]) -> None:
    schema = strict({"type": "string", "format": name})
    matches = [REFERENCE(schema).is_valid(text) for text in (*good, *bad)]
    assert matches == [True] * len(good) + [False] * len(bad)
    fast = jsonschema_rs.Draft4Validator(schema)
    assert matches == [fast.is_valid(text) for text in (*good, *bad)]


def test_list_keys_and_many_objects() -> None:
    ports = (*CONTAINER, "ports")
    twice = changed(BY_KIND["DaemonSet"], ports, [{"containerPort": 80, "protocol": "TCP"}] * 2)
    assert [(i, f.path) for i, f in check_objects([*OBJECTS, twice])] == [
        (len(OBJECTS), (*ports, 1))
    ]
    job_ports = (*JOB_POD, "spec", "containers", 0, "ports")
    by_default = [{"containerPort": 80}, {"containerPort": 80, "protocol": "TCP"}]
    (fault,) = check_object(changed(BY_KIND["JobSet"], job_ports, by_default))
    assert fault.path == (*job_ports, 1)


@pytest.mark.proof
def test_both_engines_find_the_same_faults() -> None:
    """The fast engine against the plain one, over a fixed sample of all mutations."""
    every = [m for obj in OBJECTS for m in mutations(obj) if _known(m)]
    assert len(every) > 4000
    for mutant in random.Random(3).sample(every, 3000):
        assert {fault.path for fault in check_object(mutant)} == reference_check(mutant), mutant


def _known(obj: Any) -> bool:
    return f"{obj.get('apiVersion')}/{obj.get('kind')}" in store.kinds()


def test_every_kind_compiles_and_refuses_an_unknown_field() -> None:
    for name, kind in store.kinds().items():
        api_version, _, short = name.rpartition("/")
        where = {"namespace": "a"} if kind.scope == "Namespaced" else {}
        obj = {"apiVersion": api_version, "kind": short, "metadata": {"name": "a", **where}}
        assert ("unknown",) not in {f.path for f in check_object(obj)}
        assert ("unknown",) in {f.path for f in check_object({**obj, "unknown": 1})}, name


def test_compact_form_loses_no_rule_in_silence() -> None:
    rule = {"rule": "self > 1", "message": "text", "reason": "FieldValueInvalid"}
    schema = {"description": "text", "type": "string", "x-kubernetes-validations": [rule]}
    kept = {"rule": "self > 1", "reason": "FieldValueInvalid"}
    assert compact(schema) == {"type": "string", "x-kubernetes-validations": [kept]}
    unknown: dict[str, Any]
    for unknown in ({"if": {}}, {"format": "email"}):
        with pytest.raises(UnknownFact):
            compact({"properties": {"a": unknown}})
    assert yaml.safe_load(dump({"a": ["x" * 60, "y" * 60]})) == {"a": ["x" * 60, "y" * 60]}


def test_patterns_without_inline_flags() -> None:
    pattern = portable("^((?i)may|jun[a-e])x$")
    assert all(re.search(pattern, text) for text in ("MAYx", "junEx"))
    assert not re.search(pattern, "mayX")


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"spec": None}, "spec: null is not of type 'object'"),
        ({"spec": {"replicas": "3"}}, "spec: 'clusterName' is a required property"),
        ({"kind": "Nothing"}, ""),
        # Patterns are for the fast validator alone.
        ({"metadata": {"name": "A_" * 40, "namespace": "a"}}, ""),
    ],
)
def test_the_fault_to_begin_with_is_said_in_words(changes: dict[str, Any], words: str) -> None:
    assert first_fault({**BY_KIND["MachineDeployment"], **changes}) == words
    assert first_fault(BY_KIND["MachineDeployment"]) == ""
