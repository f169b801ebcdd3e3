"""The command line as it is typed: help, misspelt words, completion, and no character that a
terminal obeys."""

import ast
import contextlib
import os
import shlex
import shutil
import subprocess
import sys
import tomllib
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from foresite.arguments import parser
from foresite.cli import main
from foresite.command import FAILED, OK, visible
from tests.kit.repository import FLEET, ROOT, copy_sites

SAID: dict[str, Any] = tomllib.loads((ROOT / "foresite" / "commands.toml").read_text("utf-8"))
COMMANDS = [name for name in SAID if name != "shared"]
NASTY = "\x1b[31m\x07a\nb\r\u202e\x9b"


def ended(*arguments: str) -> int:
    """The exit code of a call that argparse answers."""
    with pytest.raises(SystemExit) as end:
        main([*arguments])
    return int(end.value.code or 0)


# --- help -----------------------------------------------------------------------------------------


def test_every_command_is_a_module_and_every_module_a_command() -> None:
    files = (ROOT / "foresite" / "commands").glob("[a-z]*.py")
    assert sorted(COMMANDS) == sorted(path.stem for path in files)
    assert all(find_spec(f"foresite.commands.{name}") for name in COMMANDS)


def test_without_a_command_the_help_is_shown_and_nothing_passes(
    capsys: pytest.CaptureFixture[str],
) -> None:
    """A workflow in which a variable is empty must not be green."""
    assert main([]) == FAILED
    bare = capsys.readouterr()
    assert ended("--help") == OK
    assert bare.out == capsys.readouterr().out
    assert bare.err == ""
    people, ci = bare.out.partition("for people:")[2].split("for CI:")
    for name in COMMANDS:
        group = ci if SAID[name]["group"] == "CI" else people
        assert f"\n  {name} " in group


@pytest.mark.parametrize("columns", [80, 60])
def test_help_is_as_wide_as_the_terminal(
    columns: int, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("COLUMNS", str(columns))
    for arguments in ([], *([name] for name in COMMANDS)):
        assert ended(*arguments, "--help") == OK
        said = capsys.readouterr().out
        assert max(map(len, said.splitlines())) <= columns and "%%" not in said, said


@pytest.mark.parametrize("name", COMMANDS)
def test_an_example_is_shown_as_it_is_typed_and_can_be_run(
    name: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    example = SAID[name]["example"].strip()
    assert ended(name, "--help") == OK
    said = capsys.readouterr().out
    assert all(f"  {line}\n" in said for line in example.splitlines())
    for call in example.replace("\\\n", "").splitlines():
        words = shlex.split(call.removeprefix("source <(").removesuffix(")"))
        options = parser().parse_args(words[1:])
        assert (words[0], options.command) == ("foresite", name)
        assert not hasattr(options, "unknown")


def test_the_version_is_that_of_the_project(capsys: pytest.CaptureFixture[str]) -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    assert main(["--version"]) == OK
    assert capsys.readouterr().out == f"foresite {project['version']}\n"


# --- misspelt -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("typed", "words"),
    [
        ("chekc", "there is no chekc; did you mean check?"),
        ("zzz", "there is no zzz; see foresite -h"),
        ("check --fromat json", "there is no option --fromat; did you mean --format?"),
        ("check --fromat=json", "there is no option --fromat; did you mean --format?"),
        ("check --format jsno", "there is no jsno; did you mean json?"),
        ("check --format zzz", "there is no zzz; write one of text, json, github, sarif"),
        ("explain lab-1 a b", "there is no place for b; leave it out"),
        ("preview --zzz --exit-cod --faill-on x", "did you mean --fail-on?"),
        ("new osaka-1 --lkie lab-1", "required: --like; there is no option --lkie; did you mean"),
        ("--rooot=x check", "there is no option --rooot; did you mean --root?"),
        ("comment --pull x --repository a/b --file f", "invalid int value: 'x'"),
    ],
)
def test_a_misspelt_word_is_answered_with_what_was_meant(
    typed: str, words: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert ended(*typed.split()) == FAILED
    said = capsys.readouterr()
    assert said.out == ""
    assert said.err.startswith("usage: foresite")
    assert words in said.err


def test_the_root_may_stand_behind_the_command(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["check", "lab-1", "--root", str(FLEET)]) == OK
    assert "1 site checked" in capsys.readouterr().out


# --- what a terminal obeys ------------------------------------------------------------------------


def calls(folder: Path) -> list[list[str]]:
    """Calls of every command in which each word of a person is nasty, or very long."""
    found = []
    root = ["--root", str(folder)]
    for word in (NASTY, "x" * 50_000, f"--{NASTY}", str(folder), "\udcff"):
        out = ["--out", f"{folder}/{word}"]
        found += [
            [word],
            ["--root", word, "check"],
            [*root, "check", "--format", word],
            [*root, "render", "lab-1", *out],
            [*root, "explain", "lab-1", word],
            [*root, "explain", "lab-1", f"pools.{word}"],
            [*root, "job", "lab-1", word, "--team", word, "--name", word, "--image", word],
            [*root, "job", "lab-1", "all-reduce", "--namespace", word, "--model", word],
            [*root, "new", word, "--like", "lab-1"],
            [*root, "new", "osaka-1", "--like", word],
            [*root, "preview", "--base", word, *out],
            [*root, "preview", "--fail-on", word],
            [*root, "preview", "--allow", word],
            [*root, "preview", "--request", word],
            [*root, "preview", "--nodes", word],
            [*root, "up", "lab-1", "--allow", word],
            [*root, "recover", "lab-1", "--allow", word],
            ["request", "--event", word, *out],
            ["comment", "--repository", word, "--pull", "1", "--file", word],
            ["completion", word],
        ]
    return found


def test_nothing_that_is_typed_moves_a_cursor_or_writes_a_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    copy_sites(tmp_path, ignore=shutil.ignore_patterns("t*-1.*"))
    for arguments in calls(tmp_path):
        with contextlib.suppress(SystemExit):
            main(arguments)
        said = capsys.readouterr()
        shown = said.out + said.err
        assert shown, arguments
        assert all(c in "\n\t" or c.isprintable() for c in shown), arguments
        assert not any(line.startswith("b\\") for line in shown.splitlines()), arguments
        assert len(said.err) < 3000, arguments


def test_every_line_goes_through_the_one_function_that_prints() -> None:
    """Of the preview alone the text is coloured; its report makes each value visible."""
    for path in sorted((ROOT / "foresite").rglob("*.py")):
        printed = [
            node
            for node in ast.walk(ast.parse(path.read_text("utf-8")))
            if isinstance(node, ast.Name) and node.id == "print"
        ]
        allowed = {"command.py": 2, "cli.py": 2, "preview.py": 1}.get(path.name, 0)
        assert len(printed) == allowed, path


def test_what_is_visible_stays_as_it_is() -> None:
    for text in ("", "a\n\tb", "\u6771\u4eac → é"):
        assert visible(text) is text
    assert visible("a\x1b\u202e\udcff\n") == "a\\u001b\\u202e\\udcff\n"


# --- completion -----------------------------------------------------------------------------------


def offered(line: str, root: Path = FLEET) -> list[str]:
    """The words that a shell shows behind a line."""
    environment = {
        **os.environ,
        "PYTHONPATH": str(ROOT),
        "COMP_LINE": line,
        "COMP_POINT": str(len(line)),
        "_ARGCOMPLETE": "1",
        "_ARGCOMPLETE_SHELL": "bash",
        "_ARGCOMPLETE_IFS": "\n",
        "_ARGCOMPLETE_STDOUT_FILENAME": "/dev/stdout",
    }
    command = [sys.executable, "-m", "foresite"]
    done = subprocess.run(command, cwd=root, env=environment, capture_output=True, check=True)
    assert done.stderr == b""
    return [word.rstrip() for word in done.stdout.decode().split("\n") if word]


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("foresite rec", ["recover"]),
        ("foresite check t", ["tokyo-1", "tsukuba-1"]),
        ("foresite check --format s", ["sarif"]),
        ("foresite new osaka-1 --like l", ["lab-1"]),
        ("foresite explain lab-1 pools.lab.rol", ["role", "rollout", "rollout."]),
        ("foresite explain lab-1 pools.lab.hardware.reimage", ["reimage_minutes"]),
        ("foresite explain lab-1 hosts.lab-1-lab-002.ma", ["mac"]),
        ("foresite explain lab-1 nowhere.x", []),
        ("foresite explain lab-1 pools.lab.spares.", []),
        ("foresite explain lab-1 region.", []),
        ("foresite job lab-1 param", ["parameter-server"]),
        ("foresite job lab-1 --team ", []),
        ("foresite request --event reg", ["regions/"]),
        ("foresite completion z", ["zsh"]),
    ],
)
def test_a_shell_is_offered_what_fits(line: str, words: list[str]) -> None:
    typed = line.rpartition(" ")[2]
    start = typed[: typed.rfind(".") + 1] if " explain " in line else ""
    assert offered(line) == [start + word for word in words]


def test_completion_asks_of_the_named_repository_and_shows_no_nasty_name(tmp_path: Path) -> None:
    (tmp_path / "sites").mkdir()
    for name in ("osaka-1", "a\x1b[31m"):
        (tmp_path / "sites" / f"{name}.yaml").write_text("site: x\n")
    assert offered(f"foresite --root {tmp_path} check ") == ["osaka-1"]
    assert offered("foresite check ", tmp_path) == ["osaka-1"]
    assert offered("foresite explain osaka-1 ", tmp_path) == []


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_the_lines_for_a_shell_are_such(shell: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["completion", shell]) == OK
    said = capsys.readouterr().out
    assert "foresite" in said
    if found := shutil.which(shell):
        subprocess.run([found, "-n"], input=said.encode(), check=True)


def test_bash_completes_a_site() -> None:
    words = "COMP_WORDS=(foresite check lab); COMP_CWORD=2; COMP_LINE='foresite check lab'"
    script = (
        f'foresite() {{ "{sys.executable}" -m foresite "$@"; }}\nsource <(foresite completion bash)'
        f"\n{words}; COMP_POINT=18; COMP_TYPE=9\n_python_argcomplete foresite\n"
        'printf "%s\\n" "${COMPREPLY[@]}"'
    )
    env = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run(
        ["bash", "-c", script], cwd=FLEET, env=env, capture_output=True, text=True, check=True
    )
    assert done.stdout.split() == ["lab-1"]


def test_a_check_imports_nothing_of_completion_and_of_other_formats() -> None:
    code = (
        f"import sys; from foresite.cli import main; main(['--root', {str(FLEET)!r}, 'check']); "
        "print([m for m in sys.modules if m.startswith(('argcomplete', 'foresite.annot'))])"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True
    )
    assert done.stdout.splitlines()[-1] == "[]"
