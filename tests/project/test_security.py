"""The promises of SECURITY.md: each attack in it has a test, and the sources of Foresite are
pinned, attested and looked through."""

import ast
import re
import subprocess
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from schemas.reading.catalogue import load_release, release_names
from tests.kit.go_programs import program
from tests.kit.repository import ROOT

PAGE = (ROOT / "SECURITY.md").read_text("utf-8")
GITLEAKS = ROOT / "tools" / "gitleaks"
CITED = re.compile(r"`((?:cache-server/)?tests/[\w/]+\.py)::(\w+)`")


def rows() -> Iterator[list[str]]:
    """The rows of the tables of attacks, by cell."""
    attacks = PAGE.partition("## What an attacker could try")[2].partition("## What is not")[0]
    for line in attacks.splitlines():
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        if len(cells) == 3 and cells[2] not in ("tests", "---"):
            yield cells


def names_in(path: Path) -> set[str]:
    """The names of the tests in a file."""
    tree = ast.parse(path.read_text("utf-8"))
    return {node.name for node in tree.body if isinstance(node, ast.FunctionDef)}


def test_every_attack_has_a_test_that_is_there() -> None:
    found = list(rows())
    assert len(found) > 20
    for attack, _, cited in found:
        named = CITED.findall(cited)
        assert named, attack
        for file, name in named:
            assert name in names_in(ROOT / file), f"{attack}: {file}::{name}"


# --- what Foresite is built from ------------------------------------------------------------------


def locked() -> list[dict[str, Any]]:
    content = tomllib.loads((ROOT / "uv.lock").read_text("utf-8"))
    return [each for each in content["package"] if "registry" in each["source"]]


def test_every_package_of_the_lock_has_its_hashes() -> None:
    packages = locked()
    assert len(packages) > 50
    for package in packages:
        files = [*package.get("wheels", []), *filter(None, [package.get("sdist")])]
        assert files, package["name"]
        assert all(each["hash"].startswith("sha256:") for each in files), package["name"]


@pytest.mark.parametrize(
    "folder",
    sorted(path.parent for path in (ROOT / "tools").glob("*/go.mod")),
    ids=lambda p: p.name,
)
def test_every_go_module_is_pinned_by_its_sums(folder: Path) -> None:
    module = (folder / "go.mod").read_text("utf-8")
    sums = (folder / "go.sum").read_text("utf-8")
    required = re.findall(r"^(?:require )?\t?([\w./~-]+\.[\w./~-]+) (v\S+)", module, re.MULTILINE)
    replaced = set(re.findall(r"^(?:replace )?\t?(\S+) (?:v\S+ )?=> ", module, re.MULTILINE))
    assert required
    for name, version in required:
        if name not in replaced:
            assert f"{name} {version}" in sums, name
    assert all(line.split()[2].startswith("h1:") for line in sums.splitlines())


@pytest.mark.parametrize("name", release_names())
def test_every_image_of_a_release_is_named_by_digest(name: str) -> None:
    release, _ = load_release(name)
    assert release is not None and release.images
    for image in release.images.values():
        assert re.search(r"@sha256:[0-9a-f]{64}$", image), image


def workflow(name: str) -> str:
    return (ROOT / ".github" / "workflows" / name).read_text("utf-8")


def steps(name: str, job: str) -> list[dict[str, Any]]:
    found = yaml.safe_load(workflow(name))["jobs"][job]["steps"]
    assert isinstance(found, list)
    return found


@pytest.mark.parametrize("name", ["release.yml", "cache-server.yml"])
def test_a_release_is_built_without_a_cache(name: str) -> None:
    """A cache may have been filled by a run that was not of this tag."""
    text = workflow(name)
    assert "actions/cache" not in text
    assert text.count("enable-cache: false") == text.count("astral-sh/setup-uv")


def test_a_release_is_of_what_was_merged() -> None:
    commands = [each.get("run", "") for each in steps("release.yml", "release-test")]
    assert 'git merge-base --is-ancestor "$GITHUB_SHA" origin/main' in commands
    content = yaml.safe_load(workflow("release.yml"))
    assert content["jobs"]["release"]["needs"] == "release-test"
    assert content["jobs"]["release"]["environment"] == "release"


def test_a_release_is_built_with_what_the_lock_names() -> None:
    """``uv build`` would fetch a build backend that no lock names."""
    commands = " ".join(each.get("run", "") for each in steps("release.yml", "release"))
    assert "uv run --only-group release hatchling build" in commands
    assert "uv build" not in commands
    content = yaml.safe_load(workflow("release.yml"))
    assert content["jobs"]["release"]["env"]["UV_LOCKED"] == "1"
    assert "hatchling" in {each["name"] for each in locked()}


@pytest.mark.parametrize(
    ("name", "job"), [("release.yml", "release"), ("cache-server.yml", "cache-server-image")]
)
def test_a_release_is_attested(name: str, job: str) -> None:
    attested = [each["with"] for each in steps(name, job) if "attest@" in each.get("uses", "")]
    assert any("sbom-path" in each for each in attested)
    assert any("sbom-path" not in each for each in attested), "how it was built"


def test_every_package_is_asked_about_daily() -> None:
    content = yaml.safe_load(workflow("supply-chain.yml"))
    minute, hour, *days = content[True]["schedule"][0]["cron"].split()  # YAML 1.1: on is true
    assert days == ["*"] * 3 and minute.isdigit() and hour.isdigit()
    (audit,) = (
        each["run"] for each in steps("supply-chain.yml", "vulnerabilities")
        if "pip-audit" in each.get("run", "")
    )  # fmt: skip
    assert "--require-hashes" in audit and "--strict" in audit


# --- secrets in Git -------------------------------------------------------------------------------


def gitleaks(*arguments: str) -> subprocess.CompletedProcess[str]:
    command = [
        str(program(GITLEAKS)),
        *arguments,
        "--config",
        "config.toml",
        "--no-banner",
        "--redact",
    ]
    return subprocess.run(command, cwd=GITLEAKS, capture_output=True, text=True, check=False)


@pytest.mark.go
def test_gitleaks_finds_nothing_in_git() -> None:
    done = gitleaks("git", str(ROOT), "--verbose")
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.go
def test_gitleaks_would_find_a_key(tmp_path: Path) -> None:
    # Put together here, so that no file holds it.
    key = "AKIA" + "QYLPMN5HHHTQ2JKW"
    (tmp_path / "site.yaml").write_text(f"aws_access_key_id: {key}\n")
    done = gitleaks("dir", str(tmp_path))
    assert done.returncode == 1, done.stdout + done.stderr
    assert "leaks found: 1" in done.stderr
    assert key not in done.stdout + done.stderr
