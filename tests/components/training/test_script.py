"""The script that runs a job's command, in a real shell: how the command ends, and how it stops."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

from components.training.stopping import (
    GRACE_SECONDS,
    LINGER_SECONDS,
    MARGIN_SECONDS,
    SCRIPT,
    STOPPED,
    script,
    wrap,
)

HANDLES = """
import pathlib, signal, sys, time
def stop(*_):
    time.sleep(0.5)
    pathlib.Path("checkpoint").touch()
    sys.exit(3)
signal.signal(signal.SIGTERM, stop)
print("ready", flush=True)
time.sleep(60)
"""
ENDS_WELL = HANDLES.replace("sys.exit(3)", "sys.exit(0)")
IGNORES = """
import signal, time
signal.signal(signal.SIGTERM, signal.SIG_IGN)
print("ready", flush=True)
time.sleep(60)
"""
KNOWS_NOTHING = "print('ready', flush=True)\nimport time\ntime.sleep(60)"
FAILS = "print('ready', flush=True)\nraise SystemExit(7)"


@contextmanager
def running(
    code: str, patience: int = 30, linger: int = 30, folder: Path | None = None
) -> Iterator[subprocess.Popen[str]]:
    """The script with Python code as its command, once that says that it is ready."""
    command = ["/bin/sh", "-c", script(patience, linger), "job", sys.executable, "-c", code]
    process = subprocess.Popen(
        command, stdout=subprocess.PIPE, text=True, start_new_session=True, cwd=folder
    )
    try:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        yield process
    finally:
        # What the script started goes with it, as it does with a container.
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def test_what_is_run_is_the_script_with_the_times_of_a_pod() -> None:
    assert wrap(["a", "b"]) == ["/bin/sh", "-c", SCRIPT, "job", "a", "b"]
    assert script(GRACE_SECONDS - MARGIN_SECONDS, LINGER_SECONDS) == SCRIPT
    assert 0 < LINGER_SECONDS < GRACE_SECONDS - MARGIN_SECONDS < GRACE_SECONDS


@pytest.mark.parametrize("code", [0, 1, 7, 143])
def test_a_command_ends_with_its_own_code(code: int) -> None:
    command = [sys.executable, "-c", f"raise SystemExit({code})"]
    found = subprocess.run(["/bin/sh", "-c", script(30, 0), "job", *command], check=False)
    assert found.returncode == code


def test_arguments_and_environment_arrive_as_they_are(tmp_path: Path) -> None:
    say = "import os, sys; print(sys.argv[1:], os.environ['RANK'])"
    words = ["a b", "'", "$HOME", "*", ""]
    command = ["/bin/sh", "-c", script(30, 0), "job", sys.executable, "-c", say, *words]
    found = subprocess.run(
        command, check=True, capture_output=True, text=True, env={"RANK": "3"}, cwd=tmp_path
    )
    assert found.stdout.strip() == f"{words} 3"


@pytest.mark.parametrize("code", [HANDLES, ENDS_WELL])
def test_a_command_that_is_stopped_is_waited_for_and_ends_with_143(
    code: str, tmp_path: Path
) -> None:
    with running(code, folder=tmp_path) as process:
        process.send_signal(signal.SIGTERM)
        assert process.wait(20) == STOPPED
        assert (tmp_path / "checkpoint").exists()


def test_a_command_that_knows_no_signals_ends_with_143_too() -> None:
    with running(KNOWS_NOTHING) as process:
        process.send_signal(signal.SIGTERM)
        assert process.wait(20) == STOPPED


def test_a_command_that_does_not_stop_is_ended_before_the_container_is() -> None:
    with running(IGNORES, patience=1) as process:
        process.send_signal(signal.SIGTERM)
        assert process.wait(20) == STOPPED


def test_an_error_is_held_back_so_that_a_gang_s_end_can_overtake_it() -> None:
    with running(FAILS) as process:
        with pytest.raises(subprocess.TimeoutExpired):
            process.wait(1)
        process.send_signal(signal.SIGTERM)
        assert process.wait(20) == STOPPED


def test_an_error_that_nothing_overtakes_is_one() -> None:
    started = time.monotonic()
    with running(FAILS, linger=1) as process:
        assert process.wait(20) == 7
    assert time.monotonic() - started > 1
