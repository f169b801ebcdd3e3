"""Rounds of the program that gives nodes their turns, as its tests run them."""

import subprocess
import time
from collections.abc import Callable
from pathlib import Path

from components.remediation.names import HELD_LABEL
from tests.kit.remediation_server import SECONDS, SPACE, Server, command

MISSING, HANGS = "accelerator-missing", "kernel-deadlock"
BAD = {"AcceleratorMissing": "True"}
GOOD = {"AcceleratorMissing": "False"}
UNKNOWN = {"AcceleratorMissing": "Unknown"}
VERDICT, ATTEMPTS = 1000, 2


def lines(pools: dict[str, int], percent: int = 100) -> str:
    """The site's lines for pools with a remediator each, of which as many nodes may be out."""
    found = [f"attempts {ATTEMPTS}", "window 3600", f"verdict {VERDICT}", f"percent {percent}"]
    for pool, limit in pools.items():
        found.append(f"healer {pool} all {limit}")
        found.append(f"fault {pool} all {MISSING} AcceleratorMissing")
        found.append(f"fault {pool} all {HANGS} KernelDeadlock")
    return "\n".join(found) + "\n"


def environment(server: Server, text: str) -> dict[str, str]:
    (server.folder / "turns.conf").write_text(text)
    state = server.folder / "state"
    state.mkdir(exist_ok=True)
    return {
        "TURNS_NAMESPACE": SPACE,
        "TURNS_CONFIG": str(server.folder / "turns.conf"),
        "TURNS_STATE": str(state),
    }


def one_round(server: Server, text: str, shell: str = "sh", well: bool = True) -> str:
    """A round with these lines of the site; what it said."""
    done = server.run("turns.sh", shell, TURNS_ONCE="1", **environment(server, text))
    assert (done.returncode == 0) == well, done
    assert not well or not done.stderr, done.stderr
    return done.stdout


def started(server: Server, text: str, script: Path, **more: str) -> subprocess.Popen[bytes]:
    """The program with these lines of the site, in a session of its own."""
    start, path = command("sh", server.folder)
    told = server.environment(path, **{**environment(server, text), **more})
    with open(server.folder / "log", "wb") as log:
        return subprocess.Popen(
            [*start, str(script)], env=told, stdout=log, stderr=log, start_new_session=True
        )


def held(server: Server, space: str = SPACE) -> dict[str, str]:
    """The pools that are held, with what is told of it."""
    path = f"/api/v1/namespaces/{space}/configmaps?labelSelector={HELD_LABEL}"
    found = server.client.request("GET", path)["items"]
    return {each["metadata"]["name"]: each["data"]["reason"] for each in found}


def ago(seconds: int) -> int:
    return int(time.time()) - seconds


def until(done: Callable[[], bool]) -> None:
    end = time.monotonic() + SECONDS
    while not done():
        assert time.monotonic() < end
        time.sleep(0.1)
