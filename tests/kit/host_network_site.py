"""A site with all that hosts' networks can have: osaka-1 of the fault files."""

import functools
import shutil
import tempfile
from pathlib import Path

from components.making.manifest import Json
from components.site import objects_by_name
from schemas.facts.site import Site
from schemas.load import load
from tests.invalid.faults import FOLDER

NAME = "osaka-1"


def copy_site(root: Path) -> Path:
    """A repository with osaka-1 alone."""
    shutil.copytree(FOLDER / "base" / "sites" / "pod-network", root / "sites" / "pod-network")
    for file in (FOLDER / "base" / "more").iterdir():
        shutil.copy(file, root / "sites")
    return root


@functools.cache
def osaka() -> Site:
    """osaka-1 as it is."""
    with tempfile.TemporaryDirectory() as folder:
        loaded = load(copy_site(Path(folder)))[NAME]
    assert loaded.site is not None, [str(each) for each in loaded.problems]
    return loaded.site


def bodies(site: Site, kind: str) -> dict[str, Json]:
    """The objects of a kind by their names; templates by their pool's."""
    found = objects_by_name(site).values()
    return {
        each.name.partition("/")[2]
        if "Template" in kind
        else each.body["metadata"]["name"]: each.body
        for each in found
        if each.kind == kind
    }
