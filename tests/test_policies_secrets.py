"""No secret in an object: each form of a credential is found, and what only looks like one is not.

The credentials here are made of pieces, so that none stands in this file.
"""

import base64
from typing import Any

import pytest

from policies.credentials import FORMS, credential, named_secret
from tests.policy_objects import DIGEST, WEB, Place, found, good, paths

LETTERS = "aB3dE5gH7jK9mN1pQ2rS4tU6vW8xY0zA" * 3
UPPER = "ABCDEFGHIJKLMNOPQRST"
DATA: Place = ("data", "settings.yaml")
KEY = "-----BEGIN " + "OPENSSH PRIVATE KEY-----\nb3BlbnNzaC1rZXktdjEAAAA\n"
CREDENTIALS = {
    "a private key": KEY,
    "a key of age": "AGE-SECRET-" + "KEY-1" + UPPER * 2 + UPPER[:18],
    "an access key of AWS": "AK" + "IA" + "ABCDEFGH234567QR",
    "an API key of Google": "AI" + "za" + LETTERS[:35],
    "a token of Google": "ya" + "29." + LETTERS[:40],
    "a token of GitHub": "gh" + "p_" + LETTERS[:36],
    "a token of GitLab": "gl" + "pat-" + LETTERS[:20],
    "a token of Slack": "xo" + "xb-1234567890-" + LETTERS[:24],
    "a webhook of Slack": "https://hooks." + "slack.com/services/T0000/B0000/" + LETTERS[:24],
    "a token of Pulumi": "pu" + "l-" + "5f1d" * 10,
    "a token of Vault": "hv" + "s." + LETTERS[:30],
    "a token of npm": "np" + "m_" + LETTERS[:36],
    "a token of PyPI": "py" + "pi-AgEIcHlwaS5vcmc" + LETTERS[:60],
    "a token of Hugging Face": "h" + "f_" + "abcdefghijklmnopqrstuvwxyzABCDEFGH",
    "a signed token (JWT)": "ey" + "JhbGciOiJIUzI1NiJ9." + "ey" + "JzdWIiOiIxMjM0In0.c2lnbmF0dXJl",
    "a bootstrap token of kubeadm": "abc" + "def.0123456789abcdef",
    "a hash of a password": "$" + "6$salt$" + LETTERS[:60],
    "a password in an address": "postgres://app:" + "hunter2@db.example.com/app",
}
"""One of each form, by the words for it."""

HARMLESS = [
    f"registry.example.com/web:1@{DIGEST}",
    "-----BEGIN CERTIFICATE-----\nMIIB0DCCAXegAwIBAgIUAdl9PZ22k0\n-----END CERTIFICATE-----",
    "https://prometheus.example.com:9090/api/v1?query=up@start",
    "http://$(USER):$(PASSWORD)@registry.example.com",
    "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIGl2YWxpZA ops@example.com",
    "password=$(cat /run/secrets/password)",
    "token: {{ .Token }}",
    "--token-file=/var/run/secrets/kubernetes.io/serviceaccount/token",
    "secretName: bmc-credentials",
    "token: it is mounted at /var/run",
    "a token= b, and a password: required",
    "key = value\nsort_key=name",
    "password: <none>",
    "images.tokyo-1.example",
    "kubectl get secret web -o jsonpath='{.data.password}'",
    "cost $6$7 and $PATH$HOME",
]
"""Texts of the kind that objects have, none of which is a secret."""


def test_there_is_a_credential_of_each_form() -> None:
    assert CREDENTIALS.keys() == {form.name for form in FORMS}


@pytest.mark.parametrize("what", CREDENTIALS)
def test_a_credential_is_found_and_not_repeated(what: str) -> None:
    text = CREDENTIALS[what]
    (one,) = found("secret-literal", good("ConfigMap", DATA, f"value: {text}\n"))
    assert one.path == 'data["settings.yaml"]'
    assert one.message == f"this text has {what} in it"
    assert text not in f"{one.path}{one.message}{one.fix}"


def test_base64_hides_nothing() -> None:
    text = base64.b64encode(KEY.encode()).decode()
    assert credential(text) == "a private key"
    assert credential(base64.b64encode(b"\xff" * 60).decode()) is None


@pytest.mark.parametrize("text", HARMLESS)
def test_what_only_looks_like_a_secret_is_none(text: str) -> None:
    assert paths("secret-literal", good("ConfigMap", DATA, text)) == []


@pytest.mark.parametrize(
    "text",
    [
        "password=hunter2",
        "set -e\ncurl --api-key=" + LETTERS[:12] + " https://example.com",
        "db:\n  client_secret: 'correct-horse-9'\n",
        '{"auth_token": "' + LETTERS[:20] + '"}',
    ],
)
def test_a_password_written_out_is_found(text: str) -> None:
    assert paths("secret-literal", good("ConfigMap", DATA, text)) == ['data["settings.yaml"]']


@pytest.mark.parametrize(
    ("name", "secret"),
    [
        ("password", True), ("DB_PASSWORD", True), ("clientSecret", True), ("apiKey", True),
        ("auth-token", True), ("passwd", True), ("secretName", False), ("tokens", False),
        ("bypass", False), ("topologyKey", False), ("credentialsName", False), ("monkey", False),
    ],
)  # fmt: skip
def test_a_field_that_is_named_like_a_secret_is_no_literal(name: str, secret: bool) -> None:
    assert named_secret(name) == secret
    each = good("ConfigMap", ("data", name), "changeme")
    assert paths("secret-literal", each) == ([f"data.{name}"] if secret else [])


def test_a_variable_that_is_a_secret_comes_from_one() -> None:
    rule, place = "secret-environment", (*WEB, "env", 1)
    assert paths(rule, good("Deployment")) == []
    bad = good("Deployment", place, {"name": "PASSWORD", "value": "changeme"})
    assert paths(rule, bad) == ["spec.template.spec.containers[0].env[1].value"]
    refers = good("Deployment", place, {"name": "PASSWORD", "value": "$(OTHER)"})
    assert paths(rule, refers) == []


@pytest.mark.parametrize(
    ("fields", "expected"),
    [({"data": {"a": "YQ=="}}, ["data"]), ({"stringData": {"a": "a"}}, ["stringData"]), ({}, [])],
)
def test_a_secret_comes_without_its_content(fields: dict[str, Any], expected: list[str]) -> None:
    each = good("ConfigMap")
    body = {**each.body, "kind": "Secret", **fields}
    del body["data"]
    assert paths("secret-object", each._replace(body={**body, **fields})) == expected
