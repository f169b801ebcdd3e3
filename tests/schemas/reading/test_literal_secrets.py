"""Texts that look like a key are refused wherever they stand, and shown nowhere."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from foresite import cli
from schemas.kubernetes.masking import HIDDEN, mask, mask_command, shorten
from schemas.kubernetes.secret_forms import FORMS, IN_A_URL, SPOKEN
from schemas.kubernetes.secret_scan import is_secret, is_secret_name, kind_of
from schemas.load import load_site
from schemas.model.codes import Code
from schemas.model.problem import Problem
from schemas.model.site_file import SiteFile
from schemas.reading.literal_secrets import REFERENCES, in_manifests, in_text
from schemas.reading.site_files import MAX_BYTES
from tests.kit import secret_samples as samples
from tests.kit.repository import ROOT, WRITTEN_OUT, copy_sites, with_examples
from tests.kit.secrets_canary import canary
from tests.preview.test_verdicts import leaves

EVERY = [
    (what, text) for what, texts in {**samples.FORMED, **samples.SPOKEN}.items() for text in texts
]


def test_every_form_has_a_sample() -> None:
    assert samples.FORMED.keys() == {form.what for form in FORMS}
    assert samples.SPOKEN.keys() == {form.what for form in SPOKEN}
    assert all(form.source for form in (*FORMS, *SPOKEN))


@pytest.mark.parametrize(("what", "text"), EVERY)
def test_a_key_is_known_by_its_form_and_hidden(what: str, text: str) -> None:
    assert kind_of(text) == what
    shown = mask(f"before\t{text}")
    assert shown.startswith("before") and HIDDEN in shown
    assert "hunter2" not in shown
    assert kind_of(shown) == ""


@pytest.mark.parametrize("text", samples.USERS)
def test_a_user_in_a_url_is_hidden(text: str) -> None:
    assert kind_of(text) == IN_A_URL
    assert "hunter2" not in mask(text)


@pytest.mark.parametrize("text", samples.HARMLESS)
def test_what_is_no_key_is_shown(text: str) -> None:
    assert (kind_of(text), mask(text)) == ("", text)


@pytest.mark.parametrize("text", samples.UNSURE)
def test_what_may_be_a_password_is_hidden_and_no_problem(text: str) -> None:
    shown = mask(text)
    assert kind_of(text) == ""
    assert HIDDEN in shown and "hunter2" not in shown
    assert mask(shown) == shown


@pytest.mark.parametrize("address", ["10.0.0.1", "[fd00::1]", "10.0.0.1:623"])
def test_a_plain_word_before_an_ip_address_is_a_password(address: str) -> None:
    text = f"admin:password@{address}"
    assert kind_of(text) == "a user and a password before an address"
    assert mask(text) == f"{HIDDEN}@{address}"


def test_a_key_that_is_cut_short_is_hidden_all_the_same() -> None:
    token = canary("ghp_")
    assert token[:12] not in shorten(f"{'x' * 50}{' '}{token}")


def test_two_keys_in_one_text_are_both_hidden() -> None:
    assert mask("a http://u:p@x b glpat-hunter2hunter2hunter2 c") == (
        f"a http://{HIDDEN}@x b {HIDDEN} c"
    )


LARGE = MAX_BYTES
"""Characters of the largest file that is read. To read the rest of it anew from
each place at which something might start would take days."""
REPEATED = {
    "addresses, each behind the last": "a://b:",
    "one word": "0a",
    "beginnings of tokens": "-eyJhbGciOiJ",
    "names that nothing is given": "token ",
    "users without an address": "a:b@@",
    "passwords that are not said": "password:",
    "flags without a password": "(-p",
    "commands without one": "mysql -",
}


@pytest.mark.proof
@pytest.mark.parametrize("what", REPEATED)
def test_a_large_file_is_read_once(what: str) -> None:
    part = REPEATED[what]
    text = part * (LARGE // len(part)) + " .eyJ http://robot:hunter2@x"
    assert [each.literal.message for each in in_text(text)] == [
        f"this holds {IN_A_URL}, and everyone who reads Git has it"
    ]


def test_a_large_text_of_manifests_is_read_once() -> None:
    config = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "x"}}
    text = "0a" * (LARGE // 8) + " password=hunter2"
    found = in_manifests(json.dumps({**config, "data": {"large": text}}))
    assert [each.literal.message.partition(" ")[0] for each in found] == ["password"]


@pytest.mark.parametrize(
    "name",
    ["password", "DB_PASSWORD", "apiKey", "--token", "clientSecret", "routing_key", "PGPASS"],
)
def test_a_name_of_a_secret_is_one(name: str) -> None:
    assert is_secret_name(name)


@pytest.mark.parametrize(
    "name",
    ["token_seconds", "secretName", "password_file", "compass", "key", "tokens-path", "bypass",
     "credentials_provider"],
)  # fmt: skip
def test_a_name_that_says_something_of_a_secret_is_none(name: str) -> None:
    assert not is_secret_name(name)


@pytest.mark.parametrize("value", ["", "true", "off", "$(TOKEN)", "${TOKEN}", "null"])
def test_a_switch_and_a_variable_are_no_secrets(value: str) -> None:
    assert not is_secret("token", value)


@pytest.mark.parametrize("words", ["up --token {} x", "up --token={} x", "up --db-password {} x"])
def test_arguments_are_shown_without_their_secrets(words: str) -> None:
    shown = mask_command(words.format("hunter2"))
    assert "hunter2" not in shown and shown.startswith("up --") and shown.endswith(" x")


def test_no_problem_shows_a_key_whoever_words_it() -> None:
    token = canary("ghp_")
    said = [f"{each} {token}" for each in ("file", "path", "value", "message", "fix")]
    file, path, value, message, fix = said
    problem = Problem(file, 1, 1, Code.INVALID_VALUE, path, value, message, fix)
    assert token not in str(problem) + json.dumps(problem.as_dict())


# --- files ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "folder",
    [
        pytest.param("sites", marks=with_examples),
        "schemas/catalogue",
        "tests/fleet",
        "tests/golden",
        "docs",
    ],
)
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
        if is_secret_name(leaf.rpartition(".")[2]) and not leaf.startswith("secrets.")
    }
    assert named <= REFERENCES


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("literals")
    copy_sites(root)
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


LAB = yaml.safe_load((WRITTEN_OUT / "lab-1.yaml").read_text())
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
