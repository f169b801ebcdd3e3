"""The remains of a killed run: its lock, and the note of the objects that it was about to make."""

import json
import os
import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest

from foresite.command import UsageError
from foresite.delivery.stack.engine import Engine
from foresite.delivery.stack.engines import engine_for
from tools.toolchain import Origin, Tool, ToolchainError, Version

KEY = ("management", "v1", "ConfigMap", "lab-1", "a")
OTHER = ("management", "v1", "ConfigMap", "lab-1", "b")
THIRD = ("management", "v1", "ConfigMap", "lab-1", "c")


@pytest.fixture
def engine(tmp_path: Path) -> Engine:
    """An engine whose Pulumi does nothing; its backend is a folder."""
    pulumi = tmp_path / "pulumi"
    pulumi.write_text(f'#!/bin/sh\necho "$@" >> {tmp_path}/called\n')
    pulumi.chmod(0o755)
    (tmp_path / "Pulumi.yaml").write_text("name: foresite\n")
    env = {"PULUMI_BACKEND_URL": f"file://{tmp_path}", "PATH": os.environ["PATH"]}
    return Engine(pulumi, env, tmp_path, "lab-1", tmp_path / "notes")


def lock(engine: Engine, pid: int, host: str) -> None:
    folder = engine.program / ".pulumi" / "locks" / "organization" / "foresite" / "lab-1"
    folder.mkdir(parents=True)
    (folder / "x.json").write_text(json.dumps({"pid": pid, "hostname": host}))


def released(engine: Engine) -> bool:
    done = engine.release_dead_lock(lambda _: None)
    called = engine.program / "called"
    assert done == (called.exists() and "cancel" in called.read_text())
    return done


def test_the_lock_of_a_process_that_is_gone_is_released(engine: Engine) -> None:
    process = subprocess.Popen([sys.executable, "-c", ""])
    process.wait()
    lock(engine, process.pid, socket.gethostname())
    assert released(engine)


def test_the_lock_of_a_process_that_waits_to_be_reaped_is_released(engine: Engine) -> None:
    process = subprocess.Popen([sys.executable, "-c", ""])
    until = time.monotonic() + 20
    stat = Path(f"/proc/{process.pid}/stat")
    while stat.exists() and " Z " not in stat.read_text() and time.monotonic() < until:
        time.sleep(0.01)
    lock(engine, process.pid, socket.gethostname())
    assert released(engine) == stat.exists()
    process.wait()


def test_the_lock_of_a_run_that_lives_is_left(engine: Engine) -> None:
    lock(engine, os.getpid(), socket.gethostname())
    assert not released(engine)


def test_the_lock_of_another_machine_is_left(engine: Engine) -> None:
    lock(engine, 1, "another.example")
    assert not released(engine)


def test_what_an_interrupted_run_left_is_named_until_it_is_forgotten(engine: Engine) -> None:
    assert engine.begin([KEY, OTHER]) == []
    assert engine.was_interrupted()
    assert engine.begin([KEY]) == [OTHER]
    assert engine.begin([KEY]) == [OTHER]
    engine.finish()
    assert not engine.was_interrupted()
    assert engine.begin([KEY]) == []


def test_after_a_run_that_passed_only_what_one_before_left_is_noted(engine: Engine) -> None:
    engine.begin([KEY, OTHER])
    engine.finish(engine.begin([KEY]))
    assert engine.noted_objects() == [OTHER]
    assert not engine.was_interrupted()
    assert engine.begin([THIRD]) == [OTHER], "the state knows what was made"
    assert engine.was_interrupted()
    engine.finish([OTHER])
    engine.renote([OTHER, KEY])
    assert not engine.was_interrupted(), "a recovery's note is no run"


def test_a_damaged_note_is_no_traceback(engine: Engine) -> None:
    engine.begin([KEY])
    for path in engine.notes.iterdir():
        path.write_text("{")
    assert engine.begin([KEY]) == []


@pytest.mark.parametrize("found", [None, "cache"])
def test_who_has_no_pulumi_is_told_to_install_it(
    found: str | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Who has Foresite as a wheel has no toolchain to build it with."""
    tool = Tool("pulumi", Version.parse("3.255.0"), tmp_path / "pulumi", Origin.BUILT)

    def locate(_: list[str]) -> dict[str, Tool]:
        if found is None:
            raise ToolchainError("not installed: pulumi 3.255.0", "build it")
        return {"pulumi": tool}

    monkeypatch.setattr("tools.toolchain.locate", locate)
    with pytest.raises(UsageError, match="what to do: install Pulumi"):
        engine_for(tmp_path, None, trial=False)
