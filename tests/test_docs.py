"""The documentation says what is so: its examples run, its links lead somewhere."""

import contextlib
import io
import re
import shutil
from pathlib import Path

import pytest

from foresite.cli import main
from schemas.reference import pages
from tests.repository import ROOT

PAGES = sorted(
    path for path in [*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md"), *ROOT.glob("sites/*.md")]
)


def run(*arguments: str) -> str:
    """What a command prints."""
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        main(list(arguments))
    return out.getvalue()


def example(command: str) -> str:
    """What the README shows as the output of a command."""
    text = (ROOT / "README.md").read_text()
    shown = text.split(f"$ uv run foresite {command}\n", 1)[1]
    return re.split(r"^\$ |^```", shown, maxsplit=1, flags=re.MULTILINE)[0]


def test_the_readmes_problem_is_what_check_says(tmp_path: Path) -> None:
    shutil.copytree(ROOT / "sites", tmp_path / "sites")
    site = tmp_path / "sites" / "tokyo-1.yaml"
    site.write_text(site.read_text().replace("max_surge: 2", "max_surge: 3"))
    assert run("--root", str(tmp_path), "check", "tokyo-1") == example("check tokyo-1")


def test_the_readmes_explanation_is_what_explain_says() -> None:
    path = "pools.v100.rollout.max_unavailable"
    said = run("--root", str(ROOT), "explain", "tokyo-1", path)
    assert said == example(f"explain tokyo-1 {path}")


def test_the_reference_pages_are_those_of_the_model() -> None:
    for name, text in pages().items():
        written = (ROOT / "docs" / name).read_text()
        assert written == text, f"docs/{name} is stale; run make generate"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_lead_somewhere(page: Path) -> None:
    for target in re.findall(r"\]\(([^)#]+)[^)]*\)", page.read_text()):
        if "://" not in target:
            assert (page.parent / target).exists(), f"{page.name} links to {target}"


def test_every_decision_is_in_the_index() -> None:
    folder = ROOT / "docs" / "decisions"
    listed = re.findall(r"\]\((\d{4}-[^)]+)\)", (folder / "README.md").read_text())
    assert listed == sorted(path.name for path in folder.glob("0*.md"))
