"""No secret in an object: each is found at its place, told once and not repeated.

What is a secret and what is none is in tests/kit/secret_samples.py, for the readers of files as
well.
"""

import base64
from typing import Any

import pytest

from schemas.kubernetes.secret_scan import credential, is_secret_name
from tests.kit import secret_samples as samples
from tests.kit.policy_objects import WEB, Place, found, good, paths

DATA: Place = ("data", "settings.yaml")
FORMED = [(what, text) for what, texts in samples.FORMED.items() for text in texts]


@pytest.mark.parametrize(("what", "text"), FORMED)
def test_a_credential_is_found_and_not_repeated(what: str, text: str) -> None:
    (one,) = found("secret-literal", good("ConfigMap", DATA, f"value: {text}\n"))
    assert one.path == 'data["settings.yaml"]'
    assert one.message == f"this text has {what} in it"
    assert text not in f"{one.path}{one.message}{one.fix}"


def test_base64_hides_nothing() -> None:
    (token,) = samples.FORMED["a token of Hugging Face"]
    assert credential(base64.b64encode(token.encode()).decode()) == "a token of Hugging Face"
    assert credential(base64.b64encode(b"\xff" * 60).decode()) == ""


@pytest.mark.proof
@pytest.mark.parametrize("part", [" ", "0a", "a://b:", "-eyJhbGciOiJ", "token "])
def test_a_large_text_is_read_once(part: str) -> None:
    """To read the rest anew from each place at which something might start would take days."""
    text = part * ((1 << 21) // len(part)) + " .eyJ password=hunter2"
    assert credential(text) == "a password, a key or a token written out"


@pytest.mark.parametrize("text", samples.HARMLESS)
def test_what_only_looks_like_a_secret_is_none(text: str) -> None:
    assert paths("secret-literal", good("ConfigMap", DATA, text)) == []


@pytest.mark.parametrize("text", samples.TEXTS)
def test_a_password_written_out_is_found(text: str) -> None:
    assert paths("secret-literal", good("ConfigMap", DATA, text)) == ['data["settings.yaml"]']


def test_no_text_of_another_object_hides_a_secret() -> None:
    """All texts are looked through at once; a capital I with a dot is two small letters."""
    password = good("ConfigMap", ("data",), {"env": "MODE=\nPASSWORD=hunter2xyz9\n"})
    for other in ("\u0130stanbul", "MODE=", '"', "a\nb=", "PASSWORD="):
        beside = good("ConfigMap", ("data",), {"city": other})
        for objects in ([password, beside], [beside, password]):
            assert paths("secret-literal", *objects) == paths("secret-literal", password) != []


@pytest.mark.parametrize(
    ("words", "place"),
    [
        (["serve", "--token", "s3cr3tvalue99"], 2),
        (["--password=abc", "--level=info"], 0),
        (["--level=info", "--token=" + samples.FORMED["a token of GitHub"][0]], 1),
    ],
)
def test_an_argument_that_is_a_secret_is_told_once(words: list[str], place: int) -> None:
    each = good("Deployment", (*WEB, "args"), words)
    (one,) = found("secret-literal", each)
    assert one.path == f"spec.template.spec.containers[0].args[{place}]"
    assert words[place] not in f"{one.path}{one.message}{one.fix}"


@pytest.mark.parametrize(
    ("name", "secret"),
    [
        ("password", True), ("DB_PASSWORD", True), ("clientSecret", True), ("apiKey", True),
        ("auth-token", True), ("passwd", True), ("secretName", False), ("tokens", True),
        ("bypass", False), ("topologyKey", False), ("credentialsName", False), ("monkey", False),
    ],
)  # fmt: skip
def test_a_field_that_is_named_like_a_secret_is_no_literal(name: str, secret: bool) -> None:
    assert is_secret_name(name) == secret
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
