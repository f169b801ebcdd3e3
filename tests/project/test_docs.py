"""The documentation says what is so: its examples run, its links lead somewhere."""

import re
from pathlib import Path

import pytest

from schemas.reference import pages
from tests.kit.repository import ROOT, with_examples
from tools import screens

PAGES = sorted(
    path for path in [*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md"), *ROOT.glob("sites/*.md")]
)


@with_examples
def test_what_is_shown_of_the_command_is_what_it_says() -> None:
    for path, text in screens.pages():
        assert path.read_text("utf-8") == text, f"{path.name} is stale; run make generate"


@with_examples
def test_the_first_example_is_as_long_as_the_readme_says() -> None:
    text = (ROOT / "README.md").read_text("utf-8")
    (said,) = re.findall(r"^# sites/tokyo-1.yaml, ([0-9]+) lines", text, re.MULTILINE)
    assert int(said) == len((ROOT / "sites/tokyo-1.yaml").read_text("utf-8").splitlines())


def test_the_reference_pages_are_those_of_the_model() -> None:
    for name, text in pages().items():
        written = (ROOT / "docs" / name).read_text()
        assert written == text, f"docs/{name} is stale; run make generate"


@with_examples
@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_lead_somewhere(page: Path) -> None:
    for target in re.findall(r"\]\(([^)#]+)[^)]*\)", page.read_text()):
        if "://" not in target:
            assert (page.parent / target).exists(), f"{page.name} links to {target}"


def test_every_decision_is_in_the_index() -> None:
    folder = ROOT / "docs" / "decisions"
    listed = re.findall(r"\]\((\d{4}-[^)]+)\)", (folder / "README.md").read_text())
    assert listed == sorted(path.name for path in folder.glob("0*.md"))
