"""The common parts of every command: exit codes, the refusal to run, output, the repository."""

import argparse
import os
import sys
from collections.abc import Sequence
from pathlib import Path

OK, FOUND, FAILED = 0, 1, 2
"""Exit codes: nothing to report, problems found, could not run."""


class UsageError(Exception):
    """The command cannot run as it was called; the message says what to do instead."""


def say(text: str) -> None:
    """A line for whoever watches; that nobody does any more is no reason to stop half-way."""
    try:
        print(text, file=sys.stderr, flush=True)
    except OSError:
        sys.stderr = open("/dev/null", "w", encoding="utf-8")  # noqa: SIM115 open until the end


def few(things: Sequence[object], shown: int) -> str:
    """The first of some things for a person: ``a, b and 28 more``."""
    more = f" and {len(things) - shown} more" if len(things) > shown else ""
    return ", ".join(map(str, things[:shown])) + more


def no_site(root: Path) -> str:
    """The complaint where a command has no site to work on."""
    return f"there is no site in {root / 'sites'}; write one: foresite new"


def repository(options: argparse.Namespace) -> Path:
    """The repository that a command works on: the nearest folder upwards with sites/."""
    start = Path(os.path.realpath(options.root or Path.cwd()))  # a link to itself is no folder
    for folder in (start, *start.parents) if options.root is None else (start,):
        if (folder / "sites").is_dir():
            return folder
    raise UsageError(f"no folder sites/ in {start}; run in a Foresite repository, or give --root")
