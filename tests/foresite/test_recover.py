"""The findings of ``foresite recover``, and the objects that it breaks, deletes and leaves.

Pulumi and the look into the clusters are fakes here; the real ones are in test_recover_kills.py.
"""

import json
import os
import socket
import subprocess
import sys
from collections.abc import Callable
from datetime import UTC, datetime, timedelta

import pytest

from components.making.manifest import FIELD_MANAGER, Json
from foresite.command import FOUND, OK, UsageError
from foresite.delivery.stack.engine import lock_site
from foresite.delivery.stack.locks import parse_locks
from tests.kit.recover_world import SITE, World, acted, copied, step

SINCE = "2026-11-22T08:45:09.123456789Z"
NAME = "4711@runner-3@2026-11-22T08:45:09Z"


def lock(world: World, pid: int, host: str, since: str = "", *, project: str = "foresite") -> None:
    folder = world.folder / ".pulumi" / "locks" / "organization" / project / SITE
    folder.mkdir(parents=True, exist_ok=True)
    since = since or datetime.now(UTC).isoformat()
    content = {"pid": pid, "hostname": host, "username": "ops", "timestamp": since}
    (folder / f"{pid}.json").write_text(json.dumps(content))


def dead() -> int:
    """The id of a process that is gone."""
    process = subprocess.Popen([sys.executable, "-c", ""])
    process.wait()
    return process.pid


# --- locks ----------------------------------------------------------------------------------------


def test_a_site_that_is_sound_is_read_anew_and_left_as_it_is(
    recovery: World, monkeypatch: pytest.MonkeyPatch, recovered: Callable[[], Json]
) -> None:
    assert recovery.recover(monkeypatch) == OK
    said = recovered()
    assert (said["found"], said["left"], said["next"]) == ([], [], [])
    assert [each.split()[0] for each in acted(recovery)] == ["refresh"]


def test_the_lock_of_a_run_that_is_gone_is_released_first(
    recovery: World, monkeypatch: pytest.MonkeyPatch, recovered: Callable[[], Json]
) -> None:
    lock(recovery, dead(), socket.gethostname())
    assert recovery.recover(monkeypatch) == OK
    assert "it is gone" in recovered()["found"][0]
    assert [each.split()[0] for each in acted(recovery)] == ["cancel", "refresh"]


@pytest.mark.parametrize("take_over", ["", NAME.replace("runner-3", "x"), NAME.replace("8", "9")])
def test_the_lock_of_another_host_is_not_broken_by_chance(
    recovery: World, monkeypatch: pytest.MonkeyPatch, take_over: str
) -> None:
    """Also where a later run has its process and host: the next container of that name."""
    lock(recovery, 4711, "runner-3", SINCE)
    with pytest.raises(UsageError, match=f"--take-over {NAME}"):
        recovery.recover(monkeypatch, take_over=take_over)
    assert recovery.calls == []


def test_the_lock_of_another_project_is_not_looked_at(
    recovery: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    lock(recovery, 4711, "runner-3", project="another")
    assert recovery.recover(monkeypatch) == OK
    assert [each.split()[0] for each in acted(recovery)] == ["refresh"]


def test_a_lock_that_is_named_is_broken(recovery: World, monkeypatch: pytest.MonkeyPatch) -> None:
    lock(recovery, 4711, "runner-3", SINCE)
    assert recovery.recover(monkeypatch, take_over=NAME) == OK
    assert acted(recovery)[0].startswith("cancel")


def test_the_lock_of_a_run_that_lives_is_not_broken(
    recovery: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    lock(recovery, os.getpid(), socket.gethostname())
    with pytest.raises(UsageError, match=f"process {os.getpid()}@.* of ops since .*: it lives"):
        recovery.recover(monkeypatch)
    assert recovery.calls == []


def test_a_run_that_only_looks_so_far_is_waited_for(
    recovery: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    with lock_site(recovery.engine), pytest.raises(UsageError, match=f"process {os.getpid()}"):
        recovery.recover(monkeypatch)
    assert acted(recovery) == []


def test_a_process_that_began_after_the_lock_is_not_its_owner(recovery: World) -> None:
    long_ago = datetime.now(UTC) - timedelta(days=3650)
    lock(recovery, os.getpid(), socket.gethostname(), long_ago.isoformat())
    (found,) = recovery.engine.locks()
    assert found.alive is False


def test_a_lock_that_cannot_be_read_may_be_of_a_run_that_lives(recovery: World) -> None:
    lock(recovery, 1, "x")
    (path,) = (recovery.folder / ".pulumi").rglob("*.json")
    path.write_text("{")
    (found,) = recovery.engine.locks()
    assert found.alive is None


def test_locks_of_a_bucket_are_read_from_what_pulumi_says() -> None:
    text = (
        "error: the stack is currently locked by 1 lock(s). Either wait for the other process(es) "
        "to end or delete the lock file with `pulumi cancel`.\n  s3://x/.pulumi/locks/y.json: "
        "created by ops@runner-3 (pid 4711) at 2026-11-22T08:45:09Z"
    )
    (found,) = parse_locks(text)
    assert (found.name, found.user, found.alive) == (NAME, "ops", None)


# --- a run that stops -----------------------------------------------------------------------------


def test_what_was_done_is_told_where_it_cannot_go_on(
    recovery: World, monkeypatch: pytest.MonkeyPatch, recovered: Callable[[], Json]
) -> None:
    lock(recovery, dead(), socket.gethostname())
    (recovery.folder / "refresh.fails").write_text("error: it broke")
    with pytest.raises(UsageError, match="it broke") as refused:
        recovery.recover(monkeypatch)
    said = recovered()
    assert said["done"] == ["the lock is released"]
    assert "it is gone" in said["found"][0]
    for text in (said["verdict"], str(refused.value)):
        assert "stopped halfway" in text and "the lock is released" in text
        assert "nothing was changed" not in text


def test_a_lock_that_is_met_halfway_is_no_claim_that_nothing_was_changed(
    recovery: World, monkeypatch: pytest.MonkeyPatch, recovered: Callable[[], Json]
) -> None:
    lock(recovery, dead(), socket.gethostname())
    (recovery.folder / "refresh.fails").write_text(
        "locked by 1 lock(s): created by ops@runner-3 (pid 4711) at 2026-11-22T08:45:09Z"
    )
    with pytest.raises(UsageError, match=f"--take-over {NAME}") as refused:
        recovery.recover(monkeypatch)
    assert "nothing was changed" not in str(refused.value)
    assert recovered()["done"] == ["the lock is released"]


def test_what_is_refused_at_first_has_changed_nothing(
    recovery: World, monkeypatch: pytest.MonkeyPatch, recovered: Callable[[], Json]
) -> None:
    lock(recovery, 4711, "runner-3")
    with pytest.raises(UsageError, match="nothing was changed"):
        recovery.recover(monkeypatch)
    assert recovered()["verdict"] == "nothing was changed"


# --- what is found, and what is done --------------------------------------------------------------


def test_a_plan_changes_nothing(
    recovery: World, monkeypatch: pytest.MonkeyPatch, recovered: Callable[[], Json]
) -> None:
    lock(recovery, dead(), socket.gethostname())
    recovery.pending = [{"type": "creating", "resource": {"urn": "x::ConfigMap/pod-network"}}]
    recovery.engine.begin([("management", "v1", "ConfigMap", SITE, "a")])
    assert recovery.recover(monkeypatch, plan=True) == FOUND
    found = "\n".join(recovered()["found"])
    for part in ("it is gone", "creating ConfigMap/pod-network", "about to make 1 objects"):
        assert part in found
    assert acted(recovery) == []


def test_pending_operations_are_cleared_by_reading_anew(
    recovery: World, monkeypatch: pytest.MonkeyPatch, recovered: Callable[[], Json]
) -> None:
    recovery.pending = [{"type": "creating", "resource": {"urn": "x::ConfigMap/pod-network"}}]
    assert recovery.recover(monkeypatch) == OK
    assert "1 pending operations are cleared" in recovered()["done"][-1]
    (call,) = acted(recovery)
    assert "--clear-pending-creates" in call and "--run-program" in call


def test_what_a_killed_run_made_is_taken_over_and_no_orphan(
    recovery: World, monkeypatch: pytest.MonkeyPatch, recovered: Callable[[], Json]
) -> None:
    made = recovery.one("BareMetalHost")
    recovery.forget(*made)
    recovery.steps = [step(recovery, "create", made)]
    assert recovery.recover(monkeypatch) == OK
    (taken,) = recovered()["next"]
    assert "adopted" in taken["why"]


def test_an_orphan_is_named_and_goes_only_by_number(
    recovery: World, monkeypatch: pytest.MonkeyPatch, recovered: Callable[[], Json]
) -> None:
    _, host = recovery.one("BareMetalHost")
    recovery.hold(copied(host, "old-1"))
    recovery.hold(copied(host, "old-2"))
    assert recovery.recover(monkeypatch, allow=["remove=1"]) == FOUND
    said = recovered()
    (left,) = said["left"]
    assert "--allow remove=2" in left
    for number in (1, 2):
        assert any(each.endswith(f"lab-1/old-{number} of mgmt-lab") for each in said["found"])
    assert [(each["name"], each["cluster"]) for each in said["orphans"]] == [
        ("old-1", "mgmt-lab"), ("old-2", "mgmt-lab")]  # fmt: skip
    assert recovery.deleted == []
    assert recovery.recover(monkeypatch, allow=["remove=2"]) == OK
    assert recovery.deleted == ["BareMetalHost old-1", "BareMetalHost old-2"]


def test_an_orphan_that_a_policy_guards_is_left_for_a_person(
    recovery: World, monkeypatch: pytest.MonkeyPatch, recovered: Callable[[], Json]
) -> None:
    _, host = recovery.one("BareMetalHost")
    recovery.hold(copied(host, "old-1"))
    recovery.hold(copied(host, "old-2"))
    recovery.guarded.add("old-1")
    assert recovery.recover(monkeypatch, allow=["remove=2"]) == FOUND
    (left,) = recovered()["left"]
    assert "old-1" in left and "a policy guards it" in left
    assert recovery.deleted == ["BareMetalHost old-2"]


def test_every_orphan_is_named_before_it_may_be_deleted(
    recovery: World, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    _, host = recovery.one("BareMetalHost")
    for number in range(30):
        recovery.hold(copied(host, f"old-{number}"))
    recovery.recover(monkeypatch, plan=True, format="text")
    said = capsys.readouterr().out.splitlines()
    for number in range(30):
        (line,) = (each for each in said if f"lab-1/old-{number} of mgmt-lab" in each)
        assert line.startswith("  found")


def test_a_wrong_number_is_told_before_anything_is_done(
    recovery: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(UsageError, match="remove"):
        recovery.recover(monkeypatch, allow=["remove=many"])
    assert acted(recovery) == []


def test_an_old_template_is_no_orphan(
    recovery: World, monkeypatch: pytest.MonkeyPatch, recovered: Callable[[], Json]
) -> None:
    _, template = recovery.one("Metal3MachineTemplate")
    recovery.hold(copied(template, "lab-0000"))
    assert recovery.recover(monkeypatch) == OK
    assert "old templates" in recovered()["found"][0]


@pytest.mark.parametrize("difference", ["manager", "leaving", "same object"])
def test_what_a_controller_made_with_our_label_is_no_orphan(
    recovery: World, monkeypatch: pytest.MonkeyPatch, difference: str
) -> None:
    _, config = recovery.one("ConfigMap")
    copy = copied(config, "copy")
    recovery.hold(copy, manager="other" if difference == "manager" else FIELD_MANAGER)
    (body,) = (each for key, each in recovery.live.items() if key.name == "copy")
    if difference == "leaving":
        body["metadata"]["deletionTimestamp"] = "2026-11-22T08:45:09Z"
    if difference == "same object":  # one server that plays both clusters
        body["metadata"]["uid"] = f"uid-{config.title}"
    assert recovery.recover(monkeypatch) == OK


def test_what_is_protected_and_not_in_the_site_is_left_for_a_person(
    recovery: World, monkeypatch: pytest.MonkeyPatch, recovered: Callable[[], Json]
) -> None:
    component, host = recovery.one("BareMetalHost")
    old = copied(host, "old-1")
    recovery.know(component, old)
    recovery.hold(old)
    assert recovery.recover(monkeypatch) == FOUND
    (left,) = recovered()["left"]
    assert f"pulumi state unprotect --stack {SITE}" in left and recovery.urn(component, old) in left
