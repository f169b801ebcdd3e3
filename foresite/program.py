"""The Pulumi program of a repository: the stack's name is a site's name; its file says the rest."""

from pathlib import Path

import pulumi

from components.stack import deploy
from foresite.command import version
from preview.states.lock import lock_problems
from schemas.load import load_site


def main(root: Path) -> None:
    """Register the site of this stack, or refuse with every problem of its files."""
    loaded = load_site(root, pulumi.get_stack())
    problems = [*lock_problems(root, version()), *loaded.problems]
    if loaded.site is None or problems:
        raise pulumi.RunError("\n\n".join(["the site has problems:", *map(str, problems)]))
    deploy(loaded.site)
