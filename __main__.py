"""The Pulumi program: the stack's name is a site's name; its file says all the rest."""

from pathlib import Path

from foresite.program import main

main(Path(__file__).parent)
