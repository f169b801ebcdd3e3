"""The command ``foresite``: runs one command, and returns its exit code.

0: nothing to report; 1: problems found; 2: could not run; 130, 143 or 129: interrupted by Ctrl-C,
SIGTERM or SIGHUP. Each command imports what it needs when it runs, so that a check does not wait
for what only another command uses.
"""

import argparse
import importlib
import io
import os
import sys
from collections.abc import Callable

from foresite.arguments import parser
from foresite.command import FAILED, UsageError, say
from foresite.interruption import catch_signals, exit_code
from schemas.kubernetes.masking import mask_command


def main(arguments: list[str] | None = None) -> int:
    """Run one command and return its exit code; never a traceback for what a user can do."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):  # what its encoding lacks is shown escaped
            stream.reconfigure(errors="backslashreplace")
    try:
        with catch_signals():
            options = parser().parse_args(arguments)
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
    except KeyboardInterrupt as error:
        _say("interrupted")
        _drop_output()
        return exit_code(error)
    _drop_output()
    return FAILED


def _say(message: str) -> None:
    # A message may repeat what was typed, or what another program said.
    say(f"foresite: {mask_command(message)}")


def _drop_output() -> None:
    """Forget what stdout did not take; Python would complain about it when it ends."""
    try:
        print(end="", flush=True)
    except OSError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _command(name: str) -> Callable[[argparse.Namespace], int]:
    """Each command is a module of its name."""
    module = importlib.import_module(f"foresite.commands.{name}")
    run: Callable[[argparse.Namespace], int] = module.run
    return run
