"""The API server starts with the settings of a site, and people log in as the site says."""

import json
import re
import subprocess
import tomllib
from typing import Any

import pytest

from components.machines.apiserver import api_server_files
from components.making.manifest import Json
from controlplane import Access, ApiError, Client
from controlplane.access import read_kubeconfig, write_kubeconfig
from tests.golden import one
from tests.kit.repository import ROOT
from tests.kit.rights_server import World, with_everything
from tests.kit.waiting import until
from tools.toolchain import locate

SITE = with_everything()


def test_each_file_is_mounted_and_named_by_an_argument() -> None:
    spec: Json = one(SITE, "KubeadmControlPlane")["spec"]["kubeadmConfigSpec"]
    server = spec["clusterConfiguration"]["apiServer"]
    values = {each["name"]: each["value"] for each in server["extraArgs"]}
    mounted = {each["mountPath"] for each in server["extraVolumes"]}
    for file in api_server_files(SITE):
        assert file["path"] in values.values() and file["permissions"] == "0600"
        assert file["path"].rpartition("/")[0] in mounted
    assert server["certSANs"] == ["api.tokyo-1.example"]
    gates = values["feature-gates"].split(",")
    assert gates == ["KubeletTracing=true", "MutatingAdmissionPolicy=true"]


@pytest.mark.controlplane
@pytest.mark.parametrize(("field", "program"), [("api_server", "kube-apiserver"), ("etcd", "etcd")])
def test_the_table_of_arguments_is_that_of_the_programs(field: str, program: str) -> None:
    command = [str(locate(["controlplane"])[program].path), "--help"]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    said = re.findall(r"^ +(?:-[a-z], )?--([a-z0-9-]+)", done.stdout + done.stderr, re.MULTILINE)
    table = tomllib.loads((ROOT / "schemas" / "kubernetes" / "arguments.toml").read_text())[field]
    known = " ".join([table["known"], *table["owned"].values()]).split()
    assert sorted(known) == sorted({*said} - {"help", "version"})


# --- on a real API server that starts with all of it ---


def client_of(world: World, token: str) -> Client:
    """Whoever has a kubeconfig with this token."""
    known = read_kubeconfig(world.plane.kubeconfig())
    path = world.plane.directory / "researcher.kubeconfig"
    write_kubeconfig(path, Access(known.server, token, known.authority), ["tokyo-1"])
    return Client(read_kubeconfig(path))


def who(world: World, **claims: Any) -> Json:
    """Whom the API server takes the owner of a token for; only a status for nobody."""
    api = "authentication.k8s.io/v1"
    body = {"apiVersion": api, "kind": "SelfSubjectReview"}
    with client_of(world, world.issuer.token(**claims)) as client:
        try:
            found = client.request("POST", f"/apis/{api}/selfsubjectreviews", body)
        except ApiError as error:
            return {"status": error.status}
        user: Json = found["status"]["userInfo"]
        return user


@pytest.fixture(scope="module")
def world(people_world: World) -> World:
    # The API server asks the issuer for its keys a little after it starts.
    until(lambda: "username" in who(people_world))
    return people_world


@pytest.mark.controlplane
def test_an_issuer_cannot_name_who_is_not_its_own(world: World) -> None:
    found = who(world, sub="system:admin", groups=["vision", "system:masters"])
    assert found["username"] == "oidc:system:admin"
    named = set(found["groups"])
    assert named == {"oidc:vision", "oidc:system:masters", "system:authenticated"}


@pytest.mark.controlplane
@pytest.mark.parametrize(
    ("claim", "value"),
    [("aud", "other"), ("iss", "https://b.example"), ("exp", 1), ("kind", "robot"), ("sub", "eve")],
)
def test_a_token_that_fails_a_condition_is_nobodys(world: World, claim: str, value: str) -> None:
    assert who(world, **{claim: value}) == {"status": 401}


@pytest.mark.controlplane
def test_a_researcher_with_a_kubeconfig_starts_a_job_and_no_more(world: World) -> None:
    container = {"name": "main", "image": "registry.example/a:1"}
    pod = {"schedulerName": "gang-scheduler", "restartPolicy": "Never", "containers": [container]}
    job: Json = {
        "apiVersion": "batch/v1", "kind": "Job", "spec": {"template": {"spec": pod}},
        "metadata": {"name": "train", "namespace": "vision"},
    }  # fmt: skip
    with client_of(world, world.issuer.token()) as client:
        client.create(job)
        for path in ("/api/v1/nodes", "/api/v1/secrets", "/api/v1/namespaces/language/pods"):
            with pytest.raises(ApiError, match="forbidden"):
                client.request("GET", path)
    lines = [json.loads(each) for each in world.logs.read_text().splitlines()]
    assert ("oidc:ada", "create") in {
        (each["user"].get("username"), each["verb"]) for each in lines
    }


@pytest.mark.controlplane
def test_without_a_name_only_health_and_the_way_to_join_can_be_asked(world: World) -> None:
    info = "/api/v1/namespaces/kube-public/configmaps/cluster-info"
    statuses = {"/livez": 200, info: 403, "/api": 401, f"{info}-2": 401}
    found = {}
    with client_of(world, "") as client:
        for path in statuses:
            # Without the header of a token; of the ConfigMap RBAC knows once kubeadm made it.
            found[path] = client._exchange("GET", path, None, {})[0]
    assert found == statuses


@pytest.mark.controlplane
def test_a_secret_is_stored_encrypted_and_never_logged(world: World) -> None:
    named = {"name": "a", "namespace": "vision"}
    data = {"word": "plainly-to-be-seen"}
    world.client.create(
        {"apiVersion": "v1", "kind": "Secret", "metadata": named, "stringData": data}
    )
    found = world.client.get("v1", "Secret", "a", "vision")
    assert found and found["data"]
    stored = b"".join(each.read_bytes() for each in (world.plane.directory / "etcd").rglob("*.wal"))
    assert b"k8s:enc:kms:v2:vault:" in stored and b"plainly-to-be-seen" not in stored
    assert "plainly" not in world.logs.read_text()


@pytest.mark.controlplane
def test_admission_plugins_of_the_sites_file_judge(world: World) -> None:
    space = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "of-nobody"}}
    world.client.apply(space)
    spec = {"hostNetwork": True, "containers": [{"name": "a", "image": "a"}]}
    metadata = {"name": "a", "namespace": "of-nobody"}
    with pytest.raises(ApiError, match='violates PodSecurity "baseline'):
        world.client.create({"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec})
