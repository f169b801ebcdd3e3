"""The reboot of a host, when its pod is started again, or the repair is called off."""

import time

import pytest
from node_repair.names import HISTORY

from components.making.faults import TURN_LABEL
from tests.kit.remediation_host import (
    ASKED,
    HOST,
    MARK,
    NODE,
    SITE,
    Rebooting,
    boots,
    delete_job,
    host,
    make,
    make_job,
    meanwhile,
    outcome,
    patch_host,
    rebooting,
    run,
    told,
    until_asked,
)
from tests.kit.remediation_rounds import ago
from tests.kit.remediation_server import SECONDS, Server

pytestmark = [pytest.mark.controlplane, pytest.mark.proof]


@pytest.mark.parametrize("step", ["before all", "counted", "asked", "off", "back"])
def test_a_pod_that_is_started_again_goes_on(server: Server, step: str) -> None:
    """Killed at any step, the reboot is asked for once, and counted once."""
    make(server)
    when = ago(30)
    noted = {"reboot": f"job-1,boot-1,{when},asked", "reboots": str(when)}
    if step != "before all":
        server.annotate(NODE, **noted)
    if step in ("asked", "off", "back"):
        patch_host(server, {MARK: "job-1"})
    if step == "asked":
        patch_host(server, {ASKED: '{"mode":"hard"}'})
    if step == "back":
        server.boot(NODE, "boot-2")
    with rebooting(server) as process:
        if step in ("before all", "counted"):
            until_asked(server, process)
        elif step in ("asked", "off"):
            goes_on(server, process)
            assert (ASKED in host(server)) == (step == "asked")
        boots(server)
        assert process.wait(SECONDS) == 0
    assert outcome(server) == "done"
    assert (server.note(NODE, "reboots") or "").count(",") == 0
    assert step == "before all" or server.note(NODE, "reboots") == str(when)


def goes_on(server: Server, process: Rebooting) -> None:
    """Wait until it has read the host, and looked at the node after that."""
    end = time.monotonic() + SECONDS

    def looked() -> bool:
        paths = [path for _, path in process.calls]
        hosts = [number for number, path in enumerate(paths) if "baremetalhosts" in path]
        return any("/nodes/" in path for path in paths[hosts[0] :]) if hosts else False

    while not looked():
        assert process.poll() is None and time.monotonic() < end
        time.sleep(0.1)


def test_one_that_is_done_is_done(server: Server) -> None:
    note = f"job-1,boot-0,{ago(30)},late"
    make(server, reboot=note)
    assert run(server) == "late"
    assert server.note(NODE, "reboot") == note and not host(server)


def test_an_operation_of_its_own_asks_again(server: Server) -> None:
    make(server, reboot=f"job-1,boot-0,{ago(900)},done", reboots=str(ago(900)))
    patch_host(server, {MARK: "job-1"})
    with rebooting(server, operation="job-2") as process:
        until_asked(server, process)
        boots(server)
        assert process.wait(SECONDS) == 0
    assert outcome(server, "job-2") == "done"
    assert (server.note(NODE, "reboots") or "").count(",") == 1


@pytest.mark.parametrize("gone", ["Job", "turn"])
def test_a_repair_that_is_called_off_takes_the_request_back(server: Server, gone: str) -> None:
    make(server)
    operation = make_job(server)
    with rebooting(server, operation=operation, POLL_SECONDS="600") as process:
        until_asked(server, process)
        if gone == "Job":
            delete_job(server)
        else:
            server.patch(NODE, {"metadata": {"labels": {TURN_LABEL: None}}})
        process.terminate()
        assert process.wait(SECONDS) == 0
    assert not host(server)


def test_the_job_of_a_pod_that_is_evicted_is_not_complete(server: Server) -> None:
    """Another pod is started only where this one failed, and it goes on."""
    make(server)
    operation = make_job(server)
    with rebooting(server, operation=operation) as process:
        until_asked(server, process)
        process.terminate()
        assert process.wait(SECONDS) == 1
    before, asked = host(server), {ASKED: '{"mode":"hard"}', MARK: operation}
    assert before == {**asked, HISTORY: before[HISTORY]}
    # It is started again when its node is back.
    boots(server)
    with rebooting(server, operation=operation) as process:
        assert process.wait(SECONDS) == 0
    assert outcome(server, operation) == "done"
    assert server.note(NODE, "history") == host(server)[HISTORY] == before[HISTORY]
    assert (server.note(NODE, "reboots") or "").count(",") == 0


@pytest.mark.parametrize("silent", ["management cluster", "API server"])
def test_a_pod_that_is_evicted_while_nobody_answers(
    server: Server, silent: str, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("INFO", "node_repair")
    make(server)
    operation = make_job(server)
    nowhere = server.folder / "nowhere.kubeconfig"
    nowhere.write_text(server.plane.kubeconfig().read_text().replace("127.0.0.1", "127.0.0.254"))
    name = "KUBECONFIG" if silent == "API server" else "MANAGEMENT_KUBECONFIG"
    with rebooting(server, operation=operation, **{name: str(nowhere)}) as process:
        end = time.monotonic() + SECONDS
        while f"the {silent} does not answer" not in caplog.text:
            assert process.poll() is None and time.monotonic() < end
            time.sleep(0.1)
        process.terminate()
        assert process.wait(SECONDS) == 1


def test_a_turn_that_was_lost_while_no_pod_ran_takes_the_request_back(server: Server) -> None:
    make(server, reboot=f"job-1,boot-1,{ago(30)},asked")
    patch_host(server, {MARK: "job-1", ASKED: '{"mode":"hard"}'})
    server.patch(NODE, {"metadata": {"labels": {TURN_LABEL: None}}})
    assert run(server) == "asked"
    assert not host(server)


def test_a_node_that_goes_while_its_container_is_started_again(server: Server) -> None:
    """Nothing but the pod itself knows the host any more."""
    make(server)
    with rebooting(server) as process:
        until_asked(server, process)
    server.client.delete("v1", "Node", NODE)
    assert Rebooting(told(server, 7200), lambda _method, _path: None).wait() == 0
    assert not host(server)


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        (["patch", '-p={"spec":{"consumerRef":{"name":"another"}}}'], "refused-other-machine"),
        (["patch", '-p={"spec":{"consumerRef":null}}'], "refused-other-machine"),
        (["delete"], "refused-no-host"),
    ],
)
def test_a_host_that_is_given_away_meanwhile(
    server: Server, change: list[str], expected: str
) -> None:
    """It is looked at again before the request is made anew."""
    make(server)
    verb, *more = change
    more += ["--type=merge"] if verb == "patch" else []
    call = [verb, "baremetalhosts.metal3.io", HOST, "-n", SITE, *more]
    between = meanwhile(server, "baremetalhosts", *call)
    assert run(server, before=between) == expected
    if verb == "patch":
        assert not host(server)


@pytest.mark.parametrize(
    ("written", "kept", "expected"),
    [(None, 0, "late"), ("{0}", 1, "late"), ("{0},{1}", 2, "refused-attempts")],
)
def test_a_count_that_changes_meanwhile_is_read_again(
    server: Server, written: str | None, kept: int, expected: str
) -> None:
    """As when a person lets the node in again, which forgets them, or another turn counts."""
    make(server, reboots=str(ago(600)))
    times = [str(ago(500)), str(ago(400))]
    text = "null" if written is None else f'"{written.format(*times)}"'
    patch = f'-p={{"metadata":{{"annotations":{{"remediation.foresite.dev/reboots":{text}}}}}}}'
    call = ["patch", "node", NODE, "--type=merge", patch]
    assert run(server, seconds=1, before=meanwhile(server, "/nodes/", *call)) == expected
    found = (server.note(NODE, "reboots") or "").split(",")
    assert found[:kept] == times[:kept]
    assert len(found) == kept + (expected == "late")


def test_the_request_of_somebody_else_stays(server: Server) -> None:
    make(server)
    with rebooting(server) as process:
        until_asked(server, process)
        patch_host(server, {MARK: "job-2"})
        process.terminate()
        assert process.wait(SECONDS) == 0
    assert ASKED in host(server)


def test_a_node_that_goes_while_it_is_rebooted(server: Server) -> None:
    """A rollout deletes the machine: the host is not to be rebooted under its next system."""
    make(server)
    with rebooting(server) as process:
        until_asked(server, process)
        server.client.delete("v1", "Node", NODE)
        assert process.wait(SECONDS) == 0
    assert not host(server)
