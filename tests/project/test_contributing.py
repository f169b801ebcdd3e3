"""CONTRIBUTING.md: whoever follows its walk has a component, in at most 14 files."""

import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

from tests.kit.repository import FLEET, ROOT

MOST_FILES = 14
"""Hand-written files of a component, tests and docs included, and one for what is generated."""
GENERATORS = ("schemas.editor", "schemas.reference", "policies.reference")
"""Those of ``make generate`` that write what follows from a site file and from exceptions."""
SCREENS = "docs/preview-screens.md"
"""Made by tools.screens, which takes long; it names the commit of the example sites."""
COPIED = ("schemas", "components", "policies", "preview", "foresite", "controlplane", "tools")
BESIDE = ("docs", "tests")


class Step(NamedTuple):
    """One block of code of the walk: the file that it is for, and whether it is an edit."""

    path: str
    edit: bool
    text: str


def sections() -> list[str]:
    page = (ROOT / "CONTRIBUTING.md").read_text("utf-8")
    return re.split(r"^### [0-9]+\. ", page, flags=re.MULTILINE)[1:]


def steps() -> Iterator[Step]:
    for section in sections():
        heading, _, body = section.partition("\n")
        files = re.findall(r"`([^`]+)` \((new|edit)\)", heading)
        new = iter([path for path, how in files if how == "new"])
        edited = [path for path, how in files if how == "edit"]
        for language, text in re.findall(r"^```(\w+)\n(.*?)^```$", body, re.DOTALL | re.MULTILINE):
            diff = language == "diff"
            yield Step(edited[0] if diff else next(new), diff, text)


def generated() -> set[str]:
    return set(re.findall(r"`([\w./-]+/[\w.-]+\.(?:json|md))`", sections()[-1]))


def follow(step: Step, folder: Path) -> None:
    path = folder / step.path
    if not step.edit:
        assert not path.exists(), f"{step.path} is there already"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(step.text, "utf-8")
        return
    lines = step.text.splitlines(keepends=True)
    assert {line[0] for line in lines} <= {" ", "+", "-"}, step.path
    before = "".join(line[1:] for line in lines if line[0] != "+")
    after = "".join(line[1:] for line in lines if line[0] != "-")
    text = path.read_text("utf-8")
    assert text.count(before) == 1, f"the page edits what is not in {step.path}: {before}"
    path.write_text(text.replace(before, after), "utf-8")


def contents(folder: Path) -> dict[str, bytes]:
    every = (path for path in folder.rglob("*") if path.is_file() and path.suffix != ".pyc")
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in every}


def run(folder: Path, *command: str) -> None:
    done = subprocess.run(
        [sys.executable, "-m", *command], cwd=folder, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, f"{' '.join(command)}\n{done.stdout}{done.stderr}"


@pytest.fixture(scope="module")
def walked(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The repository after the walk; the files that it changed are those that it names."""
    folder = tmp_path_factory.mktemp("walk")
    for name in (*COPIED, *BESIDE):
        shutil.copytree(ROOT / name, folder / name, ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copytree(FLEET, folder, dirs_exist_ok=True)
    for name in ("pyproject.toml", "CHANGELOG.md", "README.md"):
        shutil.copy(ROOT / name, folder)
    before = contents(folder)
    for step in steps():
        follow(step, folder)
    for generator in GENERATORS:
        run(folder, generator)
    after = contents(folder)
    changed = {path for path in after if after[path] != before.get(path)}
    assert changed == {step.path for step in steps()} | generated() - {SCREENS}
    return folder


def test_a_component_costs_few_files() -> None:
    by_hand = {step.path for step in steps()}
    assert SCREENS in generated()
    assert len(by_hand) + 1 <= MOST_FILES


def test_the_sites_are_sound_and_render(walked: Path) -> None:
    run(walked, "foresite", "check")
    run(walked, "foresite", "render", "tsukuba-1", "--out", "rendered")
    assert (walked / "rendered/tsukuba-1/site/node-dns/daemonset.yaml").exists()
    scraped = (walked / "rendered/tsukuba-1/site/monitoring/podmonitor.yaml").read_text("utf-8")
    assert "name: foresite-node-dns\n" in scraped


def test_its_own_test_passes_and_its_style_is_ours(walked: Path) -> None:
    own = "tests/components/node_dns/test_node_dns.py"
    run(walked, "pytest", "-q", "-p", "no:cacheprovider", own)
    written = [step.path for step in steps() if step.path.endswith(".py")]
    run(walked, "ruff", "check", "--no-cache", *written)
    run(walked, "ruff", "format", "--check", "--no-cache", *written)
