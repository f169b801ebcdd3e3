"""Disturbances of the program for repair slots: it is killed, others write, the API server is
gone."""

import os
import signal
from dataclasses import replace
from pathlib import Path

import pytest

from components.remediation.names import TURNS, settings_of
from components.remediation.reboot import SCRIPTS
from components.remediation.rights import rights
from controlplane import ControlPlane
from controlplane.server import Binaries
from tests.kit.remediation_rounds import (
    BAD,
    GOOD,
    MISSING,
    ago,
    environment,
    held,
    lines,
    one_round,
    started,
    until,
)
from tests.kit.remediation_server import SECONDS, Server, serving
from tests.kit.repository import all_sites
from tools.toolchain import locate

pytestmark = [pytest.mark.controlplane, pytest.mark.proof]


@pytest.fixture(scope="module")
def shared(repairs: Server, tmp_path_factory: pytest.TempPathFactory) -> Server:
    return replace(repairs, folder=tmp_path_factory.mktemp("turns"))


@pytest.fixture
def server(shared: Server) -> Server:
    shared.clear()
    return shared


def test_what_changed_since_it_was_seen_is_left_to_the_next_round(server: Server) -> None:
    """Here a person cordons the node between the look at it and the patch."""
    server.node("n", "a", BAD)
    wrapper = server.folder / "kubectl-slow"
    patch = '{"spec":{"unschedulable":true}}'
    wrapper.write_text(
        f"#!/bin/sh\n[ $1 = patch ] && {server.kubectl} patch node n -p '{patch}' >/dev/null\n"
        f'exec {server.kubectl} "$@"\n'
    )
    wrapper.chmod(0o755)
    told = environment(server, lines({"a": 1}))
    done = server.run("turns.sh", TURNS_ONCE="1", **told, KUBECTL=str(wrapper))
    assert done.returncode == 1 and "not done" in done.stdout
    assert not server.turns()


def test_a_round_killed_in_its_middle_is_finished_by_the_next(server: Server) -> None:
    """Killed after each number of changes, it ends where an undisturbed one does."""
    text = lines({"a": 2})
    names = [f"n{number}" for number in range(4)]

    def fresh() -> None:
        server.clear()
        for name in names:
            server.node(name, "a", BAD)
        server.annotate("n0", reboots=f"{ago(20)},{ago(10)}")

    def state() -> list[object]:
        return [server.turns(), *(server.taints(name) for name in names)]

    fresh()
    one_round(server, text)
    expected = state()
    assert expected[0] == {"n1": MISSING, "n2": MISSING}
    for changes in range(len(names)):
        fresh()
        _kill_after(server, text, changes)
        assert state() != expected
        one_round(server, text)
        assert state() == expected


def _kill_after(server: Server, text: str, changes: int) -> None:
    """A round that is killed when it wants to make one change more."""
    stop, count = server.folder / "stop", server.folder / "count"
    stop.unlink(missing_ok=True)
    count.write_text("")
    wrapper = server.folder / "kubectl-stops"
    wrapper.write_text(
        f"#!/bin/sh\nif [ $1 = patch ]; then\n  [ $(wc -c <{count}) -ge {changes} ] && "
        f"{{ : >{stop}; sleep 600; }}\n  printf x >>{count}\nfi\n"
        f'exec {server.kubectl} "$@"\n'
    )
    wrapper.chmod(0o755)
    loop = started(server, text, SCRIPTS / "turns.sh", TURNS_ONCE="1", KUBECTL=str(wrapper))
    try:
        until(stop.exists)
    finally:
        os.killpg(loop.pid, signal.SIGKILL)
        loop.wait()


def test_the_loop_outlasts_the_api_server(tmp_path: Path) -> None:
    """Here on a server of its own, as that goes away and comes again."""
    with serving(tmp_path) as server:
        server.node("n", "a", BAD)
        loop = started(server, lines({"a": 1}), SCRIPTS / "turns.sh", TURNS_INTERVAL="1")
        alive, good = (tmp_path / "state" / name for name in ("alive", "good"))
        try:
            until(lambda: bool(server.turns()))
            _stop(server.plane)
            fails = good.read_text() if good.exists() else ""
            until(lambda: _later(alive, good))
            assert loop.poll() is None
            _start(server.plane)
            server.condition("n", **GOOD)
            until(lambda: not server.turns())
            until(lambda: good.exists() and good.read_text() > fails)
        finally:
            loop.terminate()
            assert loop.wait(SECONDS) == 0


def _later(alive: Path, good: Path) -> bool:
    """True if rounds go on, and fail."""
    return alive.exists() and good.exists() and alive.read_text() > good.read_text()


def _stop(plane: ControlPlane) -> None:
    plane.stop()


def _start(plane: ControlPlane) -> None:
    tools = locate(["controlplane"])
    plane.start(Binaries(tools["etcd"].path, tools["kube-apiserver"].path))


def test_its_account_may_do_what_it_does(server: Server) -> None:
    site = all_sites()["tokyo-1"]
    space = settings_of(site).namespace
    for name in (space, site.name):
        server.client.apply({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}})
    for each in rights(site):
        server.client.apply(each.body)
    server.node("n1", "v100", BAD)
    server.node("n2", "v100", BAD)
    server.pod("on-n1", "n1")
    server.node("n3", "v100", BAD)
    for number in range(3):
        server.node(f"b{number}", "a100", BAD)
    told = environment(server, lines({"v100": 1, "a100": 1}))
    told |= {"TURNS_NAMESPACE": space, "KUBECONFIG": str(server.as_account(space, TURNS))}
    done = server.run("turns.sh", TURNS_ONCE="1", **told)
    assert done.returncode == 0, done
    assert set(server.turns()) == {"n2", "b0"}
    for percent, expected in ((50, {"turns-held-v100", "turns-held-a100"}), (100, set())):
        (server.folder / "turns.conf").write_text(lines({"v100": 1, "a100": 1}, percent=percent))
        done = server.run("turns.sh", TURNS_ONCE="1", **told)
        assert done.returncode == 0, done
        assert set(held(server, space)) == expected
