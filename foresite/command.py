"""The common parts of every command: exit codes, the refusal to run, output, the repository."""

import argparse
import json
import os
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path

from preview.wrapping import fold, terminal_width
from schemas.kubernetes.masking import shorten
from schemas.refusal import UsageError as UsageError  # noqa: PLC0414 commands take it from here

OK, FOUND, FAILED, UNFINISHED = 0, 1, 2, 3
"""Exit codes: nothing to report, problems found, could not run, to be continued."""


class Stopped(Exception):
    """A command is over, as the problems that were shown keep it from its work."""

    def __init__(self, code: int) -> None:
        super().__init__(code)
        self.code = code


def visible(text: str) -> str:
    """``text`` with what a terminal would obey, or not show, as escapes; lines and tabs stay."""
    if text.replace("\n", "").replace("\t", "").isprintable():
        return text
    return "".join(c if c in "\n\t" or c.isprintable() else f"\\u{ord(c):04x}" for c in text)


def show(*lines: str, end: str = "\n", flush: bool = False) -> None:
    """Print lines for a person or a program; whatever users wrote in them becomes visible."""
    print(visible("\n".join(lines)), end=end, flush=flush)


def show_text(text: str) -> None:
    """Print text for a person; on a terminal its lines are folded to the width."""
    show(fold(text, terminal_width()))


def print_report(form: str, data: object, lines: Iterable[str], *, folded: bool = True) -> None:
    """Print a report: its data as JSON, or its lines for a person. Lines with commands to copy, or
    with columns, are not ``folded``."""
    if form == "json":
        show(json.dumps(data, indent=2))
    else:
        (show_text if folded else show)("\n".join(lines))


def say(text: str) -> None:
    """A line for whoever watches; that nobody does any more is no reason to stop half-way."""
    try:
        print(visible(text), file=sys.stderr, flush=True)
    except OSError:
        sys.stderr = open("/dev/null", "w", encoding="utf-8")  # noqa: SIM115 open until the end


def version() -> str:
    """The version of Foresite that runs."""
    from importlib.metadata import version as installed

    return installed("foresite")


def few(things: Sequence[object], shown: int) -> str:
    """The first of some things for a person: ``a, b and 28 more``."""
    more = f" and {len(things) - shown} more" if len(things) > shown else ""
    return ", ".join(map(str, things[:shown])) + more


def count(number: int, noun: str, many: str = "") -> str:
    """A number of things for a person: ``1 policy``, ``2 policies``."""
    return f"{number} {noun if number == 1 else many or f'{noun}s'}"


def no_site(root: Path) -> str:
    """The complaint where a command has no site to work on."""
    return f"there is no site in {root / 'sites'}; write one: foresite new SITE --like lab-1"


def repository(options: argparse.Namespace) -> Path:
    """The repository that a command works on: the nearest folder upwards with sites/."""
    start = Path(os.path.realpath(options.root or Path.cwd()))  # a link to itself is no folder
    for folder in (start, *start.parents) if options.root is None else (start,):
        if (folder / "sites").is_dir():
            return folder
    where = shorten(str(start), 300)
    raise UsageError(f"no folder sites/ in {where}; run in a Foresite repository, or give --root")
