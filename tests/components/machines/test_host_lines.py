"""Lines of a shell that a site brings: none of them swallows or ends what stands behind it."""

import subprocess

import pytest

from components.machines.host_settings import after_join, before_join
from schemas.model.host_settings import HostSettings

FAULTS = (
    "if test -d /; then echo hi", "for i in 1 2; do echo $i", "( cd /", "{ echo hi;", "echo hi; }",
    "case x in a) echo;;", "echo `date", "echo $(date", "fi", ")", "; echo", "echo hi;;", "false",
    "test -e / | | x", "echo (a)", "set -e; false", ". /etc/missing.sh", "echo ${X:?no}", "exit 1",
    "shift 3", "export 1x=2", "kill $$", "trap 'exit 1' EXIT", "echo 'a", "test -e / && # later",
    "cat << END; false", "exec false", "return 1",
)  # fmt: skip
HARMLESS = ("set -e", "cd /; exit", "echo $(echo 'it is')", "exec true", "false || true", "a=1 #")


def run(lines: list[str], *late: str) -> tuple[int, list[str], str]:
    """The end, output and errors of cloud-init's script: each command as it is (shellify)."""
    commands = before_join(HostSettings(before_join=lines))
    commands += ["echo joined", *after_join(HostSettings(after_join=list(late))), "echo end"]
    text = "\n".join(["#!/bin/sh", *commands, ""])
    done = subprocess.run(["sh"], input=text, capture_output=True, text=True, check=False)
    return done.returncode, done.stdout.splitlines(), done.stderr


@pytest.mark.parametrize("line", FAULTS)
def test_a_line_that_fails_stops_the_join_and_says_so(line: str) -> None:
    code, said, errors = run(["true", line, "echo later"])
    assert (code, {"joined", "later"} & {*said}) == (1, set())
    assert "Foresite: before_join[1] failed" in errors


@pytest.mark.parametrize("line", FAULTS)
def test_a_line_after_the_join_that_fails_is_logged_alone(line: str) -> None:
    code, said, errors = run([], line, "echo later")
    assert (code, said[0], said[-2:]) == (0, "joined", ["later", "end"])
    assert "Foresite: after_join[0] failed" in errors


@pytest.mark.parametrize("line", HARMLESS)
def test_a_line_leaves_the_next_ones_their_shell(line: str) -> None:
    code, said, errors = run([line, "echo later"])
    assert (code, said[-3:], errors) == (0, ["later", "joined", "end"], "")
