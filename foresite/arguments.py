"""The command line as a parser, made from commands.toml. It imports no command, and gives only the
named one its arguments, so that a check does not wait for what only another command uses."""

import argparse
import textwrap
import tomllib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NoReturn

from schemas.kubernetes.masking import mask_command, shorten
from schemas.model.texts import nearest

Table = dict[str, Any]
_TYPES = {"int": int, "path": Path}
_GROUPS = ("people", "CI")
_PURPOSE = "See what a change does to every bare-metal site before it merges."
_MORE = "foresite COMMAND --help shows the arguments of a command, with an example."
_CODES = (
    "Exit codes: 0 nothing to report, 1 problems, 2 could not run, 3 not finished (apply), "
    "130 interrupted."
)
_FEW = 6
"""Choices that an error names; help names the rest."""
_ROOT = "the repository; default: the one around this folder"


def parser(*, whole: bool = False) -> argparse.ArgumentParser:
    """The parser of the command line; ``whole``: with the arguments of every command."""
    said = tomllib.loads(Path(__file__).with_name("commands.toml").read_text("utf-8"))
    return _Program(said, whole=whole)


class _Help(argparse.HelpFormatter):
    """Help as wide as the terminal, in which each line of an example stays a line."""

    def _fill_text(self, text: str, width: int, indent: str) -> str:
        lines = []
        for line in text.splitlines():
            lead = indent + line[: len(line) - len(line.lstrip())]
            lines.append(super()._fill_text(line, width, lead))
        return "\n".join(lines)

    def _split_lines(self, text: str, width: int) -> list[str]:
        return textwrap.wrap(text, width, break_on_hyphens=False)  # Foresite-Allow is one word


class _Parser(argparse.ArgumentParser):
    """A parser whose complaints say what was meant, and repeat no secret or control character."""

    lenient = False
    _typed: Sequence[str] = ()

    def error(self, message: str) -> NoReturn:
        """End with the usage and what is wrong; what is missing may only be misspelt."""
        if message.startswith("the following arguments are required"):
            known = tuple(self._option_string_actions)
            for word in self._typed:
                if word.startswith("--") and not any(
                    each.startswith(word.partition("=")[0]) for each in known
                ):
                    message += "; " + "; ".join(self._unknown(word)[1:])
        super().error(shorten(mask_command(message), 400))

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> Any:
        """What was typed; a lenient command finds words that are no argument in ``unknown``."""
        self._typed = args or ()
        found, unknown = super().parse_known_args(args, namespace)
        # What stands behind an unknown option is its value.
        unknown = [each for each in unknown if each.startswith("-")] or unknown
        if unknown:
            found.unknown = [self._unknown(each) for each in unknown]
        if unknown and not self.lenient:
            self.error("; ".join(f"{what}; {fix}" for _, what, fix in found.unknown))
        return found, []

    def _unknown(self, word: str) -> tuple[str, str, str]:
        """A word that is no argument, what is wrong with it, and what to write instead."""
        shown = shorten(word.partition("=")[0] if word.startswith("--") else word)
        if not word.startswith("-"):
            return shown, f"there is no place for {shown}", "leave it out"
        known = [each for each in self._option_string_actions if each.startswith("--")]
        near = nearest(word.partition("=")[0], known)
        fix = f"did you mean {near}?" if near else f"see {self.prog} --help"
        return shown, f"there is no option {shown}", fix

    def _check_value(self, action: argparse.Action, value: Any) -> None:
        if action.choices is not None and value not in action.choices:
            known = list(action.choices)
            near, every = nearest(value, known), ", ".join(known)
            fix = f"write one of {every}" if len(known) <= _FEW else f"see {self.prog} -h"
            fix = f"did you mean {near}?" if near else fix
            raise argparse.ArgumentError(action, f"there is no {shorten(value)}; {fix}")


class _Program(_Parser):
    """The parser of the whole command line, which lists the commands by group."""

    def __init__(self, said: Table, *, whole: bool) -> None:
        super().__init__(prog="foresite", description=_PURPOSE, formatter_class=_Help)
        shared = said.pop("shared")
        self._said = said
        self.add_argument(
            "--version", dest="show_version", action="store_true", help="show the version and exit"
        )
        self.add_argument("--root", type=Path, metavar="DIR", help=_ROOT)
        add = self.add_subparsers(dest="command", metavar="COMMAND", parser_class=_Command)
        for name, each in said.items():
            command = add.add_parser(name, said=each, shared=shared)
            if whole:
                command.fill()

    def format_help(self) -> str:
        """The commands by group, then the options."""
        made = self._get_formatter()
        made.add_usage(self.usage, self._actions, self._mutually_exclusive_groups)
        made.add_text(self.description)
        sections = {f"for {group}": list(self._of_group(group)) for group in _GROUPS}
        sections["options"] = [each for each in self._actions if each.option_strings]
        for title, actions in sections.items():
            made.start_section(title)
            made.add_arguments(actions)
            made.end_section()
        made.add_text(f"{_MORE}\n{_CODES}")
        return made.format_help()

    def _of_group(self, group: str) -> Iterator[argparse.Action]:
        for name, each in self._said.items():
            if each["group"] == group:
                yield argparse.Action([], name, metavar=name, help=each["purpose"])


class _Command(_Parser):
    """The parser of one command, which gets its arguments when they are first asked for."""

    def __init__(self, said: Table, shared: Table, **options: Any) -> None:
        example = "\n  ".join(["example:", *said["example"].strip().splitlines()])
        purpose = f"{said['purpose'][0].upper()}{said['purpose'][1:]}."
        super().__init__(**options, description=purpose, epilog=example, formatter_class=_Help)
        self._said, self._shared = said, shared
        self.lenient = said.get("lenient", False)

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> Any:
        """What was typed, by arguments that are made now."""
        self.fill()
        return super().parse_known_args(args, namespace)

    def fill(self) -> None:
        """Make the arguments, once."""
        said, self._said = self._said, {}
        if not said:
            return
        self.add_argument("--root", type=Path, default=argparse.SUPPRESS, help=argparse.SUPPRESS)
        one_of = said.get("one_of", ())
        group = self.add_mutually_exclusive_group(required=True) if one_of else self
        for name, each in said["arguments"].items():
            options = dict(self._shared[name] if each == "shared" else each)
            complete = options.pop("complete", None)
            if "type" in options:
                options["type"] = _TYPES[options["type"]]
            options["help"] = options.get("help", "").replace("%", "%%")
            action = (group if name in one_of else self).add_argument(name, **options)
            action.complete = complete  # type: ignore[attr-defined]
