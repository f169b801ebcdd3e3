"""The cache server's tokens, asked about of a real API server; what a fake of it can show is in
cache-server/tests."""

from pathlib import Path
from typing import Any

import pytest
from cache_server_kit.process import OBJECTS, CacheServer, bucket, until
from cache_server_kit.reviews import fake_token

from controlplane import ApiError, Client, ControlPlane

pytestmark = [pytest.mark.cache, pytest.mark.controlplane]

PATH = f"{OBJECTS}/abc/x"
OTHER_AUTHORITY = """\
-----BEGIN CERTIFICATE-----
MIIBhzCCAS2gAwIBAgIURqrJ7jW3o1uk5MbrakO9U+ryjbcwCgYIKoZIzj0EAwIw
GDEWMBQGA1UEAwwNc29tZWJvZHkgZWxzZTAgFw0yNjExMjIwMTIyMzRaGA8yMTI2
MTAyOTAxMjIzNFowGDEWMBQGA1UEAwwNc29tZWJvZHkgZWxzZTBZMBMGByqGSM49
AgEGCCqGSM49AwEHA0IABN8rEtCoRelqtk/QjzHIwUiWjM1p1vjm6CdYOxlqfi2c
4DEtdSm3R1b9X2BcDXCCanjpz5Skm1NgQWmG2OPctN2jUzBRMB0GA1UdDgQWBBQs
Y2Ka1tJHrXUoKH3GgSNNDXs4cTAfBgNVHSMEGDAWgBQsY2Ka1tJHrXUoKH3GgSNN
DXs4cTAPBgNVHRMBAf8EBTADAQH/MAoGCCqGSM49BAMCA0gAMEUCIQCP3bRpDWiW
jdSsK+Uhm/Gn92ypjHUXXe+Aze6abXboQAIgX8/EG8b1Uq7lGarGT+RqzM8qSS+T
c2dMIPYbxwdiF7k=
-----END CERTIFICATE-----
"""
"""A certificate authority that has signed nothing; its key was never kept."""
BUCKETS = [bucket("abc", namespaces=["team-a"]), bucket("open", public=True)]


def token_of(
    client: Client, namespace: str, account: str, audience: str | None, pod: dict[str, Any] | None
) -> str:
    """A token as kubelet gets it for a pod's projected volume."""
    spec: dict[str, Any] = {"expirationSeconds": 600}
    if audience is not None:
        spec["audiences"] = [audience]
    if pod is not None:
        meta = pod["metadata"]
        spec["boundObjectRef"] = {
            "apiVersion": "v1",
            "kind": "Pod",
            "name": meta["name"],
            "uid": meta["uid"],
        }
    path = f"/api/v1/namespaces/{namespace}/serviceaccounts/{account}/token"
    body = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": spec}
    answer = client.request("POST", path, body)
    return str(answer["status"]["token"])


def account(client: Client, namespace: str, name: str) -> None:
    for kind, metadata in (
        ("Namespace", {"name": namespace}),
        ("ServiceAccount", {"name": name, "namespace": namespace}),
    ):
        client.apply({"apiVersion": "v1", "kind": kind, "metadata": metadata})


def pod(client: Client, namespace: str, name: str) -> dict[str, Any]:
    return client.create(
        {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {"name": name, "namespace": namespace},
            "spec": {
                "serviceAccountName": "default",
                "containers": [{"name": "main", "image": "registry.invalid/none:1"}],
            },
        }
    )


def allow_reviews(client: Client) -> None:
    rbac = "rbac.authorization.k8s.io"
    rule = {
        "apiGroups": ["authentication.k8s.io"],
        "resources": ["tokenreviews"],
        "verbs": ["create"],
    }
    subject = {"kind": "ServiceAccount", "name": "cache-server", "namespace": "cache-tokens"}
    client.apply(
        {
            "apiVersion": f"{rbac}/v1",
            "kind": "ClusterRole",
            "metadata": {"name": "cache-tokens"},
            "rules": [rule],
        }
    )
    client.apply(
        {
            "apiVersion": f"{rbac}/v1",
            "kind": "ClusterRoleBinding",
            "metadata": {"name": "cache-tokens"},
            "roleRef": {"apiGroup": rbac, "kind": "ClusterRole", "name": "cache-tokens"},
            "subjects": [subject],
        }
    )


def test_bound_tokens_of_a_real_api_server(api: ControlPlane, tmp_path: Path) -> None:
    with api.client() as client:
        account(client, "cache-tokens", "cache-server")
        for namespace in ("cache-team-a", "cache-team-b"):
            account(client, namespace, "default")
        reader = pod(client, "cache-team-a", "reader")
        good = token_of(client, "cache-team-a", "default", "cache", reader)
        tokens = {
            "other namespace": token_of(client, "cache-team-b", "default", "cache", None),
            "other audience": token_of(client, "cache-team-a", "default", "other", reader),
            "no audience of ours": token_of(client, "cache-team-a", "default", None, reader),
            "changed": good[:-8] + ("A" * 8 if not good.endswith("A" * 8) else "B" * 8),
            "no service account": (api.directory / "tokens.csv").read_text().split(",")[0],
        }
        flags = {"api-ca": str(api.directory / "certs" / "apiserver.crt"), "review-seconds": "0.2"}
        server = CacheServer(tmp_path, api.status().server or "", flags)
        server.own_token.write_text(token_of(client, "cache-tokens", "cache-server", None, None))
        server.configure(bucket("abc", namespaces=["cache-team-a"]))
        with server:
            # It may not ask yet.
            assert server.get(PATH, good).status == 503
            allow_reviews(client)
            until(lambda: server.get(PATH, good).status == 404)
            assert server.put(PATH, b"shared", good).status == 201
            assert server.get(PATH, good).body == b"shared"
            statuses = {name: server.get(PATH, token).status for name, token in tokens.items()}
            assert statuses == {
                "other namespace": 403,
                "other audience": 401,
                "no audience of ours": 401,
                "changed": 401,
                "no service account": 401,
            }
            assert client.delete("v1", "Pod", "reader", "cache-team-a")
            until(lambda: server.get(PATH, good).status == 401)
            assert not any(token in server.log for token in (good, *tokens.values()))


def test_an_api_server_of_another_authority_is_not_believed(
    api: ControlPlane, tmp_path: Path
) -> None:
    authority = tmp_path / "other.pem"
    authority.write_text(OTHER_AUTHORITY)
    flags = {"api-ca": str(authority)}
    server = CacheServer(tmp_path, api.status().server or "", flags)
    with server.configure(*BUCKETS):
        assert server.get(PATH, fake_token("team-a")).status == 503
        assert "ClientConnectorCertificateError" in server.log


def test_a_token_lives_ten_minutes_at_least(api: ControlPlane) -> None:
    """Why expiry is tried with the fake: the real one gives out none that ends soon."""
    with api.client() as client:
        account(client, "cache-short", "default")
        path = "/api/v1/namespaces/cache-short/serviceaccounts/default/token"
        body = {
            "apiVersion": "authentication.k8s.io/v1",
            "kind": "TokenRequest",
            "spec": {"expirationSeconds": 599},
        }
        with pytest.raises(ApiError, match="less than 10 minutes"):
            client.request("POST", path, body)
