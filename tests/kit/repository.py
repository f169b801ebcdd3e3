"""The repository under test, and its sites as the tests see them."""

import functools
from dataclasses import replace
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


def with_resets() -> Site:
    """tokyo-1, whose repairs try a reset before a reboot."""
    plain = all_sites()["tokyo-1"]
    remediation = plain.file.remediation
    assert remediation is not None
    reboot = remediation.reboot.model_copy(update={"reset_first": True})
    changed = remediation.model_copy(update={"reboot": reboot})
    return replace(plain, file=plain.file.model_copy(update={"remediation": changed}))
