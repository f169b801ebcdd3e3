"""The repository under test, and its sites as the tests see them."""

import atexit
import functools
import re
import shutil
import tempfile
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from schemas.facts.site import Site
from schemas.load import load

ROOT = Path(__file__).resolve().parents[2]
FLEET = ROOT / "tests" / "fleet"
"""A repository with the sites that most tests look at."""
FIELD = ROOT / "tests" / "field"
"""A repository of one's own, with sites as their operators would write them."""
EXAMPLES = [path.stem for path in sorted((ROOT / "sites").glob("*.yaml"))]
"""The example sites, which no other test needs: a team may put its own in their place."""
with_examples = pytest.mark.skipif(not EXAMPLES, reason="there are no example sites")
WRITTEN_OUT = Path(__file__).with_name("written_out")
"""The files of the example sites as they are without a region: each says all that holds for it."""


def copy_sites(root: Path, ignore: Callable[..., set[str]] | None = None) -> None:
    """The example sites at ``root``, written out, so that each file can be edited alone."""
    shutil.copytree(FLEET / "sites", root / "sites", ignore=ignore, dirs_exist_ok=True)
    for file in WRITTEN_OUT.glob("*.yaml"):
        if (root / "sites" / file.name).exists():
            shutil.copyfile(file, root / "sites" / file.name)


@functools.cache
def written_out() -> Path:
    """A repository with the example sites, written out."""
    folder = tempfile.TemporaryDirectory(prefix="written-out-")
    atexit.register(folder.cleanup)
    copy_sites(Path(folder.name))
    return Path(folder.name)


def without_examples(text: str) -> str:
    """The text of an example site with values that a site of one's own may have."""
    text = re.sub(r"(?<=[a-z0-9])\.example(?![a-z0-9.-])", ".our-lan", text)
    was = "IFymhLku4SdfYrPbCwX88H668olnzzQcg7SSyMhAs2aA"
    return text.replace(was, "IB+BgY0nzJOjy32NYvw8iBUlWouW/IBPOocfUcP9sYR6")


@functools.cache
def all_sites() -> dict[str, Site]:
    """Every site of the repository; a problem in one fails whoever asks. Each is written out, and
    so the same without its region (tests/schemas/test_regions.py)."""
    return _sites(written_out())


@functools.cache
def field_sites() -> dict[str, Site]:
    """Every site of FIELD, without problems."""
    return _sites(FIELD)


def _sites(root: Path) -> dict[str, Site]:
    loaded = load(root)
    problems = [str(problem) for each in loaded.values() for problem in each.problems]
    assert not problems, problems
    return {name: each.site for name, each in loaded.items() if each.site is not None}


def with_resets() -> Site:
    """tokyo-1, whose repairs try a reset before a reboot."""
    plain = all_sites()["tokyo-1"]
    remediation = plain.file.remediation
    assert remediation is not None
    reboot = remediation.reboot.model_copy(update={"reset_first": True})
    changed = remediation.model_copy(update={"reboot": reboot})
    return replace(plain, file=plain.file.model_copy(update={"remediation": changed}))
