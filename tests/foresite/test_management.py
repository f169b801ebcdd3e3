"""Management clusters at the command line: checked, rendered, and applied by the same engine."""

import json
from pathlib import Path

import pytest
import yaml

from components.site import site_objects
from controlplane import ControlPlane
from foresite.cli import main
from schemas.site_parts import load_management
from tests.foresite.test_pulumi import Trial, differences, make_trial
from tests.invalid.faults import build
from tests.kit.management import FILE, OPERATOR, put, vendor

NAME = "mgmt-jp-east"


def run(root: Path, *arguments: str) -> int:
    return main(["--root", str(root), *arguments])


def test_a_check_without_names_judges_every_file(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    build({"edit": []}, tmp_path)
    put(tmp_path)
    put(tmp_path, "mgmt-of-nobody", kubernetes="v1.29.1")
    said = "management/mgmt-of-nobody.yaml:3:13: version-unsupported"
    run(tmp_path, "check", "kyoto-1")
    assert said not in capsys.readouterr().out
    assert run(tmp_path, "check") == 1
    assert said in capsys.readouterr().out


def test_objects_that_the_schemas_refuse_are_told_at_the_file(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "sites").mkdir()
    put(tmp_path, manifests=vendor(tmp_path, OPERATOR.replace("args: [--x]", "args: [1]")))
    assert run(tmp_path, "render", "--management", NAME, "--out", str(tmp_path / "out")) == 1
    said = capsys.readouterr().out
    assert f"management/{NAME}.yaml: object-invalid" in said
    assert not (tmp_path / "out").exists()


def test_it_is_rendered_by_itself(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "sites").mkdir()
    put(tmp_path, manifests=vendor(tmp_path))
    out = tmp_path / "out"
    for _ in range(2):
        assert run(tmp_path, "render", "--management", NAME, "--out", str(out)) == 0
    (folder,) = out.iterdir()
    assert folder.name == f"management.{NAME}"
    index = json.loads((folder / "index.json").read_text())["files"]
    assert sum(each["objects"] for each in index.values()) == 13
    core = yaml.safe_load((folder / "management/management/coreprovider.yaml").read_text())
    assert core["metadata"]["name"] == "cluster-api"
    capsys.readouterr()
    assert run(tmp_path, "render", "--management", "mgmt-jp-est") == 1
    assert f"write {NAME}" in capsys.readouterr().out
    assert run(tmp_path, "render", "kyoto-1", "--management", NAME) == 2


@pytest.fixture(scope="module")
def trial(api: ControlPlane, tmp_path_factory: pytest.TempPathFactory) -> Trial:
    return make_trial(api, tmp_path_factory.mktemp("management"))


@pytest.mark.pulumi
@pytest.mark.proof
def test_up_applies_it_and_keeps_what_sites_need(trial: Trial) -> None:
    stack = f"management.{NAME}"
    put(trial.root, manifests=vendor(trial.root))
    command = ("up", "--trial", "--management", NAME)
    first = trial.foresite(*command)
    assert first.returncode == 0, first.stdout + first.stderr
    loaded = load_management(trial.root, NAME)
    assert loaded.site is not None
    manifests = [each for made in site_objects(loaded.site).values() for each in made]
    assert f"{len(manifests)} objects on {NAME}" in first.stdout
    with trial.client() as client:
        assert differences(client, manifests) == []
    assert trial.foresite("drift", "--trial", stack).returncode == 0
    assert trial.foresite("recover", "--trial", "--plan", stack).returncode == 0
    put(trial.root, manifests=vendor(trial.root), provisioning_limit=7)
    assert trial.foresite(*command).returncode == 0
    with trial.client() as client:
        found = client.get("v1", "ConfigMap", "ironic", "baremetal-operator-system")
    assert found is not None
    assert found["data"]["PROVISIONING_LIMIT"] == "7"
    # Providers that go would take the controllers of every site along.
    text = OPERATOR.replace("--x", "--enable-bmh-name-based-preallocation=true")
    put(trial.root, providers=None, manifests=vendor(trial.root, text))
    refused = trial.foresite(*command)
    assert refused.returncode == 2
    assert "protected, so Pulumi does not delete it" in refused.stderr
    assert f"pulumi state unprotect -s {stack}" in refused.stderr
    plan = trial.foresite("apply", "--trial", "--plan")
    assert stack not in plan.stdout, plan.stdout
    assert FILE.exists()
