"""What every command shares: exit codes, the refusal to run, and the repository it works on."""

import argparse
import os
from pathlib import Path

OK, FOUND, FAILED = 0, 1, 2
"""Exit codes: nothing to report, problems found, could not run."""


class UsageError(Exception):
    """The command cannot run as it was called; the message says what to do instead."""


def repository(options: argparse.Namespace) -> Path:
    """The repository that a command works on: the nearest folder upwards with sites/."""
    start = Path(os.path.realpath(options.root or Path.cwd()))  # a link to itself is no folder
    for folder in (start, *start.parents) if options.root is None else (start,):
        if (folder / "sites").is_dir():
            return folder
    raise UsageError(f"no folder sites/ in {start}; run in a Foresite repository, or give --root")
