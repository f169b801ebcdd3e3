"""The policy pack of a repository: serves the policies until Pulumi's engine is gone."""

import os
from pathlib import Path

from policies.pack.server import main as serve


def main(root: Path) -> None:
    """Serve the policies of the stack's site below ``root``."""
    serve(root, os.environ)
