"""What looks like a key is refused wherever it stands, and shown nowhere."""

import json
import shutil
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml

from foresite import cli
from schemas.codes import Code
from schemas.credentials import (
    FORMS,
    HIDDEN,
    IN_A_URL,
    is_secret,
    kind_of,
    masked,
    masked_words,
    named_as_secret,
)
from schemas.literals import REFERENCES, in_manifests
from schemas.load import load_site
from schemas.problem import Problem, shorten
from schemas.sitefile import SiteFile
from tests.repository import ROOT
from tests.secrets_canary import canary
from tests.test_verdicts import leaves

SAMPLES: Mapping[str, tuple[str, ...]] = {
    "a private key": (
        "-----BEGIN OPENSSH PRIVATE KEY-----\nhunter2\n-----END OPENSSH PRIVATE KEY-----",
        "-----BEGIN EC PRIVATE KEY-----\nhunter2 cut off",
        "PuTTY-User-Key-File-3: ssh-ed25519\nhunter2",
    ),
    "a private key in base64": ("LS0tLS1CRUdJTiBQUklWQVRFIEtFWS0tLS0tCmh1bnRlcjI=",),
    "a private key of age": ("AGE-SECRET-KEY-1HUNTER2QQQQQQQQQQQQQQQQQQQQQQ",),
    "a key of AWS": ("AKIAIOSFODNN7EXAMPLE", "ASIAIOSFODNN7EXAMPLE"),
    "a key of Google Cloud": ("AIza" + "hunter2" * 5, "GOCSPX-hunter2hunter2hunter2hunt"),
    "a key of Azure": (
        "DefaultEndpointsProtocol=https;AccountKey=" + "hunter2/" * 10 + "hunter==",
        "https://x.blob.core.windows.net/c?sv=1&sig=" + "hunter2%2B" * 5,
        "hun8Q~" + "hunter2" * 4 + "abcdef",
    ),
    "a token of GitHub": ("ghp_" + "hunter2" * 5, "github_pat_" + "hunter2_" * 5),
    "a token of GitLab": ("glpat-hunter2hunter2hunter2", "glrt-hunter2hunter2hunter2"),
    "a web hook or token of Slack": (
        "https://hooks.slack.com/services/T0/B0/hunter2",
        "xoxb-hunter2-hunter2",
        "xapp-1-hunter2hunter2",
    ),
    "a web hook of a chat": (
        "https://discord.com/api/webhooks/1/hunter2",
        "https://x.webhook.office.com/webhookb2/hunter2",
        "123456789:AA" + "hunter2" * 4 + "abcde",
    ),
    "a key of PagerDuty": ("https://events.pagerduty.com/integration/hunter2/enqueue",),
    "a token of Hugging Face": ("hf_" + "hunter2" * 5,),
    "a JSON Web Token": ("eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.hunter2_hunter2",),
    "a token of a package registry": ("npm_" + "hunter2" * 5, "dckr_pat_hunter2hunter2hunter2"),
    "a token of Vault": ("hvs.hunter2hunter2hunter2hunter2",),
    "a token of Pulumi": ("pul-" + "0123456789" * 4,),
    "a key of a hosted model": ("sk-ant-hunter2hunter2hunter2", "sk-" + "hunter2" * 7),
    "a token of Grafana": ("glsa_" + "hunter2" * 5,),
    "the hash of a password": ("$6$salt$" + "hunter2" * 5, "$2b$12$" + "hunter2" * 5),
    "a URL with a token in its query": ("https://x.example/hook?token=hunter2hunter2",),
}
"""Of each form, what it looks like; none was ever a key of anybody's."""
EVERY = [(what, text) for what, texts in SAMPLES.items() for text in texts]
USERS = (
    "http://robot:hunter2@x",
    "http://hunter2@x",
    "ldap://a:hunter2/b@x",
    "x http://a:hunter2@b y",
)
HARMLESS = (
    "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIFymhLku4SdfYrPbCwX88H668olnzzQcg7SSyMhAs2aA ops@example",
    "sk-ssh-ed25519@openssh.com AAAAGnNrLXNzaC1lZDI1NTE5QG9wZW5zc2guY29tAAAAIA== ops",
    "sk-ecdsa-sha2-nistp256@openssh.com",
    "SHA256:47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU",
    "registry.example/cache/server:v1.0.0@sha256:" + "ab" * 32,
    "-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----",
    "-----BEGIN PUBLIC KEY-----\nMIIB\n-----END PUBLIC KEY-----",
    "http://registry.example:5000/images/a@b",
    "ssh://git@git.example/sites.git",
    "EX21000001",
    "52:54:00:11:00:01",
    "the private key is on the host",
)
"""Long, random or called alike, and no secrets."""


def test_every_form_has_a_sample() -> None:
    assert SAMPLES.keys() == {form.what for form in FORMS}
    assert all(form.source for form in FORMS)


@pytest.mark.parametrize(("what", "text"), EVERY)
def test_a_key_is_known_by_its_form_and_hidden(what: str, text: str) -> None:
    assert kind_of(text) == what
    shown = masked(f"before\t{text}")
    assert shown.startswith("before") and HIDDEN in shown
    assert "hunter2" not in shown
    assert kind_of(shown) == ""


@pytest.mark.parametrize("text", USERS)
def test_a_user_in_a_url_is_hidden(text: str) -> None:
    assert kind_of(text) == IN_A_URL
    assert "hunter2" not in masked(text)


@pytest.mark.parametrize("text", HARMLESS)
def test_what_is_no_key_is_shown(text: str) -> None:
    assert (kind_of(text), masked(text)) == ("", text)


def test_a_key_that_is_cut_short_is_hidden_all_the_same() -> None:
    token = canary("ghp_")
    assert token[:12] not in shorten(f"{'x' * 50}{' '}{token}")


def test_two_keys_in_one_text_are_both_hidden() -> None:
    assert masked("a http://u:p@x b glpat-hunter2hunter2hunter2 c") == (
        f"a http://{HIDDEN}@x b {HIDDEN} c"
    )


@pytest.mark.parametrize(
    "name",
    ["password", "DB_PASSWORD", "apiKey", "--token", "clientSecret", "routing_key", "PGPASS"],
)
def test_a_name_of_a_secret_is_one(name: str) -> None:
    assert named_as_secret(name)


@pytest.mark.parametrize(
    "name",
    ["token_seconds", "secretName", "password_file", "compass", "key", "tokens-path", "bypass",
     "credentials_provider"],
)  # fmt: skip
def test_a_name_that_says_something_of_a_secret_is_none(name: str) -> None:
    assert not named_as_secret(name)


@pytest.mark.parametrize("value", ["", "true", "off", "$(TOKEN)", "${TOKEN}", "null"])
def test_a_switch_and_a_variable_are_no_secrets(value: str) -> None:
    assert not is_secret("token", value)


@pytest.mark.parametrize("words", ["up --token {} x", "up --token={} x", "up --db-password {} x"])
def test_arguments_are_shown_without_their_secrets(words: str) -> None:
    shown = masked_words(words.format("hunter2"))
    assert "hunter2" not in shown and shown.startswith("up --") and shown.endswith(" x")


def test_no_problem_shows_a_key_whoever_words_it() -> None:
    token = canary("ghp_")
    said = [f"{each} {token}" for each in ("file", "path", "value", "message", "fix")]
    file, path, value, message, fix = said
    problem = Problem(file, 1, 1, Code.INVALID_VALUE, path, value, message, fix)
    assert token not in str(problem) + json.dumps(problem.as_dict())


# --- files ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("folder", ["sites", "schemas/catalogue", "tests/golden", "docs"])
def test_nothing_of_ours_looks_like_a_key(folder: str) -> None:
    paths = [path for path in (ROOT / folder).rglob("*") if path.is_file()]
    texts = {path: path.read_bytes().decode("utf-8", "replace") for path in paths}
    assert texts
    assert {path: kind_of(text) for path, text in texts.items() if kind_of(text)} == {}


def test_fields_that_name_secrets_are_known() -> None:
    """A new field of such a name is to be told from one that holds a secret."""
    named = {
        tuple(leaf.split("."))
        for leaf in leaves(SiteFile)
        if named_as_secret(leaf.rpartition(".")[2]) and not leaf.startswith("secrets.")
    }
    assert named <= REFERENCES


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("literals")
    shutil.copytree(ROOT / "sites", root / "sites")
    (root / "schemas").mkdir()
    (root / "schemas" / "catalogue").symlink_to(ROOT / "schemas" / "catalogue")
    return root


def texts(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """The paths of all texts in some data."""
    if isinstance(value, str):
        yield path
    elif isinstance(value, dict | list):
        pairs = value.items() if isinstance(value, dict) else enumerate(value)
        for key, item in pairs:
            yield from texts(item, (*path, key))


def put(value: Any, path: tuple[Any, ...], text: str) -> None:
    for step in path[:-1]:
        value = value[step]
    value[path[-1]] = text


LAB = yaml.safe_load((ROOT / "sites" / "lab-1.yaml").read_text())
assert isinstance(LAB, dict)


@pytest.mark.parametrize("path", [*texts(LAB)], ids=lambda path: ".".join(map(str, path)))
def test_a_key_in_any_text_of_a_site_is_refused_and_never_shown(
    path: tuple[Any, ...], folder: Path
) -> None:
    token = canary("ghp_")
    file = folder / "sites" / "lab-1.yaml"
    before = file.read_text()
    data = yaml.safe_load(before)
    put(data, path, token)
    file.write_text(yaml.safe_dump(data))
    problems = load_site(folder, "lab-1").problems
    file.write_text(before)
    assert Code.SECRET_IN_FILE in {each.code for each in problems}
    assert token not in "".join(f"{each}{each.as_dict()}" for each in problems)


def test_arguments_are_not_repeated(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        cli.main(["check", "--password=hunter2"])
    with pytest.raises(SystemExit):
        cli.main(["check", "--token", "hunter2", "--format", canary("ghp_")])
    said = capsys.readouterr()
    assert "hunter2" not in said.out + said.err
    assert "ghp_" not in said.err and "--format" in said.err


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("kind: ConfigMap\ndata: {password: hunter2}", {"password"}),
        ('kind: ConfigMap\ndata:\n  x.json: \'{"apiKey": "hunter2"}\'', {"apiKey"}),
        ("kind: ConfigMap\ndata: {token: $(TOKEN)}", set()),
        ("kind: ConfigMap\ndata: {token-file: /run/token}", set()),
        ("kind: Pod\nspec: {containers: [{args: [--token, hunter2]}]}", {"--token"}),
        ("kind: Pod\nspec: {containers: [{args: [--token=$(TOKEN)]}]}", set()),
        ("kind: Pod\nspec: {containers: [{env: [{name: API_KEY, value: hunter2}]}]}", {"API_KEY"}),
        ("kind: Pod\nspec: {automountServiceAccountToken: false}", set()),
        ("kind: Pod\nspec: {volumes: [{secret: {secretName: mesh}}]}", set()),
        ("kind: Role\nrules: [{resources: [secrets], verbs: [get]}]", set()),
    ],
)
def test_manifests_are_judged_by_the_names_in_them(text: str, names: set[str]) -> None:
    found = in_manifests(f"apiVersion: v1\nmetadata: {{name: x}}\n{text}\n")
    assert {each.literal.message.partition(" ")[0] for each in found} == names
    assert all("hunter2" not in each.literal.message for each in found)
    assert all(each.line > 2 for each in found)
