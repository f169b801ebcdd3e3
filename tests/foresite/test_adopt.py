"""Adoption, offline: nothing of a running cluster changes, or nothing is written."""

import base64
import copy
import gzip
import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

import pytest
import yaml

from components.effects.vocabulary import Impact
from components.machines.adopted import same_bmc
from components.machines.fleet import side_of
from components.machines.in_place import arguments
from components.making.manifest import Json, Manifest, Target
from components.site import objects_by_name
from foresite.adoption.bundle import parse
from foresite.adoption.verdict import judge_adoption
from foresite.cli import main
from foresite.delivery.servers.apiserver import ApiServer
from foresite.delivery.servers.prerequisites import missing_settings
from preview.differences.compare import compare
from preview.verdict.judge import judge
from schemas.facts.secret_references import secret_references
from schemas.facts.site import Site
from schemas.load import load_site
from tests.kit import running_cluster as cluster
from tests.kit import secret_samples as samples

Edit = Callable[[dict[tuple[str, str], Json]], Any]
WRITTEN = ("sites/prod.yaml", "sites/prod.hosts.csv", "sites/adopted/prod.yaml")


def plan(root: Path, objects: list[Json], *more: str) -> int:
    (root / "sites").mkdir(exist_ok=True)
    bundle = cluster.write_bundle(root / "bundle.json", objects)
    return main(["--root", str(root), "adopt", "plan", str(bundle), *more])


def known(root: Path) -> Site:
    """The site, with what only a person knows."""
    file = root / WRITTEN[0]
    file.write_text(file.read_text().replace("TODO: time servers", "10.30.0.2"))
    loaded = load_site(root, "prod")
    assert loaded.site is not None, [str(each) for each in loaded.problems]
    return loaded.site


def made_of(site: Site) -> dict[str, Manifest]:
    return {
        f"{each.kind} {each.key[3]}": each
        for each in objects_by_name(site).values()
        if each.target is Target.MANAGEMENT
    }


def without(file: Path, kind: str) -> None:
    """Take the objects of a kind out of the file of kept ones."""
    kept = [each for each in file.read_text().split("---\n") if f"\nkind: {kind}\n" not in each]
    file.write_text("---\n".join(kept))


@pytest.fixture
def adopted(tmp_path: Path) -> Path:
    assert plan(tmp_path, cluster.live(), "--region", "jp-east") == 0
    return tmp_path


def test_what_cluster_api_compares_is_as_it_stands(adopted: Path) -> None:
    made, kinds = made_of(known(adopted)), set()
    for each in cluster.manifests():
        title = f"{each['kind']} {each['metadata']['name']}"
        if title in made:
            kinds.add(each["kind"])
            body = made[title].body
            assert body["spec"] == each["spec"]
            labels = each["metadata"].get("labels", {})
            assert labels.items() <= body["metadata"]["labels"].items()
            assert body["metadata"]["namespace"] == cluster.NAMESPACE
            assert made[title].protect
    assert kinds == {
        "Cluster", "Metal3Cluster", "KubeadmControlPlane", "MachineDeployment", "BareMetalHost"
    }  # fmt: skip
    others = {title.split()[0] for title in made} - kinds
    assert others == {"ValidatingAdmissionPolicy", "ValidatingAdmissionPolicyBinding"}


def test_labels_of_before_ask_nothing_of_the_managers(adopted: Path) -> None:
    assert not arguments(made_of(known(adopted)).values())
    assert missing_settings(cast(ApiServer, None), made_of(known(adopted)).values()) == ([], [])


def test_a_bmcs_secret_is_the_one_that_its_host_names(adopted: Path) -> None:
    named = {each.name for each in secret_references(known(adopted))}
    assert named == {f"{each}-bmc-secret" for each in cluster.hosts()}


def test_plan_says_none_for_each_host_and_what_is_left_to_write(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert plan(tmp_path, cluster.live(), "--format", "json") == 0
    said = json.loads(capsys.readouterr().out)
    assert said["verdict"] == ["none, for each of 6 hosts"]
    assert [each.split(": ")[1] for each in said["to write"]] == ["region", "first_boot.ntp[0]"]
    assert tuple(said["written"]) == WRITTEN
    assert not any(": spec" in each or " spec." in each for each in said["in place"])


def test_hosts_are_asked_for_in_the_namespace_of_before(
    adopted: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: set[str] = set()

    def listed(_context: str, namespace: str, _plural: str) -> list[Json]:
        asked.add(namespace)
        return []

    monkeypatch.setattr("foresite.commands.hosts.metal3_objects", listed)
    known(adopted)
    assert main(["--root", str(adopted), "hosts", "import", "prod", "--from", "metal3"]) == 2
    assert main(["--root", str(adopted), "hosts", "verify", "prod"]) == 1
    assert asked == {cluster.NAMESPACE}


def test_a_plan_is_the_same_each_time_and_overwrites_nothing(adopted: Path) -> None:
    texts = [(adopted / name).read_text() for name in WRITTEN]
    assert plan(adopted, cluster.live()) == 2
    for name in WRITTEN:
        (adopted / name).unlink()
    assert plan(adopted, cluster.live()[::-1], "--region", "jp-east") == 0
    assert [(adopted / name).read_text() for name in WRITTEN] == texts


def own(kind: str, name: str, field: str, key: str, to: str) -> Edit:
    """A label or an annotation that an engine wrote."""

    def edit(objects: dict[tuple[str, str], Json]) -> None:
        metadata = objects[kind, name]["metadata"]
        metadata.setdefault(field, {})[key] = to
        owned = metadata["managedFields"][0]["fieldsV1"]["f:metadata"]
        owned.setdefault(f"f:{field}", {})[f"f:{key}"] = {}

    return edit


def _set(kind: str, name: str, *path: str | int, to: Any) -> Edit:
    def edit(objects: dict[tuple[str, str], Json]) -> None:
        at: Any = objects[kind, name]
        for step in path[:-1]:
            at = at.setdefault(step, {}) if isinstance(at, dict) else at[step]
        at[path[-1]] = to

    return edit


_MD, _KCP = ("MachineDeployment", "prod"), ("KubeadmControlPlane", "prod")
_CLUSTER, _HOST, _SPARE = (
    ("Cluster", "prod"),
    ("BareMetalHost", "node-3"),
    ("BareMetalHost", "node-5"),
)
_NOTE = ("metadata", "annotations")
REFUSED: dict[str, tuple[Edit, str]] = {
    "a class": (_set(*_CLUSTER, "spec", "topology", to={"class": "a"}), "ClusterClass"),
    "a pool of a class": (
        _set(*_MD, "metadata", "labels", "topology.cluster.x-k8s.io/owned", to=""),
        "ClusterClass",
    ),
    "a paused cluster": (_set(*_CLUSTER, "spec", "paused", to=True), "is paused"),
    "a paused pool": (_set(*_MD, *_NOTE, "cluster.x-k8s.io/paused", to=""), "is paused"),
    "a rollout of workers": (
        _set(*_MD, "status", "upToDateReplicas", to=1),
        "MachineDeployment prod is rolling out (upToDateReplicas 1)",
    ),
    "a rollout of the control plane": (
        _set(*_KCP, "status", "replicas", to=4),
        "KubeadmControlPlane prod is rolling out",
    ),
    "an edit that is not seen yet": (_set(*_MD, "metadata", "generation", to=2), "not seen yet"),
    "an autoscaler": (
        _set(*_MD, *_NOTE, "cluster.x-k8s.io/cluster-api-autoscaler-node-group-max-size", to="9"),
        "cluster-autoscaler",
    ),
    "another control plane": (
        _set(*_CLUSTER, "spec", "controlPlaneRef", "kind", to="TalosControlPlane"),
        "of kind TalosControlPlane",
    ),
    "another bootstrap": (
        _set(*_MD, "spec", "template", "spec", "bootstrap", "configRef", "kind", to="TalosConfig"),
        "TalosConfig",
    ),
    "a template that is gone": (
        lambda objects: objects.pop(("Metal3MachineTemplate", "prod-workers")),
        "Metal3MachineTemplate prod-workers, which is not in the bundle",
    ),
    "a cluster of another version": (
        lambda objects: objects[_MD].update(apiVersion="cluster.x-k8s.io/v1beta1"),
        "cluster.x-k8s.io/v1beta1",
    ),
    "two clusters": (
        lambda o: o.update({("Cluster", "b"): cluster.owned(copy.deepcopy(
            {**o[_CLUSTER], "metadata": {"name": "b", "namespace": cluster.NAMESPACE}}), "helm")}),
        "has 2 Clusters (b, prod)",
    ),
    "a machine that goes": (
        _set("Machine", "m-4", "metadata", "deletionTimestamp", to="now"), "being deleted"
    ),
    "a machine that is not well": (
        _set("Machine", "m-4", "status", "conditions", 0, "status", to="False"), "not available"
    ),
    "a machine without a host": (
        _set("Machine", "m-4", "spec", "infrastructureRef", "name", to="m3m-9"), "no BareMetalHost"
    ),
    "a machine of nobody": (
        _set("Machine", "m-4", "metadata", "labels", to={}), "belongs to no"
    ),
    "a host of an installer": (
        _set(*_SPARE, "spec", "externallyProvisioned", to=True), "not installed by Metal3"
    ),
    "a host on its way": (
        _set(*_SPARE, "status", "provisioning", "state", to="deprovisioning"), "deprovisioning"
    ),
    "a host with an error": (_set(*_HOST, "status", "errorType", to="power"), "error (power)"),
    "a detached host": (
        _set(*_HOST, *_NOTE, "baremetalhost.metal3.io/detached", to=""), "metal3.io/detached"
    ),
    "a host that is off": (_set(*_SPARE, "spec", "online", to=False), "switched off"),
    "a host of others": (
        _set(*_SPARE, "spec", "consumerRef", to={"kind": "Pod", "name": "x"}), "held by a Pod"
    ),
    "a BMC by name": (
        _set(*_HOST, "spec", "bmc", "address", to="redfish://bmc.prod.lan/redfish/v1"), "bmc.prod"
    ),
    "a token in an annotation": (
        own(*_HOST, _NOTE[-1], "example.com/x", samples.FORMED["a token of GitHub"][0]),
        "bundle.json:1: BareMetalHost node-3 metadata.annotations[example.com/x] holds a token",
    ),
    "a password in a packed file": (
        _set(*_KCP, "spec", "kubeadmConfigSpec", "files", 0, "content",
             to=base64.b64encode(gzip.compress(b"password=hunter2!\n")).decode()),
        "files[0].content holds a password",
    ),
    "a password in a list": (
        _set(*_KCP, "spec", "kubeadmConfigSpec", "tokens", to=["hunter2"]), "tokens[0] holds a"
    ),
    "a password that is a number": (
        _set(*_KCP, "spec", "kubeadmConfigSpec", "password", to=22222222), "password holds a"
    ),
    "addresses that are gone": (
        lambda objects: objects.pop(("Metal3DataTemplate", "prod-template")), "Metal3DataTemplate"
    ),
    "no owners of fields": (
        lambda objects: objects[_MD]["metadata"].pop("managedFields"), "no managedFields"
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", REFUSED)
def test_what_is_refused_has_a_sentence_and_leaves_no_file(
    name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    edit, sentence = REFUSED[name]
    objects = {(each["kind"], each["metadata"]["name"]): each for each in cluster.live()}
    edit(objects)
    assert plan(tmp_path, list(objects.values()), "--format", "json") == 1
    said = json.loads(capsys.readouterr().out)["refused"]
    assert any(sentence in each for each in said), said
    assert "hunter2" not in str(said)
    assert not list((tmp_path / "sites").iterdir())


KUBECTL = str.maketrans({each: f"\\u{ord(each):04x}" for each in "<>&"})


@pytest.mark.parametrize("hidden", [False, True], ids=["kubectl", "adopt read"])
def test_each_secret_has_its_own_line(
    hidden: bool, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Hidden ones are all alike; what kubectl writes is escaped as Go escapes it."""
    objects = {(each["kind"], each["metadata"]["name"]): each for each in cluster.live()}
    for number, name in enumerate(cluster.hosts()):
        secret = "(hidden): a password" if hidden else f"für && <{number}> hunter2"
        own("BareMetalHost", name, _NOTE[-1], "example.com/password", secret)(objects)
    texts = json.dumps({"items": [*objects.values()]}, indent=1, ensure_ascii=False)
    (tmp_path / "sites").mkdir()
    file = tmp_path / "b.json"
    file.write_text(texts.translate(KUBECTL))
    assert main(["--root", str(tmp_path), "adopt", "plan", str(file), "--format", "json"]) == 1
    said = json.loads(capsys.readouterr().out)["refused"]
    named = [int(each.split(":")[1]) for each in said if "example.com/password" in each]
    lines = file.read_text().splitlines()
    assert named == [n for n, each in enumerate(lines, 1) if '"example.com/password": ' in each]
    assert len(named) == len(cluster.hosts())
    file.write_text(json.dumps(json.loads(file.read_text()), separators=(",", ":")))
    assert main(["--root", str(tmp_path), "adopt", "plan", str(file)]) == 1
    assert f"{file}: BareMetalHost node-0" in capsys.readouterr().out


def test_a_secret_in_what_is_not_kept_is_hidden_and_no_fault(tmp_path: Path) -> None:
    objects = {(each["kind"], each["metadata"]["name"]): each for each in cluster.live()}
    for at in (("spec",), ("status", "provisioning")):
        _set(*_HOST, *at, "image", to={"url": "http://robot:hunter2@x/y.qcow2"})(objects)
    _set(*_HOST, *_NOTE, "example.com/token", to="hunter2")(objects)  # of nobody who applies
    assert plan(tmp_path, list(objects.values())) == 0
    assert "hunter2" not in "".join((tmp_path / name).read_text() for name in WRITTEN)


def test_a_difference_to_the_live_cluster_is_found(adopted: Path) -> None:
    """The same judge sees an edit of what is compared, and one in place that a server would see."""
    site = known(adopted)
    for path, to in (
        (("kubeadmConfigSpec", "files", 0, "content"), "another text"),
        (("rollout", "strategy", "rollingUpdate", "maxSurge"), 1),
    ):
        objects = {(each["kind"], each["metadata"]["name"]): each for each in cluster.live()}
        assert not judge_adoption(parse(adopted / "bundle.json"), site).wrong
        _set(*_KCP, "spec", *path, to=to)(objects)
        bundle = parse(cluster.write_bundle(adopted / "other.json", list(objects.values())))
        assert any("KubeadmControlPlane" in each for each in judge_adoption(bundle, site).wrong)


@pytest.mark.parametrize(
    ("kind", "hosts"),
    [
        ("MachineDeployment", "node-3 node-4 node-5"),
        ("KubeadmControlPlane", "node-0 node-1 node-2"),
    ],
)
def test_what_leaves_the_file_rolls_its_pool_and_no_other(
    adopted: Path, kind: str, hosts: str
) -> None:
    before = known(adopted)
    without(adopted / WRITTEN[2], kind)
    if kind == "KubeadmControlPlane":  # its webhook lets nobody take clusterConfiguration away
        text = (adopted / WRITTEN[0]).read_text()
        (adopted / WRITTEN[0]).write_text(text.replace("audit: null", "audit: {days: 7}"))
    after = known(adopted)
    sides = [side_of(each, objects_by_name(each)) for each in (before, after)]
    found = judge(compare("prod", *sides), {}, {})
    rolled = {each.host for each in found.hosts if each.impact is Impact.REIMAGE}
    assert rolled == set(hosts.split())
    assert {each.impact for each in found.hosts} == {Impact.REIMAGE, Impact.NONE}
    live, made = (made_of(each)[f"{kind} prod"].body["spec"] for each in (before, after))
    assert live.get("selector") == made.get("selector")
    assert not arguments(made_of(after).values())
    assert found.deletions == ()


@pytest.mark.parametrize("others", [True, False])
@pytest.mark.parametrize(
    ("kind", "hosts"),
    [
        ("MachineDeployment", "node-3 node-4 node-5"),
        ("KubeadmControlPlane", "node-0 node-1 node-2"),
    ],
)
def test_a_rollout_that_is_asked_for_rolls_and_one_that_is_not_does_not(
    adopted: Path, kind: str, hosts: str, others: bool
) -> None:
    """Beside other settings of rollouts, and where there are none."""
    sides, file = [], adopted / WRITTEN[2]
    kept = list(yaml.safe_load_all(file.read_text()))
    spec = next(each["spec"] for each in kept if each["kind"] == kind)
    base = spec.pop("rollout")
    base = base if others else {}
    for more in ({}, {"after": "2026-01-01T00:00:00Z"}):
        if base or more:
            spec["rollout"] = {**base, **more}
        file.write_text(yaml.safe_dump_all(kept))
        site = known(adopted)
        sides.append(side_of(site, objects_by_name(site)))
    for pair, rolled in ((sides, set(hosts.split())), (sides[::-1], set())):
        found = judge(compare("prod", *pair), {}, {})
        assert {each.host for each in found.hosts if each.impact is Impact.REIMAGE} == rolled


def listed(*objects: Json) -> str:
    return json.dumps({"items": [{"apiVersion": "v1", **each} for each in objects]})


A: Json = {"kind": "A", "metadata": {"name": "a", "namespace": "b"}}
SECRET: Json = {**A, "kind": "Secret", "data": {"b": "aHVudGVyMg=="}}
DEEP: Json = {**A, "spec": json.loads(150 * "[" + 150 * "]")}


def test_an_end_and_another_context_are_told_without_a_namespace(adopted: Path) -> None:
    site = known(adopted)
    side = side_of(site, objects_by_name(site))
    moved = replace(site, file=site.file.model_copy(update={"management": "other"}))
    for after in (None, side_of(moved, objects_by_name(moved))):
        found = judge(compare("prod", side, after), {}, {})
        assert "Cluster metal3/prod" in {each.object for each in found.reasons}


def test_a_version_that_no_release_knows_is_no_fault_until_machines_are_made(adopted: Path) -> None:
    known(adopted)
    for name in WRITTEN:
        file = adopted / name
        file.write_text(file.read_text().replace("v1.34.3", "v1.34.77"))
    assert load_site(adopted, "prod").site
    without(adopted / WRITTEN[2], "MachineDeployment")
    (problem,) = load_site(adopted, "prod").problems
    assert problem.code.value == "version-unsupported"


def test_a_site_like_an_adopted_one_was_not_adopted(adopted: Path) -> None:
    known(adopted)
    assert main(["--root", str(adopted), "new", "next-1", "--like", "prod"]) == 0
    text = (adopted / "sites/next-1.yaml").read_text()
    assert "adopted:" not in text and "deployment" not in text


def test_a_cluster_in_clusterctls_own_namespace_gets_its_exceptions(tmp_path: Path) -> None:
    objects = cluster.live("kubectl-client-side-apply")
    for each in objects:
        each["metadata"]["namespace"] = "default"
    assert plan(tmp_path, objects) == 0
    text = (tmp_path / WRITTEN[0]).read_text()
    assert 'object: "BareMetalHost default/*"' in text and "TODO: last day of it" in text


BAD: dict[str, tuple[str, str]] = {
    "no JSON": ("kind: List", "no JSON"),
    "a number": ("7", "no List"),
    "no objects": (listed(), "no List"),
    "a Secret": (listed(SECRET), "content of Secret a"),
    "twice": (listed(A, A), "there twice"),
    "two namespaces": (listed(A, {**A, "metadata": {"name": "c", "namespace": "d"}}), "read one"),
    "a List in a List": (listed(A, {"kind": "List", "items": [A]}), "items[1] is no object"),
    "no kind": (listed({**A, "kind": None}), "items[0] is no object"),
    "texts": (json.dumps({"items": ["a"]}), "items[0] is no object"),
    "too deep": (listed(DEEP), "A a is nested deeper than 100 levels"),
    "too many": (json.dumps({"items": [0] * 50_001}), "more than 50000 objects"),
    "bytes": ("\x00\xff", "no JSON"),
    "no Cluster": (listed(A), "0 Clusters"),
    "odd fields": (
        listed({**A, "kind": "Cluster", "spec": 3}),
        "of kind none",
    ),
}


@pytest.mark.parametrize("name", BAD)
def test_a_file_that_is_no_bundle_is_refused(
    name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    text, sentence = BAD[name]
    (tmp_path / "sites").mkdir()
    (tmp_path / "b.json").write_text(text)
    assert main(["--root", str(tmp_path), "adopt", "plan", str(tmp_path / "b.json")]) in (1, 2)
    found = capsys.readouterr()
    assert sentence in found.out + found.err
    assert "aHVudGVyMg" not in found.out + found.err


@pytest.mark.parametrize("name", ["../evil", "a/b", "a\0b", "x" * 300, "Prod"])
def test_a_cluster_whose_name_is_none_for_a_site_is_written_nowhere(
    name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    objects = cluster.live()
    next(each for each in objects if each["kind"] == "Cluster")["metadata"]["name"] = name
    (tmp_path / "root").mkdir()
    assert plan(tmp_path / "root", objects) == 2
    assert "is no name for a site" in capsys.readouterr().err
    assert {each.name for each in tmp_path.rglob("*")} == {"root", "sites", "bundle.json"}


def test_what_no_list_may_hold_is_unknown(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    objects = {(each["kind"], each["metadata"]["name"]): each for each in cluster.live()}
    _set(*_HOST, "status", "hardware", "systemVendor", to={"serialNumber": "Not, specified"})(
        objects
    )
    _set("Machine", "m-3", "status", "addresses", to=[])(objects)
    assert plan(tmp_path, list(objects.values()), "--format", "json") == 0
    said = json.loads(capsys.readouterr().out)
    assert "serial" in said["unknown in the host list"]
    assert said["address that no object says, so a free one"] == ["node-3", "node-5"]


def test_a_kept_object_fits_its_schema(adopted: Path) -> None:
    known(adopted)
    file = adopted / WRITTEN[2]
    text = file.read_text()
    for wrong, said in (('replicas: "two"', ""), ("replicas: 2\n  newField: 1", "unknown field")):
        file.write_text(text.replace("  replicas: 2", f"  {wrong}"))
        (problem,) = load_site(adopted, "prod").problems
        assert (problem.code.value, problem.file) == ("object-invalid", WRITTEN[2])
        assert wrong.split()[-2] in file.read_text().splitlines()[problem.line - 1]
        assert said in problem.message and "a version that this Foresite does not" in problem.fix


def test_bmc_addresses_that_say_the_same() -> None:
    full = "redfish://10.0.0.1/redfish/v1/Systems/1"
    assert all(same_bmc(one, full) for one in (full, f"{full}/", "10.0.0.1", "redfish://10.0.0.1"))
    others = ("10.0.0.2", "ipmi://10.0.0.1", "redfish://10.0.0.1/redfish/v1/Systems/2")
    assert not any(same_bmc(one, full) for one in others)


@pytest.mark.parametrize(
    ("key", "kinds", "hosts"),
    [
        ("namespace", (), 6),
        ("cluster", ("Cluster",), 6),
        ("control_plane", ("KubeadmControlPlane",), 3),
        ("deployment", ("MachineDeployment",), 3),
    ],
)
def test_another_name_of_before_is_never_nothing(
    adopted: Path, key: str, kinds: tuple[str, ...], hosts: int
) -> None:
    """In the site's file, and in that of the objects alike."""
    before = known(adopted)
    site, kept = (adopted / WRITTEN[0]), (adopted / WRITTEN[2])
    data, objects = yaml.safe_load(site.read_text()), list(yaml.safe_load_all(kept.read_text()))
    (data["adopted"] if key in data["adopted"] else data["pools"][1]["adopted"])[key] = "other"
    for each in objects:
        if each["kind"] in kinds or not kinds:
            each["metadata"]["name" if kinds else "namespace"] = "other"
    site.write_text(yaml.safe_dump(data))
    kept.write_text(yaml.safe_dump_all(objects))
    sides = [side_of(each, objects_by_name(each)) for each in (before, known(adopted))]
    found = judge(compare("prod", *sides), {}, {})
    assert sum(each.impact is not Impact.NONE for each in found.hosts) == hosts


def test_empty_fields_of_kept_objects_are_none(adopted: Path) -> None:
    known(adopted)
    file = adopted / WRITTEN[2]
    objects = list(yaml.safe_load_all(file.read_text()))
    for each in objects:
        each["metadata"] |= {"annotations": None, "labels": None}
    file.write_text(yaml.safe_dump_all(objects))
    assert load_site(adopted, "prod").site
