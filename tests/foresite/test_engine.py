"""The remains of a killed run: its lock, and the note of the objects that it was about to make."""

import json
import os
import socket
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import pytest

from foresite.command import UsageError
from foresite.delivery.stack.engine import Engine
from foresite.delivery.stack.engines import engine_for
from foresite.delivery.stack.register import _recovery_advice
from foresite.delivery.stack.statefile import without_password
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
    folder.mkdir(parents=True, exist_ok=True)
    (folder / f"{len([*folder.iterdir()])}.json").write_text(
        json.dumps({"pid": pid, "hostname": host})
    )


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
    """And one with a number that no process has."""
    for pid in (os.getpid(), 10**30):
        lock(engine, pid, socket.gethostname())
        assert not released(engine)


def test_with_a_dead_lock_that_of_another_run_is_not_taken_away(engine: Engine) -> None:
    """In whichever order they are read: Pulumi cancels all locks of a stack at once."""
    process = subprocess.Popen([sys.executable, "-c", ""])
    process.wait()
    lock(engine, process.pid, socket.gethostname())
    lock(engine, 1, "another.example")
    lock(engine, process.pid, socket.gethostname())
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


SAID = """
error: the stack is currently locked by 1 lock(s). Either wait for the other process(es) to end or
  postgres://ops:secret@db/x.json: created by ci@{host} (pid {pid}) at 2030-11-22T08:45:09Z
"""


@pytest.fixture(params=["s3://states", "gs://states", "azblob://states", "postgres://db/states"])
def shared(request: pytest.FixtureRequest, engine: Engine) -> Engine:
    """An engine whose Pulumi finds its stack locked, in a store that many machines reach."""
    said = SAID.format(host=socket.gethostname(), pid=2**22 + 1)
    (engine.program / "said").write_text(said)
    engine.pulumi.write_text(f'#!/bin/sh\necho "$@" >> {engine.program}/called\n'
                             f"cat {engine.program}/said >&2; exit 255\n")  # fmt: skip
    return replace(engine, environment={**engine.environment, "PULUMI_BACKEND_URL": request.param})


def test_of_a_shared_store_no_lock_is_taken_for_dead(shared: Engine) -> None:
    """Though no process of that number lives on this host, and the lock is of the future."""
    said: list[str] = []
    assert not shared.release_dead_lock(said.append)
    name = f"{2**22 + 1}@{socket.gethostname()}@2030-11-22T08:45:09Z"
    assert f"foresite recover lab-1 --take-over {name}" in said[0]
    assert "cancel" not in (shared.program / "called").read_text()
    assert shared.locks(ask=False) == []


def test_a_password_in_the_url_of_a_database_is_not_repeated(shared: Engine) -> None:
    assert "ops:***@db" in shared.run("x").stderr
    # As it may be written, with characters that have a meaning in a URL.
    assert without_password("postgres://ops:s/e@c@db/x of a@b") == "postgres://ops:***@db/x of a@b"
    lines: list[str] = []
    shared.follow(["x"], lines.append)
    assert "secret" not in "\n".join([*lines, shared.log.read_text()])


def test_who_is_refused_by_a_lock_is_told_whose_it_is(shared: Engine) -> None:
    advice = _recovery_advice(shared, SAID.format(host="runner-3", pid=4711).splitlines())
    assert "process 4711@runner-3 of" in advice
    assert "--take-over 4711@runner-3@2030-11-22T08:45:09Z" in advice


@pytest.mark.parametrize("url", ["s3:/states", "ftp://states", "S3://states", "states"])
def test_an_address_that_is_no_backend_is_refused(
    url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Pulumi would ask it for a login, with the access token of its own service."""
    tool = Tool("pulumi", Version.parse("3.255.0"), tmp_path / "pulumi", Origin.INSTALLED)
    monkeypatch.setattr("tools.toolchain.locate", lambda _: {"pulumi": tool})
    monkeypatch.setenv("PULUMI_BACKEND_URL", url)
    with pytest.raises(UsageError, match="PULUMI_BACKEND_URL begins with none of file://"):
        engine_for(tmp_path, None, trial=False)
