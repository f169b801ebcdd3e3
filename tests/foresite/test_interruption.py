"""Ctrl-C, SIGTERM and SIGHUP while Pulumi is at work: it ends first, and nothing of it stays."""

import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from foresite.delivery.stack.engine import Engine
from tests.kit.repository import ROOT
from tests.kit.survival_world import wait

_FAKE_PULUMI = f"""#!{sys.executable}
# A fake Pulumi: says that it works, until SIGINT, at which it saves; or until it may go on.
import os, signal, sys, time
from pathlib import Path

folder = Path(__file__).parent

def saves(*_):
    print("saving" * 100_000, flush=True)  # more than a pipe holds: somebody reads it
    with open(folder / "saved", "a") as file:
        file.write("once ")
    if not (folder / "deaf").exists():
        sys.exit(1)

signal.signal(signal.SIGINT, saves)
(Path(os.environ["TMPDIR"]) / "kubeconfig").write_text("secret")
(folder / "works").write_text(str(os.getpid()))
while not (folder / "go").exists():
    time.sleep(0.01)
with open(folder / "saved", "a") as file:
    file.write("whole ")
"""
_COMMAND = """
import signal, sys
from pathlib import Path

from foresite import cli, interruption
from foresite.commands import check
from foresite.delivery.stack.engine import Engine

ignored, folder, how, seconds, *words = sys.argv[1:]
# A shell's background and nohup ignore some, and whoever they run inherits that.
for each in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
    signal.signal(each, signal.SIG_IGN if each.name == ignored else signal.SIG_DFL)
folder = Path(folder)
interruption._ONE = float(seconds)
engine = Engine(folder / "pulumi", {}, folder, "lab-1", folder / "notes")

def command(_):
    engine.follow(words, lambda line: None) if how == "follow" else engine.run(*words)
    return 0

check.run = command
sys.exit(cli.main(["check"]))
"""
AT_ONCE, NEVER = "0", "3600"
"""After how many seconds a second signal is a second one."""


class Command:
    """A command of ours that runs a fake Pulumi."""

    def __init__(self, folder: Path, process: subprocess.Popen[str]) -> None:
        self.folder = folder
        self.process = process

    def send(self, number: int) -> None:
        """A signal as a terminal sends it: to the whole group of the command."""
        os.killpg(self.process.pid, number)

    def says(self, text: str) -> None:
        assert self.process.stderr is not None
        line = ""
        while text not in line:
            line = self.process.stderr.readline()
            assert line, f"it ended without saying {text}"

    def ends(self, code: int) -> None:
        """With this code, and nothing is left of what it ran."""
        _, said = self.process.communicate(timeout=120)
        assert self.process.returncode == code, said
        assert "Traceback" not in said
        assert [path.name for path in (self.folder / "notes").glob(".*")] == []
        with pytest.raises(ProcessLookupError):
            os.kill(int((self.folder / "works").read_text()), 0)

    def saved(self) -> str:
        path = self.folder / "saved"
        return path.read_text() if path.exists() else ""


@contextmanager
def at_work(folder: Path, *words: str, ignored: str = "") -> Iterator[Command]:
    pulumi = folder / "pulumi"
    pulumi.write_text(_FAKE_PULUMI)
    pulumi.chmod(0o755)
    with subprocess.Popen(
        [sys.executable, "-c", _COMMAND, ignored, str(folder), *words],
        cwd=ROOT, stderr=subprocess.PIPE, text=True, start_new_session=True,
    ) as process:  # fmt: skip
        works = folder / "works"

        def gives_up() -> None:
            """Both have the pipe, so that a test would wait for ever for what they say."""
            process.kill()
            if works.exists():
                os.kill(int(works.read_text()), signal.SIGKILL)

        late = threading.Timer(120, gives_up)
        late.start()
        try:
            wait(lambda: (works.exists() and works.read_text() != "") or process.poll() is not None)
            assert list((folder / "notes").glob(".lab-1.temporary.foresite-*/kubeconfig"))
            yield Command(folder, process)
        finally:
            late.cancel()
            process.kill()


@pytest.mark.parametrize(
    ("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143), (signal.SIGHUP, 129)]
)
@pytest.mark.parametrize("words", [("follow", AT_ONCE, "up"), ("run", AT_ONCE, "refresh")])
def test_what_is_interrupted_ends_saves_and_leaves_no_credential(
    tmp_path: Path, words: tuple[str, ...], number: int, code: int
) -> None:
    with at_work(tmp_path, *words) as command:
        command.send(number)
        command.says("interrupted: Pulumi ends what it is doing")
        command.ends(code)
        assert command.saved() == "once "


def test_a_signal_that_comes_twice_at_once_is_one(tmp_path: Path) -> None:
    """As timeout(1) sends it."""
    with at_work(tmp_path, "follow", NEVER, "up") as command:
        for _ in range(5):
            command.send(signal.SIGTERM)
        command.ends(143)
        assert command.saved() == "once "


@pytest.mark.parametrize("second", [signal.SIGINT, signal.SIGTERM])
def test_a_second_signal_kills(tmp_path: Path, second: int) -> None:
    (tmp_path / "deaf").touch()
    with at_work(tmp_path, "follow", AT_ONCE, "up") as command:
        command.send(signal.SIGINT)
        wait(lambda: command.saved() == "once ")
        command.send(second)
        command.ends(130)
        assert command.saved() == "once "


def test_what_would_die_of_it_half_written_is_waited_for(tmp_path: Path) -> None:
    with at_work(tmp_path, "run", AT_ONCE, "stack", "import") as command:
        command.send(signal.SIGINT)
        command.says("interrupted")
        (tmp_path / "go").touch()
        command.ends(130)
        assert command.saved() == "whole "


def test_a_hang_up_that_is_ignored_stays_so(tmp_path: Path) -> None:
    """As nohup(1) asks for."""
    with at_work(tmp_path, "follow", AT_ONCE, "up", ignored="SIGHUP") as command:
        command.send(signal.SIGHUP)
        (tmp_path / "go").touch()
        command.ends(0)
        assert command.saved() == "whole "


# --- a log that cannot be written -----------------------------------------------------------------


def test_a_disk_that_is_too_full_for_the_log_stops_no_run(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The fake Pulumi writes much more than is held back before it is written."""
    pulumi = tmp_path / "pulumi"
    pulumi.write_text("#!/bin/sh\nset -e\nfor i in $(seq 5000); do echo line $i; done\necho done\n")
    pulumi.chmod(0o755)
    engine = Engine(pulumi, {"PATH": os.environ["PATH"]}, tmp_path, "lab-1", tmp_path / "notes")
    engine.notes.mkdir()
    engine.log.symlink_to("/dev/full")
    lines: list[str] = []
    assert engine.follow(["up"], lines.append) == 0
    assert len(lines) == 5001 and lines[-1] == "done"
    said = capsys.readouterr().err
    assert said.count("lab-1.log is not whole: No space left on device") == 1
