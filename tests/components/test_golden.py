"""The rendered files of lab-1 and edge-1, byte by byte: a change to them is seen in a review.

tests/golden/__init__.py has the two commands that write the files anew.
"""

import difflib
from pathlib import Path

import pytest

from components.site import site_objects
from foresite.commands.render import files_of
from tests.golden import RENDERED, every_site

GOLDENS = ("edge-1", "lab-1")


@pytest.mark.parametrize("name", GOLDENS)
def test_a_site_renders_to_what_was_reviewed(name: str) -> None:
    site = every_site()[name]
    made = files_of(site, site_objects(site))
    reviewed = (path for path in sorted((RENDERED / name).rglob("*")) if path.is_file())
    then = {path.relative_to(RENDERED / name).as_posix(): path.read_text() for path in reviewed}
    differences = [
        line
        for path in sorted(made.keys() | then.keys())
        for line in difflib.unified_diff(
            then.get(path, "").splitlines(), made.get(path, "").splitlines(), path, path, "", "", 1
        )
    ]
    assert not differences, "\n".join(["see tests/golden/__init__.py", *differences[:60]])
    assert made == then


def test_there_is_nothing_else_to_review() -> None:
    assert {path.name for path in Path(RENDERED).iterdir()} == set(GOLDENS)
