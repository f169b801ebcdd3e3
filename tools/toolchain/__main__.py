"""``python -m tools.toolchain ensure|where|env|pin [GROUP...]``."""

import argparse
import signal
import sys
from pathlib import Path
from shlex import quote

from tools.toolchain import GROUPS, Console, ToolchainError, ensure, environment, locate
from tools.toolchain.parts import OPTIONAL
from tools.toolchain.pin import pin

_SHOWN = "PULUMI_"


def main(arguments: list[str] | None = None) -> int:
    """Run one command; 0 when all is there, 2 when it could not be."""
    # SIGTERM ends as Ctrl-C does, so that a build does not go on without us.
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    options = _parser().parse_args(arguments)
    try:
        return _run(options)
    except ToolchainError as error:
        print(f"toolchain: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print("\ntoolchain: interrupted; what was finished is kept", file=sys.stderr)
        return 130


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m tools.toolchain", description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    for name, text in (
        ("ensure", "make the parts available: installed ones, else downloads, else builds"),
        ("where", "print where the parts are, without downloading or building"),
    ):
        command = commands.add_parser(name, help=text)
        command.add_argument(
            "groups",
            nargs="*",
            metavar="|".join(GROUPS),
            help="default: all but " + ", ".join(OPTIONAL),
        )
    command = commands.add_parser("env", help="print what a shell needs for trying Pulumi")
    command.add_argument("state", type=Path, help="the folder of the trial's state")
    commands.add_parser("pin", help="fill the digests of release archives, for you to commit")
    return parser


def _run(options: argparse.Namespace) -> int:
    if options.command == "env":
        # Assignments for eval; only what differs from the caller's own environment.
        env = environment(locate(["pulumi"]), options.state)
        for name in sorted(env):
            if name.startswith(_SHOWN) or name == "PATH":
                print(f"export {name}={quote(env[name])}")
        return 0
    if options.command == "pin":
        return 0 if pin(Console()) else 2
    groups = options.groups or [each for each in GROUPS if each not in OPTIONAL]
    if options.command == "ensure":
        ensure(groups)
    else:
        for tool in locate(groups).values():
            print(f"{tool.name}\t{tool.version}\t{tool.origin.value}\t{tool.path}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
