"""The repository under test, and its sites as the tests see them."""

import functools
from pathlib import Path

from schemas.facts.site import Site
from schemas.load import load

ROOT = Path(__file__).resolve().parents[2]


@functools.cache
def all_sites() -> dict[str, Site]:
    """Every site of the repository; a problem in one fails whoever asks."""
    loaded = load(ROOT)
    problems = [str(problem) for each in loaded.values() for problem in each.problems]
    assert not problems, problems
    return {name: each.site for name, each in loaded.items() if each.site is not None}
