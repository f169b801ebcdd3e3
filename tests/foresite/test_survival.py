"""Failures in the middle of ``up``: the real engine and API server, with a proxy that misbehaves.

Each fault ends in success, or in one message and a state from which the same command goes on.
"""

import os
import signal
import threading

import pytest

from controlplane.trial import bring_up
from foresite.cli import main
from foresite.command import FAILED, OK
from foresite.delivery.stack.live import expected_objects
from foresite.delivery.stack.stated import stated_objects
from tests.kit.faulty_api import Fault, Rule, at_random, first_writes, sound, writes
from tests.kit.small_disk import FORESITE, needs_disk, on_disk
from tests.kit.survival_world import CONTEXT, World, wait

pytestmark = [pytest.mark.pulumi, pytest.mark.proof]
HOST = "/apis/metal3.io/v1alpha1/namespaces/{0}/baremetalhosts/{0}-lab-002"
SMALL = "fukui-1"
MERGE = "application/merge-patch+json"


def test_a_second_up_says_who_holds_the_site_and_a_slow_server_is_waited_for(
    survival: World,
) -> None:
    go_on = threading.Event()
    first = first_writes(1, Fault(until=go_on))
    survival.proxy.rule = lambda *request: (
        f if (f := first(*request)).until else Fault(seconds=0.05)
    )
    codes: list[int] = []
    run = ["--root", str(survival.root), "up", "--trial", "atami-1"]
    thread = threading.Thread(target=lambda: codes.append(main(run)))
    thread.start()
    try:
        wait(
            lambda: any(fault.until for _, _, fault in survival.proxy.seen) or not thread.is_alive()
        )
        before = len(survival.proxy.seen)
        code, said = survival.up("atami-1")
        assert code == FAILED, said
        assert "another run works on atami-1: process" in said and "nothing was changed" in said
        assert not any(writes(*each[:2]) for each in survival.proxy.seen[before:])
    finally:
        go_on.set()
        thread.join()
    assert codes == [OK]
    assert survival.apart("atami-1") == []


def test_a_busy_server_is_asked_again_and_what_is_changed_by_hand_is_put_right(
    survival: World,
) -> None:
    survival.proxy.rule = first_writes(6, Fault(status=429, retry_after=1))
    survival.applies("bizen-1")
    assert survival.proxy.faults() == 6
    assert survival.apart("bizen-1") == []

    hand = {"spec": {"online": False, "bootMACAddress": "52:54:00:a1:00:ff"}}
    with survival.plane.client() as client:
        path = HOST.format("bizen-1")
        client.request("PATCH", f"{path}?fieldManager=by-hand", hand, MERGE)
        client.delete("cluster.x-k8s.io/v1beta2", "MachineHealthCheck", "lab", "bizen-1")
    code, said = survival.up("bizen-1")
    assert code == OK
    assert "1 object that the cluster has lost: MachineHealthCheck bizen-1/lab" in said
    (left,) = survival.apart("bizen-1")  # whoever wrote a field may know better
    assert "spec.bootMACAddress" in left and "52:54:00:a1:00:ff" in left
    survival.applies("bizen-1", "--refresh")
    assert survival.apart("bizen-1") == []
    with survival.plane.client() as client:  # whether it is on is a controller's
        assert client.request("GET", path)["spec"]["online"] is False


@pytest.mark.parametrize(
    ("site", "rule"),
    [
        ("choshi-1", at_random(1, 0.3, Fault(cut="before"), Fault(cut="after"))),
        ("date-1", at_random(2, 0.3, Fault(status=500), Fault(status=503))),
    ],
)
def test_after_cut_connections_and_errors_the_same_command_succeeds(
    survival: World, site: str, rule: Rule
) -> None:
    survival.proxy.rule = rule
    code, said = survival.up(site)
    assert survival.proxy.faults() > 0, said
    if code != OK:
        assert code == FAILED and "run the same command again" in said, said
    survival.proxy.rule = sound
    survival.applies(site)
    assert survival.apart(site) == []


def interrupted(survival: World, site: str) -> None:
    """SIGTERM in the middle of a first ``up``: what was made is in the state, no lock is left."""

    def interrupt(method: str, path: str) -> Fault:
        if writes(method, path) and sum(writes(*each[:2]) for each in survival.proxy.seen) == 9:
            os.kill(os.getpid(), signal.SIGTERM)
        return Fault()

    survival.proxy.rule = interrupt
    code, said = survival.up(site)
    assert code == 128 + signal.SIGTERM and "Pulumi ends what it is doing" in said, said
    engine = survival.engine(site)
    assert engine.locks() == [] and list(engine.notes.glob(".*")) == []
    assert 0 < len(stated_objects(engine)) < len(expected_objects(survival.loaded(site))), said


def test_after_a_restart_of_the_server_the_same_command_succeeds(survival: World) -> None:
    interrupted(survival, "esashi-1")
    started: list[threading.Thread] = []

    def restart() -> None:
        survival.plane.stop()
        bring_up(survival.plane.directory, [CONTEXT])

    def rule(method: str, path: str) -> Fault:
        if writes(method, path) and not started:
            started.append(threading.Thread(target=restart))
            started[0].start()
        return Fault()

    survival.proxy.rule = rule
    code, said = survival.up("esashi-1")
    started[0].join()
    if code != OK:
        assert code == FAILED and "run the same command again" in said, said
    survival.applies("esashi-1")
    assert survival.apart("esashi-1") == []


FILL = """
(until [ -e {note} ] && find {state}/.pulumi/locks -name '*.json' | grep -q .; do sleep 0.1; done
head -c 1G /dev/zero > {state}/fill 2> {note}.full) &
{up}; echo code $?; wait; rm {state}/fill
"""
"""Somebody else fills the disk once Pulumi is at work: it has the lock, and saves at the end."""


@needs_disk
def test_up_on_a_disk_that_is_too_small_changes_nothing(survival: World) -> None:
    state = survival.plane.directory / "pulumi"
    up = f"{FORESITE} --root {survival.root} up --trial {SMALL}"
    done = on_disk(state, "96k", f"{up}; echo $?", FORESITE_TRIAL=str(state.parent))
    assert done.stdout.splitlines() == [str(FAILED)], done.stderr
    assert "nothing was changed: no space left on device for the state" in done.stderr
    with survival.plane.client() as client:
        assert client.get("v1", "Namespace", SMALL) is None


@needs_disk
def test_where_the_disk_fills_up_meanwhile_the_way_on_is_named(survival: World) -> None:
    state = survival.plane.directory / "pulumi"
    note = survival.plane.directory / "runs" / "atami-1.running.json"
    note.parent.mkdir(exist_ok=True)
    foresite = f"{FORESITE} --root {survival.root}"
    up = f"{foresite} up --trial atami-1"
    recover = f"{foresite} recover --trial atami-1"
    # Of a site that was applied before: of a first `up` there is no whole state to go back to.
    script = f"{up} >/dev/null && " + "{" + FILL.format(note=note, state=state, up=up) + "}"
    # Where the state is whole after all, the same command goes on; else `recover` says which is.
    script += f"""
    said=$({up} 2>&1 >/dev/null) && echo code 0 && exit
    echo "$said" | grep -o 'foresite recover atami-1'
    {recover} | grep -o 'cp [^ ]* [^ ;,]*' | head -1 > {note}.copy
    bash -e {note}.copy
    {up} >/dev/null; echo code $?"""
    done = on_disk(state, "4m", script, FORESITE_TRIAL=str(state.parent))
    assert "no space left on device" in done.stderr, done.stdout + done.stderr
    assert "pulumi up failed" in done.stderr
    assert "goroutine" not in done.stderr and "Traceback" not in done.stderr
    first, *rest = done.stdout.splitlines()
    assert first == f"code {FAILED}"
    assert rest in (["code 0"], ["foresite recover atami-1", "code 0"]), done.stderr
    assert survival.apart("atami-1") == []  # the state went with that disk, and the objects stay
