"""The workflows that GitHub runs: judged by zizmor and actionlint, and alike with the Makefile."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.repository import ROOT

WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))
ACTIONLINT = ROOT / "tools" / "actionlint"


def read(path: Path) -> dict[Any, Any]:
    content = yaml.safe_load(path.read_text("utf-8"))
    assert isinstance(content, dict)
    return content


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.name)
def test_a_workflow_may_read_and_ends(path: Path) -> None:
    workflow = read(path)
    # YAML 1.1 reads the key `on` as true.
    assert "pull_request_target" not in workflow[True]
    assert workflow["permissions"] == {}
    assert workflow["concurrency"]
    for name, job in workflow["jobs"].items():
        assert set(job["permissions"].values()) <= {"read"}, name
        assert job["timeout-minutes"] <= 90, name


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.name)
def test_an_action_is_pinned_by_commit_and_says_its_version(path: Path) -> None:
    text = path.read_text("utf-8")
    uses = re.findall(r"uses: (.*)", text)
    assert uses
    for each in uses:
        assert re.fullmatch(r"[\w./-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+", each)
    pins = {each.partition("@")[::2] for each in uses}
    assert len(pins) == len(dict(pins)), "one action in two versions"
    assert text.count("persist-credentials: false") == text.count("uses: actions/checkout@")


def test_the_versions_are_those_of_a_developer() -> None:
    text = (ROOT / ".github" / "workflows" / "checks.yml").read_text("utf-8")
    makefile = (ROOT / "Makefile").read_text("utf-8")
    wanted = re.search(r"UV_VERSION := (\S+)", makefile)
    assert wanted is not None
    assert set(re.findall(r' version: "(.*)"', text)) == {wanted[1]}
    module = (ACTIONLINT / "go.mod").read_text("utf-8")
    go = re.search(r"^go (\S+)$", module, re.MULTILINE)
    assert go is not None
    assert re.findall(r'go-version: "(.*)"', text) == [go[1]]


def test_zizmor_finds_nothing() -> None:
    zizmor = Path(sys.executable).with_name("zizmor")
    command = [
        str(zizmor),
        "--offline",
        "--no-progress",
        "--persona=auditor",
        "--strict-collection",
    ]
    done = subprocess.run([*command, str(ROOT)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.go
def test_actionlint_finds_nothing() -> None:
    if shutil.which("go") is None:
        pytest.skip("Go is not on PATH, so actionlint cannot be run")
    command = ["go", "tool", "actionlint", *map(str, WORKFLOWS)]
    env = os.environ | {"GOFLAGS": "-mod=readonly", "GOWORK": "off"}
    done = subprocess.run(
        command, cwd=ACTIONLINT, env=env, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
