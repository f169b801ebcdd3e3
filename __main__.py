"""The Pulumi program: the stack's name is a site's name; its file says all the rest."""

from pathlib import Path

import pulumi

from components.stack import deploy
from schemas.load import load_site


def main() -> None:
    """Register the site of this stack, or refuse with every problem of its files."""
    loaded = load_site(Path(__file__).parent, pulumi.get_stack())
    if loaded.site is None:
        raise pulumi.RunError("\n\n".join(["the site has problems:", *map(str, loaded.problems)]))
    deploy(loaded.site)


main()
