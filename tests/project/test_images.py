"""The images that sites need: each has a recipe whose parts are pinned, for both architectures."""

import json
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from tests.kit.repository import ROOT

BAKE = json.loads((ROOT / "images" / "docker-bake.json").read_text("utf-8"))
RECIPES = sorted(
    path for path in ROOT.glob("*/**/Dockerfile") if ".venv" not in path.relative_to(ROOT).parts
)


def targets() -> dict[str, Path]:
    """Each image that ``make images`` builds, and its recipe."""
    found = {}
    for name in BAKE["group"]["default"]["targets"]:
        target = BAKE["target"][name]
        below = "" if target["context"] == "." else target["context"]
        found[name] = ROOT / below / target["dockerfile"]
    return found


def test_every_recipe_is_built_for_both_architectures_and_says_what_is_in_it() -> None:
    assert sorted(targets().values()) == RECIPES
    common = BAKE["target"]["common"]
    assert common["platforms"] == ["linux/amd64", "linux/arm64"]
    assert "type=sbom" in common["attest"]
    for name in targets():
        assert BAKE["target"][name]["inherits"] == ["common"], name


@pytest.mark.parametrize("recipe", RECIPES, ids=lambda path: path.parent.name)
def test_a_recipe_is_pinned_and_runs_as_nobody(recipe: Path) -> None:
    text = recipe.read_text("utf-8")
    bases = re.findall(r"^FROM (?:--platform=\S+ )?(\S+)", text, re.MULTILINE)
    assert bases and all(re.search(r"@sha256:[0-9a-f]{64}$", base) for base in bases)
    assert re.findall(r"^USER (.*)$", text, re.MULTILINE)[-1] == "65532:65532"


def test_the_command_lines_image_has_all_that_the_wheel_has() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
    wheel = project["tool"]["hatch"]["build"]["targets"]["wheel"]
    text = (ROOT / "images" / "foresite" / "Dockerfile").read_text("utf-8")
    copied = re.findall(r"^COPY (?!--from)(\S+) \1$", text, re.MULTILINE)
    assert set(wheel["only-include"]) == set(copied)


@pytest.mark.parametrize("recipe", RECIPES, ids=lambda path: path.parent.name)
def test_hadolint_finds_nothing(recipe: Path) -> None:
    command = [Path(sys.executable).parent / "hadolint", recipe]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (0, "")


MAKERS = {"mncore/device-plugin", "etcd/etcd", "etcd/rclone"}
"""Images that an in-house maker builds, or that a site copies from their projects."""


def test_example_sites_name_images_that_there_are_recipes_for() -> None:
    """What stands for a site's own build in an example is one that can be built here."""
    tags = [tag for name in targets() for tag in BAKE["target"][name]["tags"]]
    built = {tag.rpartition(":")[0].partition("/")[2] for tag in tags}
    files = [*(ROOT / "sites").glob("*.yaml"), *(ROOT / "regions").glob("*.yaml")]
    texts = [path.read_text("utf-8") for path in files]
    named = {
        name for text in texts for name in re.findall(r"registry\.example/([^:@\s]+)[:@]", text)
    }
    assert named - MAKERS <= built
