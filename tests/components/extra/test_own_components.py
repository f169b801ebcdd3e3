"""Components of one's own: a package on the path makes objects of a site, and what it does wrong
is a problem that names it."""

import datetime
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Annotated, Literal

import pytest
from pydantic import Field, JsonValue

from components.site import COMPONENTS
from foresite.own import CONTRACT, Component, Model, Settings, SiteView
from policies.third_party import parties
from schemas.facts import own_components
from schemas.facts.own_components import _ask, view_of
from schemas.kubernetes.manifests import read_objects
from schemas.model.own_components import BUILT_IN, find_installed
from tests.golden import every_site
from tests.kit.preview_repository import Repository
from tests.kit.repository import ROOT

KIT = ROOT / "tests" / "kit" / "own_component"
SITE = every_site()["lab-1"]
VIEW = view_of(SITE).model_dump_json()
SECTION = """
components:
  acme-pools:
    why: Services of the lab need addresses
    owner: net-team
    addresses: {lab: 10.99.0.0/24}
"""
OBJECT = (
    "{'apiVersion': 'v1', 'kind': '%s', 'metadata': {'name': 'a', 'namespace': 'acme-pools'%s}}"
)


def run(root: Path, *words: str) -> tuple[int, str]:
    """A command with the package on its path, in a process of its own."""
    env = {**os.environ, "PYTHONPATH": f"{KIT}{os.pathsep}{ROOT}"}
    command = [sys.executable, "-P", "-m", "foresite", *words]
    done = subprocess.run(command, cwd=root, env=env, capture_output=True, text=True, check=False)
    return done.returncode, done.stdout + done.stderr


def ask(monkeypatch: pytest.MonkeyPatch, fault: str = "") -> dict[str, str]:
    """The answer of the package's component, made while ``fault`` is run."""
    monkeypatch.syspath_prepend(KIT)
    settings = {"why": "a test of it", "owner": "me", "addresses": {"a": "10.9.0.0/24"}}
    return _ask("acme-pools", VIEW, json.dumps({**settings, "fault": fault}), "1")


@pytest.fixture
def repository(tmp_path: Path) -> Repository:
    found = Repository(tmp_path)
    file = tmp_path / "sites" / "lab-1.yaml"
    text = file.read_text().replace("  services:", "  context: lab-1\n  services:", 1)
    file.write_text(text + SECTION)
    return found


def test_names_that_are_taken_are_those_of_components() -> None:
    assert set(COMPONENTS) == BUILT_IN


def test_objects_are_its_definitions_its_namespaces_and_what_it_makes(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    made = [body for body, _ in read_objects(ask(monkeypatch)["text"])]
    kinds = [each["kind"] for each in made]
    assert kinds == ["CustomResourceDefinition", "Namespace", "AddressPool"]
    assert made[-1]["spec"] == {"addresses": ["10.9.0.0/24"], "site": "lab-1"}


@pytest.mark.parametrize(
    ("fault", "said"),
    [
        ("raise LookupError('no such pool')", "LookupError: no such pool"),
        ("raise SystemExit", "it ends the program"),
        ("import os; os._exit(3)", "it ends the program"),
        ("import socket; socket.create_connection(('192.0.2.1', 1))", "may not do this (socket"),
        ("import subprocess; subprocess.run(['id'])", "may not do this (subprocess"),
        ("import os; os.system('id')", "may not do this (os.system"),
        ("open('/tmp/acme', 'w')", "may not write files"),
        ("open('/tmp/repository/sites/a.csv')", "may not read files of sites"),
        ("import os; os.listdir('/tmp/repository/sites')", "may not read files of sites"),
        ("import os; os.environ['HOME']", "KeyError"),
        ("made.append(7)", "it makes int"),
        ("made.append({'spec': {1, 2}})", "not JSON serializable"),
        ("made.append({'spec': float('nan')})", "Out of range float"),
        ("made += [{}] * 2000", "more than 2000 objects"),
        ("made.append({'spec': 'x' * 5_000_000})", "4194304 bytes"),
        ("while True: pass", "more than"),
    ],
)
def test_whatever_it_does_is_its_own_fault(
    monkeypatch: pytest.MonkeyPatch, fault: str, said: str
) -> None:
    if fault.startswith("while"):
        monkeypatch.setattr(own_components, "DEADLINE_S", 3)
    assert said in ask(monkeypatch, fault)["failed"]


def test_what_it_prints_is_no_object(monkeypatch: pytest.MonkeyPatch) -> None:
    assert ask(monkeypatch, "print('kind: Secret')") == ask(monkeypatch)


@pytest.mark.parametrize(
    ("fault", "code", "said"),
    [
        ("raise KeyError(1)", "own-component", "acme-pools makes no objects of lab-1: KeyError"),
        ("made[0]['spec']['site'] = str({*'abcdef'})", "own-component", "the second time"),
        (
            "import datetime; made[0]['spec']['site'] = str(datetime.date.today())",
            "own-component",
            "the second time",
        ),
        (f"made.append({OBJECT % ('Secret', '')})", "secret-in-file", "Secret a"),
        (f"made.append({OBJECT % ('Bogus', '')})", "object-invalid", "Bogus"),
        ("made.append(made[0])", "duplicate-name", "AddressPool"),
        (
            f"made.append({OBJECT % ('ConfigMap', ', %r: {%r: %r}')})"
            % ("labels", "foresite.dev/component", "machines"),
            "extra-reach",
            "foresite.dev/component",
        ),
        ("made[0]['spec']['addresses'] = 7", "object-invalid", "7"),
        ("made[0].pop('metadata')", "file-content", "metadata"),
    ],
)
def test_a_fault_is_a_problem_at_its_section(
    repository: Repository, fault: str, code: str, said: str
) -> None:
    file = repository.root / "sites" / "lab-1.yaml"
    file.write_text(file.read_text() + f"    fault: {json.dumps(fault)}\n")
    status, output = run(repository.root, "check", "lab-1")
    assert status == 1 and said in output, output
    assert f": {code} " in output or f": {code}\n" in output
    assert "Traceback" not in output and "lab-1.yaml:" in output


def test_commands_work_on_a_site_that_names_it(repository: Repository, tmp_path: Path) -> None:
    root = repository.root
    assert run(root, "check", "lab-1")[0] == 0
    assert "component acme-pools: acme-pools 1.2.0" in run(root, "--version")[1]
    _, explained = run(root, "explain", "lab-1", "components.acme-pools.addresses.lab")
    assert "extra: AddressPool acme-pools/lab" in explained and "sites/lab-1.yaml:" in explained
    out = tmp_path / "out"
    assert run(root, "render", "lab-1", "--out", str(out))[0] == 0
    text = (out / "lab-1" / "site" / "extra" / "addresspool.yaml").read_text()
    assert "foresite.dev/component: extra-acme-pools" in text and "10.99.0.0/24" in text


def test_a_setting_of_its_own_is_judged_where_it_stands(repository: Repository) -> None:
    file = repository.root / "sites" / "lab-1.yaml"
    text = file.read_text()
    file.write_text(text.replace("{lab: 10.99.0.0/24}", "{lab: 10.99.0.1/24}\n    adresses: {}"))
    _, output = run(repository.root, "check", "lab-1")
    line = text[: text.index("addresses: {lab")].count("\n") + 1
    assert f"sites/lab-1.yaml:{line}:22: network-not-canonical" in output
    assert f"sites/lab-1.yaml:{line + 1}:5: unknown-field" in output and "write addresses" in output
    assert ": own-component " not in output


@pytest.mark.parametrize(
    ("value", "column", "said"),
    [
        ("odd", 13, "odd does not fit here: that is odd"),
        ("raise", 5, "a map does not fit here: KeyError: 'raise'"),
        ("many", 13, "many does not fit here: Value is too many"),
    ],
)
def test_whatever_a_validator_of_its_own_says_is_a_problem(
    repository: Repository, value: str, column: int, said: str
) -> None:
    file = repository.root / "sites" / "lab-1.yaml"
    text = file.read_text()
    file.write_text(f"{text}    parity: {value}\n")
    status, output = run(repository.root, "check", "lab-1", "--format", "json")
    (problem,) = json.JSONDecoder().raw_decode(output)[0]["problems"]  # stderr is behind it
    lines = {5: text[: text.index("  acme-pools:")].count("\n") + 2, 13: text.count("\n") + 1}
    assert (status, problem["column"]) == (1, column) and said in problem["message"], problem
    assert problem["line"] == lines[column]


def test_a_preview_says_what_its_own_table_says(repository: Repository) -> None:
    root = repository.root
    repository.commit("component")
    file = root / "sites" / "lab-1.yaml"
    file.write_text(file.read_text().replace("10.99.0.0/24", "10.98.0.0/24"))
    _, output = run(root, "preview", "--base", "HEAD")
    assert "net-team says (not Foresite, until 2028-06-30)" in output, output
    file.write_text(file.read_text() + "    fault: made[0]['spec']['site'] = 'other'\n")
    _, output = run(root, "preview", "--base", "HEAD")
    assert "no rule covers what it does to machines" in output, output


def test_the_editor_completes_its_settings(tmp_path: Path) -> None:
    env = {**os.environ, "PYTHONPATH": f"{KIT}{os.pathsep}{ROOT}"}
    command = [sys.executable, "-m", "foresite.own", str(tmp_path / "schemas")]
    subprocess.run(command, env=env, check=True)
    *others, site = sorted((tmp_path / "schemas").iterdir())
    assert [each.name for each in others] == [
        f"{name}.schema.json" for name in ("fleet", "management", "region")
    ]
    schema = json.loads(site.read_text("utf-8"))
    section = schema["properties"]["components"]["properties"]["acme-pools"]
    assert section["description"].startswith("Address pools for Services.")
    assert {"addresses", "owner", "why", "allow"} <= section["properties"].keys()
    assert "Networks of addresses" in section["properties"]["addresses"]["description"]


def test_its_dangers_are_those_of_a_third_party() -> None:
    section: dict[str, object] = {"acme-pools": {"allow": []}, "not-named": None}
    assert parties({"components": section})["extra-acme-pools"].place == (
        "components",
        "acme-pools",
    )


class Fitting(Settings):
    """Settings of components that cannot be used for another reason."""

    whole: dict[str, list[Annotated[int, Field(gt=1)] | Literal["all"] | None] | JsonValue]


class Dated(Settings):
    """Settings that YAML cannot say."""

    days: dict[str, list[datetime.date | None]]


class Renamed(Settings):
    """Settings of which a field has two names."""

    day: Annotated[str, Field(alias="date")]


class Tree(Model):
    """A map within itself."""

    trees: "list[Tree] | None" = None


class Endless(Settings):
    """Settings without a last level."""

    tree: Tree


def nothing(site: SiteView, settings: Fitting) -> list[dict[str, object]]:
    return []


def component(**fields: object) -> object:
    usual = {"contract": CONTRACT, "name": "acme", "what": "A test.", "settings": Fitting}
    return Component(**{**usual, "objects": nothing, **fields})  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("name", "found", "said"),
    [
        ("acme", component(), ""),
        ("acme", component(contract=CONTRACT - 1), "install a newer package"),
        ("acme", component(contract=CONTRACT + 1), "install a newer Foresite"),
        ("acme", component(name="other"), "it calls itself other"),
        ("acme", component(settings=dict), "no foresite.own.Settings"),
        ("acme", component(settings=Dated), "a date (days)"),
        ("acme", component(settings=Renamed), "day under another name"),
        ("acme", component(settings=Endless), "Tree within itself"),
        ("acme", component(objects=7), "of another type"),
        ("acme", component(cluster="both"), "of another type"),
        ("acme", component(effects=(7,)), "not all OwnersRule"),
        ("acme", 7, "it is int, no Component"),
        ("machines", component(name="machines"), "Foresite's own component has its name"),
        ("copy", component(name="copy"), "cannot be a field"),
        ("A_b", component(name="A_b"), "cannot be a field"),
        ("acme", ImportError("no module acme"), "loading it fails: ImportError: no module acme"),
        ("acme", SystemExit(3), "loading it fails: SystemExit: 3"),
    ],
)
def test_one_that_does_not_fit_says_why(
    monkeypatch: pytest.MonkeyPatch, name: str, found: object, said: str
) -> None:
    def load() -> object:
        if isinstance(found, BaseException):
            raise found
        return found

    point = SimpleNamespace(name=name, value="acme:COMPONENT", load=load, dist=None)
    monkeypatch.setattr("schemas.model.own_components.entry_points", lambda group: [point])  # noqa: ARG005
    made = find_installed()[name]
    assert said in f"{made.fault}; {made.fix}" and bool(made.fault) == bool(said)


def test_two_packages_with_one_name_are_both_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    points = [
        SimpleNamespace(
            name="acme",
            value="acme:COMPONENT",
            load=component,
            dist=SimpleNamespace(name=each, version="1", read_text=lambda _: None),
        )
        for each in ("one", "two")
    ]
    for each in points:
        each.load = component
    monkeypatch.setattr("schemas.model.own_components.entry_points", lambda group: points)  # noqa: ARG005
    found = find_installed()["acme"]
    assert found.component is None and found.package == "one 1 and two 1"


@pytest.mark.parametrize("editable", [True, False])
def test_a_copy_of_a_folder_is_not_used_once_the_folder_differs(
    tmp_path: Path, editable: bool
) -> None:
    shutil.copytree(KIT, tmp_path / "installed")
    shutil.copytree(KIT / "acme_pools", tmp_path / "acme" / "src" / "acme_pools")
    info = tmp_path / "installed" / "acme_pools-1.2.0.dist-info"
    said = {"url": (tmp_path / "acme").as_uri(), "dir_info": {"editable": editable}}
    (info / "direct_url.json").write_text(json.dumps(said))
    (info / "RECORD").write_text("acme_pools/__init__.py,,\nacme_pools/crds.yaml,,\n")
    env = {**os.environ, "PYTHONPATH": f"{tmp_path / 'installed'}{os.pathsep}{ROOT}"}
    command = [sys.executable, "-P", "-m", "foresite", "--version"]
    for text, fits in (("", True), ("# another\n", editable)):
        with (tmp_path / "acme" / "src" / "acme_pools" / "crds.yaml").open("a") as file:
            file.write(text)
        done = subprocess.run(command, env=env, capture_output=True, text=True, check=True)
        assert ("has another acme_pools/crds.yaml" in done.stdout) is not fits, done.stdout


@pytest.mark.parametrize("text", ["class B(BaseException): pass\nraise B('no')", "C = 1", ""])
def test_a_package_that_cannot_be_loaded_fails_no_other_command(tmp_path: Path, text: str) -> None:
    package = tmp_path / "broken-1.dist-info"
    package.mkdir()
    data = b"Name: \xff\n" if text == "C = 1" else b"Metadata-Version: 2.1\nName: b\nVersion: 1\n"
    (package / "METADATA").write_bytes(data)
    line = "broken = broken_pools:C" if text else "no entry point"
    (package / "entry_points.txt").write_text(f"[foresite.components]\n{line}\n")
    (tmp_path / "broken_pools.py").write_text(text)
    env = {**os.environ, "PYTHONPATH": f"{tmp_path}{os.pathsep}{ROOT}"}
    command = [sys.executable, "-P", "-m", "foresite", "--version"]
    done = subprocess.run(command, env=env, capture_output=True, text=True, check=False)
    assert done.returncode == 0 and "cannot be used" in done.stdout, done.stderr
