"""The Pulumi program of a repository: stacks are sites or management clusters (``management.``)."""

from pathlib import Path

import pulumi

from components.stack import deploy
from foresite.command import version
from preview.states.lock import lock_problems
from schemas.site_parts import load_stack


def main(root: Path) -> None:
    """Register what this stack is of, or refuse with every problem of its files."""
    loaded = load_stack(root, pulumi.get_stack())
    problems = [*lock_problems(root, version()), *loaded.problems]
    if loaded.site is None or problems:
        raise pulumi.RunError("\n\n".join(["its files have problems:", *map(str, problems)]))
    deploy(loaded.site)
