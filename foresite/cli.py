"""The command ``foresite``: its arguments, and the exit codes 0, 1 and 2.

0: nothing to report; 1: problems found; 2: could not run. Each command imports what it needs when
it runs, so that a check does not wait for what only another command uses.
"""

import argparse
import io
import os
import sys
from collections.abc import Callable
from pathlib import Path

from foresite.command import FAILED, UsageError


def main(arguments: list[str] | None = None) -> int:
    """Run one command and return its exit code; never a traceback for what a user can do."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):  # what its encoding lacks is shown escaped
            stream.reconfigure(errors="backslashreplace")
    try:
        options = _parser().parse_args(arguments)
        code = _command(options.command)(options)
        print(end="", flush=True)  # where stdout is closed, print does nothing
        return code
    except BrokenPipeError:
        pass  # the reader has left (``| head``): there is nobody to tell
    except UsageError as error:
        _say(str(error))
    except OSError as error:
        where = f": {error.filename}" if error.filename else ""
        _say(f"{error.strerror or error}{where}")
    except KeyboardInterrupt:
        print(file=sys.stderr)
        _say("interrupted")
    _drop_output()
    return FAILED


def _say(message: str) -> None:
    print(f"foresite: {message}", file=sys.stderr)


def _drop_output() -> None:
    """Forget what stdout did not take; Python would complain about it when it ends."""
    try:
        print(end="", flush=True)
    except OSError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _command(name: str) -> Callable[[argparse.Namespace], int]:
    if name == "check":
        from foresite.check import run
    elif name == "render":
        from foresite.render import run
    elif name == "new":
        from foresite.new import run
    elif name == "explain":
        from foresite.explain import run
    else:
        from foresite.up import run
    return run


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="foresite",
        description="See what a change does to every bare-metal site before it merges.",
        epilog="Exit codes: 0 nothing to report, 1 problems found, 2 could not run.",
    )
    parser.add_argument("--root", type=Path, help="the repository; default: found from here up")
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    check = commands.add_parser("check", help="report every problem of sites, offline")
    check.add_argument("sites", nargs="*", metavar="SITE", help="default: all sites")
    render = commands.add_parser("render", help="write a site's manifests, a folder a component")
    render.add_argument("sites", nargs="*", metavar="SITE", help="default: all sites")
    render.add_argument("--out", type=Path, default=Path("rendered"), help="default: rendered")
    new = commands.add_parser("new", help="write a new site, like one that exists")
    new.add_argument("site", metavar="SITE")
    new.add_argument("--like", required=True, metavar="OTHER", help="the site to start from")
    explain = commands.add_parser("explain", help="say what a value is, whence, and where it goes")
    explain.add_argument("site", metavar="SITE")
    explain.add_argument("path", metavar="PATH", help="such as pools.v100.rollout.max_unavailable")
    up = commands.add_parser("up", help="check a site, and run pulumi up for it")
    up.add_argument("site", metavar="SITE")
    up.add_argument("--trial", action="store_true", help="on the embedded API server")
    up.add_argument("--preview", action="store_true", help="only say what would be done")
    for command in (check, render, new, explain, up):
        command.add_argument("--format", choices=("text", "json"), default="text")
    return parser
