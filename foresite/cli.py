"""The command ``foresite``: runs one command, and returns its exit code. 0: nothing to report; 1:
problems found; 2: could not run; 3: not finished (apply); 130, 143 or 129: interrupted by Ctrl-C,
SIGTERM or SIGHUP. Each imports what it needs when it runs, so that a check does not wait."""

import importlib
import io
import os
import sys

from foresite.arguments import parser
from foresite.command import FAILED, OK, Stopped, UsageError, say, show, version
from foresite.interruption import catch_signals, exit_code
from schemas.kubernetes.masking import mask_command, shorten

_WORD = 300
"""Characters of a typed word that a message repeats."""


def main(arguments: list[str] | None = None) -> int:
    """Run one command and return its exit code; never a traceback for what a user can do."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):  # what its encoding lacks is shown escaped
            stream.reconfigure(errors="backslashreplace")
    try:
        with catch_signals():
            code = _run(arguments)
            print(end="", flush=True)  # where stdout is closed, print does nothing
            return code
    except BrokenPipeError:
        pass  # the reader has left (``| head``): there is nobody to tell
    except UsageError as error:
        _say(str(error), arguments)
    except OSError as error:
        where = f": {shorten(str(error.filename), _WORD)}" if error.filename else ""
        _say(f"{error.strerror or error}{where}", arguments)
    except KeyboardInterrupt as error:
        _say("interrupted", arguments)
        _drop_output()
        return exit_code(error)
    _drop_output()
    return FAILED


def _run(arguments: list[str] | None) -> int:
    if "_ARGCOMPLETE" in os.environ:
        from foresite.completion import complete

        complete(parser(whole=True))
    found = parser()
    options = found.parse_args(arguments)
    if options.show_version:
        from schemas.model.own_components import versions

        show(f"foresite {version()}", *versions())
        return OK
    if options.command is None:
        show(found.format_help(), end="")
        return FAILED
    module = importlib.import_module(f"foresite.commands.{options.command}")
    try:
        return int(module.run(options))
    except Stopped as end:
        return end.code


def _say(message: str, arguments: list[str] | None) -> None:
    # A message may repeat what was typed, which gets no lines of its own and is bounded, or what
    # another program said.
    for word in sys.argv[1:] if arguments is None else arguments:
        if word and shorten(word, _WORD) != word:
            message = message.replace(word, shorten(word, _WORD))
    say(f"foresite: {mask_command(message)}")


def _drop_output() -> None:
    """Forget what stdout did not take; Python would complain about it when it ends."""
    try:
        print(end="", flush=True)
    except OSError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
