"""The images of the packages of their own, as far as a file can tell: what goes in is pinned."""

import re
import tomllib
from pathlib import Path

import pytest

from tests.kit.repository import ROOT

PACKAGES = ("cache-server", "node-repair")


@pytest.fixture(params=PACKAGES)
def folder(request: pytest.FixtureRequest) -> Path:
    return ROOT / str(request.param)


@pytest.fixture
def dockerfile(folder: Path) -> str:
    return (folder / "Dockerfile").read_text("utf-8")


def test_every_package_of_the_workspace_has_an_image() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
    assert tuple(project["tool"]["uv"]["workspace"]["members"]) == PACKAGES


def test_both_stages_are_one_image_by_digest(dockerfile: str) -> None:
    images = re.findall(r"^FROM (\S+)", dockerfile, re.MULTILINE)
    assert len(images) == 2
    (image,) = set(images)
    assert re.fullmatch(r"docker\.io/library/python:\d\.\d+-slim@sha256:[0-9a-f]{64}", image)


def test_it_runs_as_who_owns_the_data_path(dockerfile: str) -> None:
    # schemas/model/object_cache.py, CacheServer.user; components/making/pod_security.py.
    assert re.findall(r"^USER (.*)$", dockerfile, re.MULTILINE) == ["65532:65532"]


def test_uv_is_the_one_of_a_developer(dockerfile: str) -> None:
    makefile = (ROOT / "Makefile").read_text("utf-8")
    version = re.search(r"^UV_VERSION := (\S+)$", makefile, re.MULTILINE)
    assert version is not None
    assert re.findall(r"uv==([\d.]+) --hash=sha256:[0-9a-f]{64}", dockerfile) == [version[1]]


def test_what_is_copied_is_sent_to_the_builder(folder: Path, dockerfile: str) -> None:
    """With the other packages' pyproject.toml: uv reads those of all members of the workspace."""
    lines = (folder / "Dockerfile.dockerignore").read_text("utf-8").splitlines()
    sent = {line[1:] for line in lines if line.startswith("!")}
    copied: set[str] = set()
    for sources in re.findall(r"^COPY (?!--from)(.*) \S+$", dockerfile, re.MULTILINE):
        copied |= set(sources.split())
    assert copied == sent
    assert lines[1] == "*", "all else stays here"
    others = {f"{each}/pyproject.toml" for each in PACKAGES if each != folder.name}
    assert copied == {"pyproject.toml", "uv.lock", folder.name, *others}


def test_what_is_locked_is_what_the_package_needs(folder: Path) -> None:
    project = tomllib.loads((folder / "pyproject.toml").read_text("utf-8"))["project"]
    lock = tomllib.loads((ROOT / "uv.lock").read_text("utf-8"))
    (locked,) = (each for each in lock["package"] if each["name"] == project["name"])
    needed = {re.split(r"[<>=]", each)[0] for each in project["dependencies"]}
    assert {each["name"] for each in locked["dependencies"]} == needed
