"""Disturbances of the program for repair slots: it is killed, others write, the API server is
gone."""

import itertools
from collections.abc import Iterator
from http import HTTPStatus
from pathlib import Path
from urllib.request import urlopen

import pytest
from node_repair.cluster import Cluster
from node_repair.lease import Lease

from components.remediation.names import TURNS, settings_of
from components.remediation.rights import rights
from controlplane import ControlPlane
from controlplane.ports import free_port
from controlplane.server import Binaries
from tests.kit.remediation_rounds import (
    BAD,
    GOOD,
    MISSING,
    Hooked,
    ago,
    held,
    lines,
    one_round,
    started,
)
from tests.kit.remediation_server import SECONDS, Server, serving
from tests.kit.repository import all_sites
from tests.kit.waiting import until
from tools.toolchain import locate

pytestmark = [pytest.mark.controlplane, pytest.mark.proof]


def test_what_changed_since_it_was_seen_is_left_to_the_next_round(server: Server) -> None:
    """Here a person cordons the node between the look at it and the patch."""
    server.node("n", "a", BAD)

    def cordon(method: str, _: str) -> None:
        if method == "PATCH":
            server.patch("n", {"spec": {"unschedulable": True}})

    told = one_round(
        server, lines({"a": 1}), well=False, cluster=Hooked(server.plane.kubeconfig(), cordon)
    )
    assert "not done" in told
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
        left = itertools.count(changes, -1)

        def kill(method: str, _: str, left: Iterator[int] = left) -> None:
            if method == "PATCH" and not next(left):
                raise KeyboardInterrupt

        with pytest.raises(KeyboardInterrupt):
            one_round(server, text, cluster=Hooked(server.plane.kubeconfig(), kill))
        assert state() != expected
        one_round(server, text)
        assert state() == expected


def test_the_loop_outlasts_the_api_server(tmp_path: Path) -> None:
    """Here on a server of its own, as that goes away and comes again."""
    with serving(tmp_path) as server:
        server.node("n", "a", BAD)
        port = free_port()
        with started(server, lines({"a": 1}), PORT=str(port)) as loop:
            until(lambda: bool(server.turns()))
            until(lambda: metric(port, 'rounds_total{result="good"}') > 0)
            assert probe(port, "healthz") == probe(port, "readyz") == HTTPStatus.OK
            _stop(server.plane)
            until(lambda: metric(port, 'rounds_total{result="failed"}') > 0)
            assert loop.poll() is None
            _start(server.plane)
            server.condition("n", **GOOD)
            until(lambda: not server.turns())


def test_one_of_two_leads_and_the_other_takes_over(server: Server) -> None:
    """Without waiting where the leader ends as it is told."""
    server.node("n", "a", BAD)
    with started(server, lines({"a": 1}), HOSTNAME="one") as first:
        until(lambda: bool(server.turns()))
        with started(server, lines({"a": 1}), HOSTNAME="two"):
            assert server.holder() == "one"
            first.terminate()
            assert first.wait(SECONDS) == 0
            server.condition("n", **GOOD)
            until(lambda: not server.turns())
            assert server.holder() == "two"
    assert server.holder() == ""


def probe(port: int, path: str) -> int:
    with urlopen(f"http://127.0.0.1:{port}/{path}") as answer:
        return int(answer.status)


def metric(port: int, name: str) -> float:
    with urlopen(f"http://127.0.0.1:{port}/metrics") as answer:
        lines = answer.read().decode().splitlines()
    found = [line for line in lines if line.startswith(f"node_repair_{name} ")]
    return float(found[0].rpartition(" ")[2]) if found else 0.0


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
    account = Cluster(str(server.as_account(space, TURNS)))
    text = lines({"v100": 1, "a100": 1})
    one_round(server, text, cluster=account, space=space)
    assert set(server.turns()) == {"n2", "b0"}
    for percent, expected in ((50, {"turns-held-v100", "turns-held-a100"}), (100, set())):
        text = lines({"v100": 1, "a100": 1}, percent=percent)
        one_round(server, text, cluster=account, space=space)
        assert set(held(server, space)) == expected
    lease = Lease(account, space, TURNS, "one")
    assert lease.hold() and lease.hold()
    lease.release()
