"""The API server starts with the settings of a site, and people log in as the site says."""

import json
from typing import Any

import pytest

from components.machines.apiserver import api_server_files
from components.making.manifest import Json
from controlplane import Access, ApiError, Client
from controlplane.access import read_kubeconfig, write_kubeconfig
from tests.golden import bootstraps, one
from tests.kit.admission_server import until
from tests.kit.repository import all_sites
from tests.kit.rights_server import World, with_everything

SITE = with_everything()


def config(kind: str = "apiServer") -> Json:
    spec: Json = one(SITE, "KubeadmControlPlane")["spec"]["kubeadmConfigSpec"]
    found: Json = spec["clusterConfiguration"][kind]
    return found


def test_each_file_is_mounted_and_named_by_an_argument() -> None:
    values = {each["value"] for each in config()["extraArgs"]}
    mounted = {each["mountPath"] for each in config()["extraVolumes"]}
    for file in api_server_files(SITE):
        assert file["path"] in values and file["permissions"] == "0600"
        assert file["path"].rpartition("/")[0] in mounted
    assert config()["certSANs"] == ["api.tokyo-1.example"]


def test_workers_get_none_of_it() -> None:
    of_workers = {name: each for name, each in bootstraps(SITE).items() if name != "control"}
    assert of_workers == {
        name: each for name, each in bootstraps(all_sites()["tokyo-1"]).items() if name != "control"
    }


def test_an_argument_of_the_site_is_joined_with_foresites_own() -> None:
    from tests.golden import with_file

    given = {
        **SITE.file.cluster.model_dump(mode="json"),
        "arguments": {"api_server": {"feature-gates": "A=true"}},
    }
    cluster = type(SITE.file.cluster).model_validate(given)
    spec = one(with_file(SITE, cluster=cluster), "KubeadmControlPlane")["spec"]["kubeadmConfigSpec"]
    arguments = spec["clusterConfiguration"]["apiServer"]["extraArgs"]
    (gates,) = [each["value"] for each in arguments if each["name"] == "feature-gates"]
    assert gates.startswith("A=true") and "MutatingAdmissionPolicy=true" in gates


# --- on a real API server that starts with all of it ---


def client_of(world: World, token: str) -> Client:
    """Whoever has a kubeconfig with this token."""
    known = read_kubeconfig(world.plane.kubeconfig())
    path = world.plane.directory / "researcher.kubeconfig"
    write_kubeconfig(path, Access(known.server, token, known.authority), ["tokyo-1"])
    return Client.from_kubeconfig(path)


def who(world: World, **claims: Any) -> Json | int:
    """Whom the API server takes the owner of a token for; the status where it takes them for
    nobody."""
    body = {"apiVersion": "authentication.k8s.io/v1", "kind": "SelfSubjectReview"}
    with client_of(world, world.issuer.token(**claims)) as client:
        try:
            path = "/apis/authentication.k8s.io/v1/selfsubjectreviews"
            found: Json = client.request("POST", path, body)["status"]["userInfo"]
        except ApiError as error:
            return error.status
        return found


@pytest.fixture(scope="module")
def world(people_world: World) -> World:
    # The API server asks the issuer for its keys a little after it starts.
    until(lambda: not isinstance(who(people_world), int))
    return people_world


@pytest.mark.controlplane
def test_a_token_gives_the_names_of_its_issuer(world: World) -> None:
    found = who(world, sub="ada", groups=["vision", "all"])
    assert isinstance(found, dict)
    assert found["username"] == "oidc:ada"
    assert {"oidc:vision", "oidc:all"} <= set(found["groups"])


@pytest.mark.controlplane
def test_an_issuer_cannot_name_who_is_not_its_own(world: World) -> None:
    found = who(world, sub="system:admin", groups=["system:masters"])
    assert isinstance(found, dict)
    assert found["username"] == "oidc:system:admin"
    assert "system:masters" not in found["groups"]
    with client_of(world, world.issuer.token(groups=["system:masters"])) as client:
        with pytest.raises(ApiError, match="forbidden"):
            client.request("GET", "/api/v1/nodes")


@pytest.mark.controlplane
@pytest.mark.parametrize(
    "claims",
    [
        {"aud": "other"},
        {"iss": "https://other.example"},
        {"exp": 1},
        {"kind": "robot"},
        {"sub": "eve"},
    ],
)
def test_a_token_that_fails_a_condition_is_nobodys(world: World, claims: Json) -> None:
    assert who(world, **claims) == 401


@pytest.mark.controlplane
def test_a_researcher_with_a_kubeconfig_starts_a_job_and_no_more(world: World) -> None:
    container = {"name": "main", "image": "registry.example/a:1"}
    template = {"spec": {"restartPolicy": "Never", "containers": [container]}}
    job: Json = {
        "apiVersion": "batch/v1", "kind": "Job",
        "metadata": {"name": "train", "namespace": "vision"}, "spec": {"template": template},
    }  # fmt: skip
    with client_of(world, world.issuer.token()) as client:
        client.create(job)
        assert [each["metadata"]["name"] for each in client.items("batch/v1", "Job", "vision")]
        for path in ("/api/v1/nodes", "/api/v1/secrets", "/api/v1/namespaces/language/pods"):
            with pytest.raises(ApiError, match="forbidden"):
                client.request("GET", path)
    lines = [json.loads(each) for each in world.logs.read_text().splitlines()]
    assert any(
        each["user"]["username"] == "oidc:ada" and each["verb"] == "create" for each in lines
    )


@pytest.mark.controlplane
def test_without_a_name_only_health_and_the_way_to_join_can_be_asked(world: World) -> None:
    with client_of(world, "") as client:
        client._token = ""
        assert client.request("GET", "/livez")["text"] == "ok"
        for path in ("/api", "/apis", "/api/v1/namespaces/kube-public/configmaps"):
            with pytest.raises(ApiError) as error:
                client.request("GET", path)
            assert error.value.status == 401


@pytest.mark.controlplane
def test_a_secret_is_stored_encrypted_and_never_logged(world: World) -> None:
    body = {
        "apiVersion": "v1", "kind": "Secret", "metadata": {"name": "a", "namespace": "vision"},
        "stringData": {"word": "plainly-to-be-seen"},
    }  # fmt: skip
    world.client.create(body)
    found = world.client.get("v1", "Secret", "a", "vision")
    assert found and found["data"]
    stored = b"".join(each.read_bytes() for each in (world.plane.directory / "etcd").rglob("*.wal"))
    assert b"k8s:enc:kms:v2:vault:" in stored and b"plainly-to-be-seen" not in stored
    assert "plainly" not in world.logs.read_text()


@pytest.mark.controlplane
def test_admission_plugins_of_the_sites_file_judge(world: World) -> None:
    body = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "of-nobody"}}
    world.client.apply(body)
    spec = {"hostNetwork": True, "containers": [{"name": "a", "image": "a"}]}
    pod = {
        "apiVersion": "v1", "kind": "Pod", "metadata": {"name": "a", "namespace": "of-nobody"},
        "spec": spec,
    }  # fmt: skip
    with pytest.raises(ApiError, match='violates PodSecurity "baseline'):
        world.client.create(pod)
