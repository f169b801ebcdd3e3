"""Adoption on a real API server without controllers: what it refuses, and who owns which field."""

import json
import os
import subprocess
from collections.abc import Collection, Iterator
from pathlib import Path
from typing import Any, cast
from urllib.parse import urlencode

import pytest

from components.making.manifest import Manifest
from controlplane import Client, ControlPlane
from foresite.adoption.engines import engines_of
from foresite.adoption.server import Cluster, conflicts
from foresite.cli import main
from foresite.delivery.servers.apiserver import ApiServer, Kubectl, RefusedError
from schemas.load import load_site
from tests.foresite.test_adopt import WRITTEN, known, made_of, plan
from tests.kit import running_cluster as cluster
from tools.toolchain import locate

Json = dict[str, Any]


def apply(client: Client, body: Json, manager: str, force: str = "false") -> Json:
    metadata = body["metadata"]
    path = client._path(
        body["apiVersion"], body["kind"], metadata.get("namespace"), metadata["name"]
    )
    query = urlencode({"fieldManager": manager, "force": force})
    return client.request("PATCH", f"{path}?{query}", body, "application/apply-patch+yaml")


@pytest.fixture(scope="module")
def client(api: ControlPlane) -> Iterator[Client]:
    """The running cluster, applied as Flux does."""
    with api.client() as found, pytest.MonkeyPatch.context() as patch:
        namespace = {"apiVersion": "v1", "kind": "Namespace"}
        apply(found, {**namespace, "metadata": {"name": cluster.NAMESPACE}}, "kubectl")
        for each in cluster.manifests():
            apply(found, each, "kustomize-controller")
        patch.setenv("KUBECONFIG", str(api.kubeconfig(["mgmt"])))
        kubectl = locate(["controlplane"])["kubectl"].path.parent
        patch.setenv("PATH", f"{kubectl}:{os.environ['PATH']}")
        yield found


@pytest.fixture
def root(client: Client, tmp_path: Path) -> Path:
    del client  # it has to be there
    assert plan(tmp_path, cluster.live(), "--region", "jp-east") == 0
    known(tmp_path)
    return tmp_path


def asked(
    root: Path, capsys: pytest.CaptureFixture[str], action: str, *more: str
) -> tuple[int, Json]:
    capsys.readouterr()
    code = main(["--root", str(root), "adopt", action, "prod", "--format", "json", *more])
    return code, json.loads(capsys.readouterr().out)


STOPPED = ("--stopped", "kustomize-controller")


@pytest.mark.controlplane
def test_read_takes_the_objects_and_of_secrets_the_names(client: Client, tmp_path: Path) -> None:
    secret = {"apiVersion": "v1", "kind": "Secret", "stringData": {"password": "hunter2"}}
    apply(
        client, {**secret, "metadata": {"name": "bmc", "namespace": cluster.NAMESPACE}}, "kubectl"
    )
    out = tmp_path / "bundle.json"
    arguments = ["--context", "mgmt", "--namespace", cluster.NAMESPACE, "--out", str(out)]
    assert main(["adopt", "read", *arguments]) == 0
    read = json.loads(out.read_text())
    assert {each["kind"] for each in read["items"]} >= {"Cluster", "BareMetalHost", "Secret"}
    assert all(e["metadata"].get("managedFields") for e in read["items"] if e["kind"] != "Secret")
    assert "hunter2" not in out.read_text() and "aHVudGVyMg" not in out.read_text()
    assert out.stat().st_mode & 0o777 == 0o600
    assert main(["adopt", "read", *arguments]) == 2  # it is there


@pytest.mark.controlplane
def test_the_server_takes_all_without_force_and_no_spec_changes(
    root: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    code, said = asked(root, capsys, "prove")
    assert (code, said["proved"], said["green"]) == (1, True, False)
    assert said["refused by the server"] == []
    assert "not known" in said["not stopped"][0]
    assert asked(root, capsys, "prove", *STOPPED)[0] == 0


@pytest.mark.controlplane
@pytest.mark.parametrize(
    ("old", "new", "why"),
    [
        ("TimeoutSeconds: 0", "TimeoutSeconds: 60", 'conflict with "kustomize-controller": .spec'),
        ("  rollout:\n", "  rollout:\n    after: 2020-01-01T00:00:00Z\n", "(generation 1 -> 2)"),
    ],
)  # fmt: skip
def test_another_value_is_a_conflict_and_a_new_one_another_generation(
    root: Path, capsys: pytest.CaptureFixture[str], old: str, new: str, why: str
) -> None:
    file = root / WRITTEN[2]
    assert old in file.read_text()
    file.write_text(file.read_text().replace(old, new))
    code, said = asked(root, capsys, "prove", *STOPPED)
    assert (code, said["proved"]) == (1, False)
    assert any(why in each for each in said["refused by the server"]), said


@pytest.mark.controlplane
def test_fields_change_hands_and_then_a_field_that_leaves_git_goes(
    client: Client, root: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert asked(root, capsys, "finish")[0] == 1
    assert main(["--root", str(root), "adopt", "finish", "prod", *STOPPED]) == 2
    assert "foresite up has not run" in capsys.readouterr().err
    site = load_site(root, "prod").site
    assert site
    for each in made_of(site).values():
        apply(client, each.body, "foresite")
    live = ("cluster.x-k8s.io/v1beta2", "MachineDeployment", "prod", cluster.NAMESPACE)
    before = client.get(*live)
    assert asked(root, capsys, "finish", *STOPPED)[1]["handed over"]
    after = client.get(*live)
    assert before and after
    assert [each["manager"] for each in after["metadata"]["managedFields"]] == ["foresite"]
    assert before["spec"] == after["spec"]
    body = made_of(site)["MachineDeployment prod"].body
    spec = {key: each for key, each in body["spec"].items() if key != "rollout"}
    assert "rollout" not in apply(client, {**body, "spec": spec}, "foresite")["spec"]
    apply(client, body, "foresite")
    assert asked(root, capsys, "prove")[0] == 0  # nobody else is left


class Programs:
    """A kubectl that answers in turn."""

    def __init__(self, *answers: tuple[int, str, str]) -> None:
        self.answers = list(answers)

    def run(self, *_: str, given: str = "") -> subprocess.CompletedProcess[str]:
        assert given
        answer = self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]
        return subprocess.CompletedProcess([], *answer)


@pytest.mark.parametrize(
    ("answers", "wrong"),
    [
        (((1, "", "error: the server is away"), (0, "{}", "")), "error: the server is away"),
        (((0, "", ""),), "0 of 1 objects were answered"),
    ],
)
def test_what_the_server_did_not_say_is_not_proved(
    answers: tuple[tuple[int, str, str], ...], wrong: str
) -> None:
    (body, *_) = cluster.manifests()
    made = [Manifest("Cluster", body)]
    found = Cluster(cast(Kubectl, Programs(*answers)), "mgmt", made)
    assert conflicts(found, [body]) == [wrong]


class Answers:
    """An API server that answers from a table; what is not there is refused."""

    def __init__(self, answers: Json) -> None:
        self.answers = answers

    def get(self, path: str) -> Json | None:
        if path not in self.answers:
            raise RefusedError(403, "HTTP 403: forbidden")
        return cast(Json, self.answers[path])


FLUX = "/apis/kustomize.toolkit.fluxcd.io/v1/kustomizations"
ARGO = "/apis/argoproj.io/v1alpha1/applications"
ARGO_SETS = "/apis/argoproj.io/v1alpha1/namespaces/argocd/applicationsets"
_LISTED = [
    {
        "namespace": each["metadata"]["namespace"],
        "name": each["metadata"]["name"],
        "group": each["apiVersion"].rpartition("/")[0],
        "kind": each["kind"],
    }
    for each in cluster.manifests()
]
"""All objects, as an engine lists those of its own."""


def flux(number: int = len(_LISTED), **spec: Any) -> Json:
    entries = [{"id": "_".join(each.values())} for each in _LISTED[:number]]
    item = {"metadata": {"name": "clusters", "namespace": "flux-system"}, "spec": spec,
            "status": {"inventory": {"entries": entries}}}  # fmt: skip
    return {FLUX: {"kind": "KustomizationList", "items": [item]}}


def argo(finalizers: list[str], policy: Json) -> Json:
    item = {"metadata": {"name": "prod", "namespace": "argocd", "finalizers": finalizers},
            "spec": {"syncPolicy": policy}, "status": {"resources": _LISTED}}  # fmt: skip
    return {ARGO: {"kind": "ApplicationList", "items": [item]}}


def argo_set(answers: Json, **spec: Any) -> Json:
    """The Application of ``answers``, made by an ApplicationSet."""
    (item,) = answers[ARGO]["items"]
    item["metadata"]["ownerReferences"] = [{"kind": "ApplicationSet", "name": "sites"}]
    made = {"metadata": {"name": "sites"}, "spec": {"template": {"spec": {}}, **spec}}
    return {**answers, **({ARGO_SETS + "/sites": made} if spec else {})}


_KUSTOMIZE, _ARGOCD = "kustomize-controller", "argocd-controller"
_ORPHAN: Json = {"prune": False, "deletionPolicy": "Orphan", "suspend": True}


@pytest.mark.parametrize(
    ("manager", "answers", "stopped", "wrong"),
    [
        (_KUSTOMIZE, flux(**_ORPHAN), (), []),
        (_KUSTOMIZE, flux(prune=True), (), ["prune is True", "none, not Orphan", "not suspended"]),
        (_KUSTOMIZE, flux(**{**_ORPHAN, "suspend": False}), (), ["not suspended"]),
        (_KUSTOMIZE, {FLUX: {"items": []}}, (), ["not known"]),
        (_KUSTOMIZE, flux(1, **_ORPHAN), (), ["not known"]),
        (_KUSTOMIZE, {}, (), ["forbidden"]),
        (_KUSTOMIZE, {}, (_KUSTOMIZE,), []),
        (_ARGOCD, argo([], {}), (), []),
        (_ARGOCD, argo(["resources-finalizer.argocd.argoproj.io"], {"automated": {}}), (),
         ["resources-finalizer", "syncs by itself"]),
        (_ARGOCD, argo_set(argo([], {}), syncPolicy={"preserveResourcesOnDeletion": True}), (), []),
        (_ARGOCD, argo_set(argo([], {})), (), ["ApplicationSet sites comes first"]),
        (_ARGOCD, argo_set(argo([], {}), template={"spec": {"syncPolicy": {"automated": {}}}}), (),
         ["preserveResourcesOnDeletion is none", "puts back"]),
        (_ARGOCD, argo_set(argo([], {}), templatePatch="{}"), (), ["finalizer back", "Patch"]),
        ("pulumi-resource-kubernetes", {}, (), ["not known"]),
        ("helm", {}, ("helm",), []),
        ("kubectl-client-side-apply", {}, (), []),
        ("somebody", {}, (), ["nobody knows what somebody is"]),
        ("somebody", {}, ("somebody",), []),
        ("manager", {}, (), None),
        ("capm3", {}, (), None),
    ],
)  # fmt: skip
def test_an_engine_is_stopped_where_it_is_known_to_prune_nothing(
    manager: str, answers: Json, stopped: Collection[str], wrong: list[str] | None
) -> None:
    live = [cluster.owned(each, manager) for each in cluster.manifests()]
    found = engines_of(cast(ApiServer, Answers(answers)), live, stopped)
    if wrong is None:
        assert found == []
        return
    assert [each.managers for each in found] == [(manager,)]
    assert len(found[0].open) == len(wrong)
    assert all(part in said for part, said in zip(wrong, found[0].open, strict=True)), found
