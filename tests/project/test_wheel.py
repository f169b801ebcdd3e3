"""The wheel as users install it: one package beside others, and every command works without a
checkout."""

import os
import subprocess
import sys
import sysconfig
import venv
import zipfile
from pathlib import Path

import pytest

from foresite import othercode
from tests.kit.preview_repository import Folder
from tests.kit.repository import ROOT, with_examples

BESIDE = "schemas", "tools", "policies"
"""Packages of another project that are called as parts of Foresite."""


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel, built as a release is."""
    folder = tmp_path_factory.mktemp("dist")
    command = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(folder)]
    subprocess.run(command, cwd=ROOT, check=True, capture_output=True)
    (made,) = folder.glob("*.whl")
    return made


@pytest.fixture(scope="module")
def python(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A Python with the wheel and the libraries, which knows no checkout: a line of a .pth file
    adds a folder without reading the .pth files there."""
    folder = tmp_path_factory.mktemp("installed")
    venv.create(folder, symlinks=True)
    python = folder / "bin" / "python"
    asked = [str(python), "-c", "import sysconfig; print(sysconfig.get_path('purelib'))"]
    found = subprocess.run(asked, check=True, capture_output=True, text=True).stdout
    packages = Path(found.strip())
    zipfile.ZipFile(wheel).extractall(packages)
    (packages / "libraries.pth").write_text(sysconfig.get_path("purelib"))
    for name in BESIDE:
        (packages / name).mkdir()
        (packages / name / "__init__.py").write_text("raise ImportError('of another project')\n")
    return python


def run(python: Path, folder: Path, *words: str, code: int = 0) -> str:
    command = [str(python), "-P", "-m", "foresite", *words]
    env = {k: v for k, v in os.environ.items() if k not in ("PYTHONPATH", "VIRTUAL_ENV")}
    done = subprocess.run(command, cwd=folder, env=env, check=False, capture_output=True, text=True)
    assert done.returncode == code, (words, done.stdout, done.stderr)
    return done.stdout + done.stderr


def test_it_has_one_package_and_all_that_git_has(wheel: Path) -> None:
    names = zipfile.ZipFile(wheel).namelist()
    assert {name.split("/")[0] for name in names if ".dist-info" not in name} == {"foresite"}
    listed = ["git", "ls-files", "foresite", ".github/workflows", "management", "regions", "sites"]
    parts = "components", "controlplane", "policies", "preview", "schemas", "tools"
    found = subprocess.run([*listed, *parts], cwd=ROOT, check=True, capture_output=True, text=True)
    wanted = {
        path if path.startswith("foresite/") else f"foresite/_parts/{path}"
        for path in found.stdout.splitlines()
        if (ROOT / path).exists()
    }
    assert wanted - set(names) == set()


@pytest.mark.proof
@with_examples
def test_every_command_works_in_a_repository_of_ones_own(python: Path, tmp_path: Path) -> None:
    site = "lab-1"
    run(python, tmp_path, "init", "ours", "--example")
    ours = tmp_path / "ours"
    Folder(ours).commit()
    assert " sites checked: no problem" in run(python, ours, "check")
    # Beside the repository: a file in it that is no data may be a part of what Pulumi runs.
    run(python, ours, "render", site, "--out", "../installed")
    subprocess.run(
        [sys.executable, "-m", "foresite", "render", site, "--out", str(tmp_path / "checkout")],
        cwd=ROOT, check=True, capture_output=True,
    )  # fmt: skip
    subprocess.run(["diff", "-r", "installed", "checkout"], cwd=tmp_path, check=True)
    assert "TODO" not in run(python, ours, "new", "osaka-1", "--like", "tsukuba-1")
    assert "osaka-1" in run(python, ours, "check", "osaka-1", code=1)
    (ours / "sites" / "osaka-1.yaml").unlink()
    (ours / "sites" / "osaka-1.hosts.csv").unlink()
    file = ours / "sites" / f"{site}.yaml"
    text = file.read_text("utf-8")
    rule = (ROOT / "docs" / "policies.md").read_text("utf-8").split("```python\n")[1]
    (ours / "sites" / "policies").mkdir()
    (ours / "sites" / "policies" / "ours.py").write_text(rule.split("```")[0])
    assert "\npolicies:" not in text
    file.write_text(f"{text}\npolicies:\n  python: [policies/ours.py]\n", "utf-8")
    assert "85 policies" in run(python, ours, "check", site)
    assert "Nothing happens" in run(python, ours, "preview", site)
    assert "Version" in run(python, ours, "explain", site, "cluster.kubernetes")
    assert "Operators" in run(python, ours, "prerequisites", site)
    assert "Templates" in run(python, ours, "job", "tokyo-1")
    assert "complete" in run(python, ours, "completion", "bash")
    assert "trial API server" in run(python, ours, "up", site, "--trial", code=2)
    done = subprocess.run(
        [python, "-P", "-c", othercode._HAND_OVER, ours, site], check=True, capture_output=True
    )
    assert done.stdout.startswith(b'{"site": "lab-1", "objects": [')


@with_examples
def test_its_program_and_its_policies_start(python: Path, tmp_path: Path) -> None:
    run(python, tmp_path, "init", "ours", "--example")
    ours = tmp_path / "ours"
    program = subprocess.run(
        [python, "__main__.py"], cwd=ours, check=False, capture_output=True, text=True,
    )  # fmt: skip
    # Without an engine the stack is called "stack".
    assert "fix: known sites: lab-1, sapporo-1, tokyo-1, tsukuba-1" in program.stderr, (
        program.stderr
    )
    pack = subprocess.Popen(
        [python, "policies/pack/__main__.py"], cwd=ours, stdout=subprocess.PIPE,
        env={**os.environ, "PULUMI_STACK": "lab-1"},
    )  # fmt: skip
    try:
        assert pack.stdout is not None and int(pack.stdout.readline()) > 0
    finally:
        pack.kill()
        pack.wait()
