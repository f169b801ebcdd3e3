"""The stored CRDs: up to date, without texts or repetition, and an API server takes each of them,
its rules and its defaults."""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from controlplane import ApiError, Client, ControlPlane, install_crds
from schemas.kubernetes.objects import check_object, check_objects, load_crds, store
from schemas.kubernetes.objects.dialect import REF, Schema, expand, share
from schemas.model.primitives import minor
from schemas.reading.catalogue import load_release, release_names
from tests.kit.good_objects import BY_KIND, JOB_POD, OBJECTS, Place, changed, nodes
from tools import crds
from tools.kinds import KUBERNETES, SourceError
from tools.toolchain.installed import upstream_folder


def test_crds_are_good_objects_and_carry_what_cluster_api_needs() -> None:
    manifests = load_crds(store.kinds())
    assert check_objects(manifests) == []
    assert REF not in str(manifests)
    for crd in manifests:
        group = crd["spec"]["group"]
        contract = re.fullmatch(
            r"(bootstrap|controlplane|infrastructure)\.cluster\.x-k8s\.io", group
        )
        assert bool(crd["metadata"].get("labels")) == bool(contract)


def test_large_crds_are_for_who_asks_for_them() -> None:
    job_sets = "jobsets.jobset.x-k8s.io"
    assert job_sets not in {crd["metadata"]["name"] for crd in load_crds()}
    job_set, config_map = "jobset.x-k8s.io/v1alpha2/JobSet", "v1/ConfigMap"
    (crd,) = load_crds([job_set, config_map, job_set])
    assert crd["metadata"]["name"] == job_sets
    with pytest.raises(KeyError):
        load_crds(["jobset.x-k8s.io/v1/JobSet"])


def test_crds_may_be_changed() -> None:
    """Repeated parts are in memory once: neither the next call nor another field has the change."""
    kind = "batch.volcano.sh/v1alpha1/Job"

    def containers(crds: list[dict[str, Any]]) -> tuple[dict[str, Any], dict[str, Any]]:
        schema = crds[0]["spec"]["versions"][0]["schema"]["openAPIV3Schema"]
        task = schema["properties"]["spec"]["properties"]["tasks"]["items"]["properties"]
        pod = task["template"]["properties"]["spec"]["properties"]
        return pod["containers"]["items"], pod["initContainers"]["items"]

    first, second = containers(load_crds([kind]))
    first["properties"]["image"]["type"] = "number"
    assert second["properties"]["image"]["type"] == "string"
    assert containers(load_crds([kind]))[0]["properties"]["image"]["type"] == "string"


def test_native_kinds_are_of_the_oldest_minor_that_is_offered() -> None:
    """Fields of a later one would pass here, and an older server would drop them."""
    offered = [release for name in release_names() if (release := load_release(name)[0])]
    minors = {minor(version) for release in offered for version in release.kubernetes}
    assert f"1.{min(minors)}" == KUBERNETES


@pytest.mark.parametrize("later", ["1.35", "1.36", "1.37"])
def test_later_minors_know_every_field(later: str, monkeypatch: pytest.MonkeyPatch) -> None:
    ours = store.definitions()
    monkeypatch.setattr(crds, "KUBERNETES", later)
    theirs = crds.kubernetes_document()["definitions"]
    for name, definition in ours.items():
        known = theirs.get(name, {}).get("properties", {})
        assert definition.get("properties", {}).keys() <= known.keys(), name


def test_data_is_up_to_date() -> None:
    try:
        files = crds.generate(upstream_folder())
    except SourceError as error:
        pytest.skip(str(error))
    assert crds.differences(files) == [], "run: python -m tools.crds"


def test_the_generator_says_what_is_wrong(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FORESITE_UPSTREAM", str(tmp_path))
    assert crds.main(["--check"]) == 2  # nothing there
    source = {"file": "crds/metal3-ipam/ippools.yaml", "crd": "ippools.ipam.metal3.io"}
    (tmp_path / source["file"]).parent.mkdir(parents=True)
    (tmp_path / source["file"]).write_text("another file")
    with pytest.raises(SourceError, match="sha256"):
        crds.crd_document({**source, "sha256": "0"}, tmp_path)
    monkeypatch.setattr(crds, "ROOT", tmp_path)
    monkeypatch.setattr(crds, "DATA", tmp_path / "data")
    crds.write({tmp_path / "data" / "a.json": b"{}", tmp_path / "data" / "b.json": b"{}"})
    assert crds.differences({tmp_path / "data" / "a.json": b"[]"}) == ["data/a.json", "data/b.json"]
    assert yaml.load("a: =", crds._Loader) == {"a": "="}
    (tmp_path / "crds.lock.json").write_text(json.dumps([source]))
    monkeypatch.setattr(
        crds, "CRDS", {"metal3-ipam": ["*"], "kueue": ["*"], "cluster-api": ["ippools"]}
    )
    with pytest.raises(SourceError, match=r": cluster-api/ippools, kueue/\*$"):
        crds.lock_entries(tmp_path)  # of another project is not of this one


def test_data_holds_no_texts() -> None:
    for file in {store.REPEATED, *(kind.file for kind in store.kinds().values())}:
        for path, node in nodes(store.read(file)):
            if path and path[-1] in ("description", "message", "messageExpression", "title"):
                assert not isinstance(node, str), (file, path)


def test_what_schemas_repeat_is_kept_once() -> None:
    port: Schema = {"type": "object", "properties": {"port": {"pattern": "x" * 200}}}
    pod = {"type": "object", "properties": {"main": port, "first": {"items": port}}}
    first = {"properties": {"a": pod, "b": {"not": pod}}}
    every: list[Schema] = [first, {"properties": {"a": pod, "c": {}}}]
    short, repeated = share(every)

    def whole(name: str) -> Schema:
        return expand(repeated[name], whole)

    assert [expand(schema, whole) for schema in short] == every
    assert len(repeated) == 2  # a pod, and a port; its field repeats only as a part of it
    assert str(short).count("x" * 200) == 2  # what `not` says is no part
    with_one_more, _ = share([*every, {"properties": {"d": {"items": pod}}}])
    assert with_one_more[:2] == short


@pytest.fixture(scope="module")
def client(api: ControlPlane) -> Iterator[Client]:
    """An API server with every CRD and the namespaces that the objects are in."""
    namespaces = {obj["metadata"].get("namespace", "default") for obj in OBJECTS}
    with api.client() as client:
        install_crds(client, load_crds(store.kinds()))
        for name in namespaces:
            client.apply({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}})
        yield client


@pytest.mark.controlplane
@pytest.mark.parametrize("kind", BY_KIND)
def test_a_server_takes_good_objects(client: Client, kind: str) -> None:
    client.apply(BY_KIND[kind], dry_run=True)


@pytest.mark.controlplane
@pytest.mark.parametrize(
    ("kind", "path", "default"),
    [
        ("ClusterQueue", ("spec", "queueingStrategy"), "BestEffortFIFO"),
        ("JobSet", ("spec", "replicatedJobs", 0, "groupName"), "default"),
        # of what several schemas repeat
        ("JobSet", (*JOB_POD, "spec", "containers", 0, "ports", 0, "protocol"), "TCP"),
        ("TrainJob", ("spec", "runtimeRef", "kind"), "ClusterTrainingRuntime"),
    ],
)
def test_a_server_knows_the_defaults(client: Client, kind: str, path: Place, default: str) -> None:
    assert path not in dict(nodes(BY_KIND[kind]))
    assert dict(nodes(client.apply(BY_KIND[kind], dry_run=True)))[path] == default


LEVELS = [{"nodeLabel": "kubernetes.io/hostname"}, {"nodeLabel": "example.org/rack"}]
BORROWS = {"reclaimWithinCohort": "Never", "borrowWithinCohort": {"policy": "LowerPriority"}}


@pytest.mark.controlplane
@pytest.mark.parametrize(
    ("kind", "path", "value", "rule"),
    [
        ("ClusterQueue", ("spec", "preemption"), BORROWS, "self.reclaimWithinCohort == 'Never'"),
        ("Topology", ("spec", "levels"), LEVELS, "kubernetes.io/hostname"),
        ("ClusterTrainingRuntime", ("spec", "mlPolicy", "jax"), {}, "has(self.jax)"),
        ("TrainJob", ("metadata", "name"), "1-train", "self.metadata.name.matches"),
    ],
)
def test_a_server_knows_the_rules(
    client: Client, kind: str, path: Place, value: Any, rule: str
) -> None:
    wrong = changed(BY_KIND[kind], path, value)
    assert check_object(wrong) == []  # as the documentation says, only a server can tell
    with pytest.raises(ApiError) as refused:
        client.apply(wrong, dry_run=True)
    assert rule in str(refused.value)
