"""Objects of a gibibyte, answers that take their time, and the end of an Envoy, by the real one."""

import http.client
import os
import socket
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from components.object_cache.bootstrap import ADMIN_PORT, BUFFER_BYTES, RETRY_BODY_BYTES
from components.object_cache.envoy import DRAIN_SECONDS, drain
from tests.kit.envoy import NEEDS_ENVOY, Envoy
from tests.kit.object_cache_site import PREFIX, bodies, of_hosts, routed, site
from tests.kit.object_cache_upstream import BLOCK, Upstream, upstream

pytestmark = [NEEDS_ENVOY, pytest.mark.cache, pytest.mark.proof]

GIBIBYTE = 1024
"""In blocks of the upstream."""
READERS = 16


@pytest.fixture
def one(tmp_path: Path) -> Iterator[tuple[Envoy, Upstream]]:
    with (
        upstream() as server,
        routed(of_hosts(["node"]), {"node": server.port}, tmp_path) as (envoy, _),
    ):
        yield envoy, server


def link(envoy: Envoy) -> http.client.HTTPConnection:
    return http.client.HTTPConnection("127.0.0.1", envoy.ports["objects"], timeout=120)


def peak(envoy: Envoy) -> int:
    """The most memory that Envoy ever had, in bytes."""
    lines = Path(f"/proc/{envoy.pid}/status").read_text().splitlines()
    (found,) = (line.split()[1] for line in lines if line.startswith("VmHWM:"))
    return int(found) * 1024


@pytest.mark.slow
def test_a_gibibyte_passes_both_ways_in_little_memory(one: tuple[Envoy, Upstream]) -> None:
    envoy, server = one
    before = peak(envoy)
    client = link(envoy)
    client.request(
        "PUT",
        f"{PREFIX}vision/a",
        body=(BLOCK for _ in range(GIBIBYTE)),
        headers={"content-length": str(GIBIBYTE * len(BLOCK))},
    )
    answer = client.getresponse()
    answer.read()
    assert answer.status == 201
    assert server.seen[-1].body == GIBIBYTE * len(BLOCK)
    client.request("GET", f"{PREFIX}vision/a?mebibytes={GIBIBYTE}")
    answer = client.getresponse()
    got = 0
    while part := answer.read(len(BLOCK)):
        got += len(part)
    assert got == GIBIBYTE * len(BLOCK)
    # A connection on each side, and what is kept to send a request again.
    assert peak(envoy) - before < 16 * (2 * BUFFER_BYTES + RETRY_BODY_BYTES)


def test_readers_that_stand_still_hold_no_more_than_their_buffers(
    one: tuple[Envoy, Upstream],
) -> None:
    envoy, _ = one
    before = peak(envoy)
    clients = [link(envoy) for _ in range(READERS)]
    try:
        for client in clients:
            client.request("GET", f"{PREFIX}vision/a?mebibytes=64")
        time.sleep(2)
        assert peak(envoy) - before < 2 * READERS * 2 * BUFFER_BYTES
        for client in clients:
            assert len(client.getresponse().read()) == 64 * len(BLOCK)
    finally:
        for client in clients:
            client.close()


@pytest.mark.slow
def test_an_answer_may_take_half_a_minute(one: tuple[Envoy, Upstream]) -> None:
    """Envoy's own limit for a route is 15 s."""
    client = link(one[0])
    client.request("GET", f"{PREFIX}vision/a?seconds=30&mebibytes=1")
    answer = client.getresponse()
    assert (answer.status, len(answer.read())) == (200, len(BLOCK))


@pytest.mark.parametrize("size", [0, 1000, RETRY_BODY_BYTES // 2, 16 * 2**20])
def test_an_object_for_a_dead_server_is_put_to_another(tmp_path: Path, size: int) -> None:
    """Whatever its size: a refused connection is known before more of the body came than is
    kept."""
    with socket.create_server(("127.0.0.1", 0)) as closed:
        refusing = int(closed.getsockname()[1])
    with (
        upstream() as server,
        routed(of_hosts(["dead", "node"]), {"dead": refusing, "node": server.port}, tmp_path) as (
            envoy,
            _,
        ),
    ):
        client = link(envoy)
        for n in range(20):
            client.request("PUT", f"{PREFIX}vision/{n}", body=bytes(size))
            answer = client.getresponse()
            answer.read()
            assert (n, answer.status) == (n, 201)
        assert [each.body for each in server.seen] == [size] * 20


@pytest.mark.parametrize("method", ["GET", "HEAD", "PUT"])
def test_a_connection_that_is_just_being_closed_costs_no_error(
    one: tuple[Envoy, Upstream], method: str
) -> None:
    """A server closes what was idle for long, and a request may be under way already."""
    envoy, server = one
    client = link(envoy)
    client.request(method, f"{PREFIX}vision/lost", body=b"abc" if method == "PUT" else None)
    answer = client.getresponse()
    answer.read()
    assert answer.status == (201 if method == "PUT" else 200)
    assert [each.method for each in server.seen] == [method]
    assert server.lost


def test_the_hook_before_the_end_asks_clients_to_leave_and_still_serves(
    one: tuple[Envoy, Upstream],
) -> None:
    """The very command of the pods, in bash; only the port is that of this Envoy."""
    envoy, _ = one
    daemon = bodies(site())["DaemonSet/envoy/cpu"]["spec"]["template"]["spec"]
    hook = daemon["containers"][0]["lifecycle"]["preStop"]["exec"]["command"]
    assert hook == ["bash", "-c", drain()]
    command = [part.replace(str(ADMIN_PORT), str(envoy.admin_port)) for part in hook]
    old, slow = link(envoy), link(envoy)
    assert leaving(old) is None
    slow.request("GET", f"{PREFIX}vision/a?seconds=3&mebibytes=8")
    # In a group of its own, as it starts others.
    process = subprocess.Popen(command, stdout=subprocess.PIPE, start_new_session=True)
    try:
        end = time.monotonic() + 30
        while leaving(link(envoy)) != "close":
            assert time.monotonic() < end, "no answer asks to close"
            time.sleep(0.1)
        assert leaving(old) == "close"
        answer = slow.getresponse()
        assert (answer.status, len(answer.read())) == (200, 8 * len(BLOCK))
        assert leaving(link(envoy)) == "close", "new connections are still served"
        assert process.poll() is None, "it waits until the Service sends nothing any more"
    finally:
        os.killpg(process.pid, 9)
        process.communicate()


def leaving(client: http.client.HTTPConnection) -> str | None:
    """The field with which an answer asks the client to close its connection."""
    client.request("GET", f"{PREFIX}vision/a")
    answer = client.getresponse()
    answer.read()
    assert answer.status == 200
    return answer.headers["connection"]


def test_the_pod_has_time_to_drain() -> None:
    pod = bodies(site())["DaemonSet/envoy/cpu"]["spec"]["template"]["spec"]
    assert pod["terminationGracePeriodSeconds"] > DRAIN_SECONDS
