"""The image of the cache server, as far as a file can tell: what goes in is pinned."""

import re
import tomllib
from pathlib import Path

FOLDER = Path(__file__).resolve().parent.parent
ROOT = FOLDER.parent
DOCKERFILE = (FOLDER / "Dockerfile").read_text("utf-8")


def test_both_stages_are_one_image_by_digest() -> None:
    images = re.findall(r"^FROM (\S+)", DOCKERFILE, re.MULTILINE)
    assert len(images) == 2
    (image,) = set(images)
    assert re.fullmatch(r"docker\.io/library/python:\d\.\d+-slim@sha256:[0-9a-f]{64}", image)


def test_it_runs_as_who_owns_the_data_path() -> None:
    # schemas/model/object_cache.py, CacheServer.user.
    assert re.findall(r"^USER (.*)$", DOCKERFILE, re.MULTILINE) == ["65532:65532"]


def test_uv_is_the_one_of_a_developer() -> None:
    makefile = (ROOT / "Makefile").read_text("utf-8")
    version = re.search(r"^UV_VERSION := (\S+)$", makefile, re.MULTILINE)
    assert version is not None
    assert re.findall(r"uv==([\d.]+) --hash=sha256:[0-9a-f]{64}", DOCKERFILE) == [version[1]]


def test_what_is_copied_is_sent_to_the_builder() -> None:
    lines = (FOLDER / "Dockerfile.dockerignore").read_text("utf-8").splitlines()
    sent = {line[1:] for line in lines if line.startswith("!")}
    copied: set[str] = set()
    for sources in re.findall(r"^COPY (?!--from)(.*) \S+$", DOCKERFILE, re.MULTILINE):
        copied |= set(sources.split())
    assert copied == sent
    assert lines[1] == "*", "all else stays here"


def test_what_is_locked_is_what_the_package_needs() -> None:
    project = tomllib.loads((FOLDER / "pyproject.toml").read_text("utf-8"))["project"]
    lock = tomllib.loads((ROOT / "uv.lock").read_text("utf-8"))
    (locked,) = (each for each in lock["package"] if each["name"] == project["name"])
    needed = {re.split(r"[<>=]", each)[0] for each in project["dependencies"]}
    assert {each["name"] for each in locked["dependencies"]} == needed
