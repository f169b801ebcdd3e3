"""Whether a site is healthy at its revision: every shape that a status can have, also stale ones,
made by hand as Cluster API v1.13.6 writes them."""

import copy
from typing import Any

import pytest

from components.effects.fleet import Group, Host, Pace
from components.making.manifest import Json, Manifest
from foresite.delivery.rings.health import Health, Seen, Verdict, Wanted, health

APPLIED, NOW = 1_000_000.0, 1_007_200.0
BEFORE, AFTER = "1970-01-12T00:00:00Z", "1970-01-12T14:00:00Z"
"""Times before it was applied, and 800 s after it."""
LATELY = "1970-01-12T15:40:00Z"
HEALTHY, WAITING, FAILED = Verdict


def conditions(**statuses: str) -> list[Json]:
    return [{"type": k, "status": v, "lastTransitionTime": BEFORE} for k, v in statuses.items()]


def template(name: str) -> Json:
    return {
        "version": "v1.34.3",
        "bootstrap": {"configRef": {"kind": "KubeadmConfigTemplate", "name": name}},
        "infrastructureRef": {"kind": "Metal3MachineTemplate", "name": name},
        "minReadySeconds": 5,
    }


def well(kind: str, name: str, **spec: Any) -> Json:
    """An object that its controller has looked at, with all its machines."""
    counts = dict.fromkeys(("replicas", "upToDateReplicas", "availableReplicas"), spec["replicas"])
    said = conditions(Available="True", RollingOut="False", ScalingUp="False")
    part = "controlplane." if kind == "KubeadmControlPlane" else ""
    return {
        "apiVersion": f"{part}cluster.x-k8s.io/v1beta2",
        "kind": kind,
        "metadata": {"name": name, "namespace": "lab-1", "generation": 4},
        "spec": spec,
        "status": {"observedGeneration": 4, **counts, "conditions": said},
    }


def pool(replicas: int = 3, made: str = "new", unavailable: int = 1, **strategy: Any) -> Json:
    rolling = strategy or {"rollingUpdate": {"maxUnavailable": unavailable, "maxSurge": 0}}
    rollout, machine = {"strategy": {"type": "RollingUpdate", **rolling}}, {"spec": template(made)}
    return well("MachineDeployment", "v100", replicas=replicas, rollout=rollout, template=machine)


def machine_set(made: str, replicas: int, available: int | None = None, **status: Any) -> Json:
    counts: Json = {"replicas": replicas, "upToDateReplicas": replicas}
    counts |= {"availableReplicas": replicas if available is None else available}
    owner = {"cluster.x-k8s.io/deployment-name": "v100"}
    return {
        "metadata": {"name": made, "generation": 2, "labels": owner},
        "spec": {"replicas": replicas, "template": {"spec": template(made)}},
        "status": {"observedGeneration": 2, **counts, **status},
    }


POOL = pool()
PLANE = well(
    "KubeadmControlPlane", "lab-1", replicas=3, version="v1.34.3",
    rollout={"strategy": {"rollingUpdate": {"maxSurge": 0}}},
    machineTemplate={"spec": {"infrastructureRef": {"name": "new"}}},
)  # fmt: skip
CLUSTER: Json = {
    "apiVersion": "cluster.x-k8s.io/v1beta2", "kind": "Cluster", "spec": {},
    "metadata": PLANE["metadata"],
    "status": {"observedGeneration": 4, "conditions": conditions(Available="True")},
}  # fmt: skip
OLD, NEW = machine_set("old", 0), machine_set("new", 3)


def judge(body: Json, *sets: Json, wanted: Json | None = None, now: float = NOW) -> Health:
    names = tuple(Host(f"host-{n}", "v100", "a") for n in range(body["spec"].get("replicas") or 0))
    control = body["kind"] == "KubeadmControlPlane"
    group = Group(("machines", "x"), "v100", "", control, names, len(names), {}, (),
                  Pace(30, 600, 0), 10)  # fmt: skip
    made = Manifest("x", wanted or body)
    seen = Seen({(body["kind"], body["metadata"]["name"]): body}, APPLIED, now, sets)
    machines = None if body["kind"] == "Cluster" else group
    return health([Wanted(made, machines)], seen)


def changed(body: Json, path: str, value: Any) -> Json:
    """A copy with another value; None takes it out. The last step may name a condition."""
    found = copy.deepcopy(body)
    *steps, last = path.split(".")
    where: Any = found
    for step in steps:
        of = {each["type"]: each for each in where} if isinstance(where, list) else where
        where = of[step]
    where.pop(last, None)
    if value is not None:
        where[last] = value
    return found


@pytest.mark.parametrize(
    ("body", "sets"), [(CLUSTER, ()), (PLANE, ()), (POOL, (OLD, NEW)), (pool(0), ())]
)
def test_what_is_as_it_was_applied_is_healthy(body: Json, sets: tuple[Json, ...]) -> None:
    found = judge(body, *sets)
    assert (found.verdict, found.why, found.since) == (HEALTHY, "", APPLIED)
    assert (found.done, found.of, found.install) == (*2 * [body["spec"].get("replicas", 0)], 0)


STALE = {
    "no MachineSet of the template yet": (POOL, [machine_set("old", 3)]),
    "none at all": (POOL, []),
    "a new MachineSet without a status": (POOL, [changed(NEW, "status", {})]),
    "a new MachineSet that its controller has not seen": (
        POOL, [changed(NEW, "metadata.generation", 3)]),
    "old machines not yet gone": (POOL, [machine_set("old", 1) | {"spec": OLD["spec"]}, NEW]),
    "an old MachineSet that is to shrink": (POOL, [machine_set("old", 2), machine_set("new", 1)]),
    "machines whose UpToDate was not written": (
        POOL, [OLD, machine_set("new", 3, upToDateReplicas=1)]),
    "the owner still counts others": (changed(POOL, "status.upToDateReplicas", 1), [OLD, NEW]),
    "rolling out": (changed(POOL, "status.conditions.RollingOut.status", "True"), [OLD, NEW]),
    "a MachineSet of another owner": (POOL, [changed(NEW, "metadata.labels", {})]),
    "more replicas than its MachineSets know": (pool(4), [OLD, NEW]),
    "a count that is text": (POOL, [OLD, machine_set("new", 3, availableReplicas="3")]),
}  # fmt: skip


@pytest.mark.parametrize("shape", STALE)
def test_no_status_of_before_passes(shape: str) -> None:
    body, sets = STALE[shape]
    found = judge(body, *sets)
    assert (found.verdict, bool(found.why)) == (WAITING, True)


@pytest.mark.parametrize("body", [CLUSTER, PLANE, POOL], ids=lambda each: each["kind"])
@pytest.mark.parametrize(
    ("path", "value", "verdict", "words"),
    [
        ("status.observedGeneration", 1, WAITING, "has not looked at it"),
        ("status.observedGeneration", None, WAITING, "has not looked at it"),
        ("status", None, WAITING, "has not looked at it"),
        ("status.conditions", None, WAITING, "its condition Available is not True"),
        ("status.conditions", "none", WAITING, "its condition Available is not True"),
        ("status.conditions.Available.status", "Unknown", WAITING, "Available"),
        ("metadata.annotations", {"cluster.x-k8s.io/paused": ""}, WAITING, "paused"),
        ("spec.paused", True, WAITING, "paused"),
        ("metadata.deletionTimestamp", AFTER, FAILED, "deleted"),
    ],
)
def test_what_is_missing_or_unknown_is_never_healthy(
    body: Json, path: str, value: Any, verdict: Verdict, words: str
) -> None:
    found = judge(changed(body, path, value), OLD, NEW, wanted=body)
    assert (found.verdict, words in found.why) == (verdict, True)


def test_an_object_that_is_not_there_or_of_another_revision() -> None:
    gone = health([Wanted(Manifest("x", POOL))], Seen({}, APPLIED, NOW))
    assert (gone.verdict, gone.of) == (WAITING, 3)
    assert health([], Seen({}, APPLIED, NOW)).verdict is WAITING
    for body, other in ((pool(made="old"), POOL), (PLANE, changed(PLANE, "spec.version", "v2"))):
        found = judge(body, machine_set("old", 3), wanted=other)
        assert (found.verdict, "not of the applied revision" in found.why) == (FAILED, True)


def test_a_size_or_a_configuration_of_another_run_is_of_another_revision() -> None:
    scaled, files = changed(POOL, "spec.replicas", 0), [{"path": "/etc/motd", "content": "b"}]
    configured = changed(PLANE, "spec.kubeadmConfigSpec", {"files": files})
    other = changed(configured, "spec.kubeadmConfigSpec.files", [{**files[0], "content": "a"}])
    for body, wanted, field in (
        (scaled, POOL, "(spec.replicas)"),
        (other, configured, "(spec.kubeadmConfigSpec.files.0.content)"),
    ):
        found = judge(body, OLD, NEW, wanted=wanted)
        assert (found.verdict, field in found.why) == (FAILED, True)
    # The API server fills in defaults; and a field may be an autoscaler's.
    assert judge(changed(configured, "spec.kubeadmConfigSpec.format", "cloud-config"),
                 wanted=configured).verdict is HEALTHY  # fmt: skip
    made = Manifest("x", POOL, ignore=("spec.replicas",))
    seen = Seen({("MachineDeployment", "v100"): scaled}, APPLIED, NOW)
    assert health([Wanted(made)], seen).verdict is not FAILED


def test_a_control_plane_needs_all_its_machines() -> None:
    for name in ("replicas", "upToDateReplicas", "availableReplicas"):
        found = judge(changed(PLANE, f"status.{name}", 2))
        assert found.verdict is WAITING
    assert (found.done, found.of, found.install, found.drain) == (2, 3, 0.5, 600 / 3600)
    said = {"type": "Remediating", "status": "True", "message": "failed 3 times (MaxRetry)"}
    body = changed(PLANE, "status.conditions", [said])
    assert judge(body, wanted=PLANE).verdict is FAILED


@pytest.mark.parametrize(
    ("unavailable", "replicas", "available", "moved", "verdict"),
    [
        (1, 3, 2, BEFORE, HEALTHY),  # nothing was made since: it was broken before, or by itself
        (1, 3, 2, AFTER, HEALTHY),  # it had its hour
        (1, 3, 2, LATELY, WAITING),  # it may still be on its way
        (1, 3, 1, BEFORE, WAITING),
        (0, 3, 2, BEFORE, WAITING),
        (1, 1, 0, BEFORE, WAITING),  # Cluster API calls that available
        (3, 3, 0, BEFORE, WAITING),
    ],
)
def test_a_machine_that_breaks_by_itself_holds_no_ring(
    unavailable: int, replicas: int, available: int, moved: str, verdict: Verdict
) -> None:
    body = pool(replicas, unavailable=unavailable)
    body = changed(body, "status.conditions.RollingOut.lastTransitionTime", moved)
    body = changed(body, "status.availableReplicas", available)
    found = judge(body, OLD, machine_set("new", replicas, available))
    late = verdict is HEALTHY and moved == AFTER
    assert found.verdict is verdict
    assert bool(found.notes) is (verdict is HEALTHY)
    assert not late or found.since >= APPLIED + 3600 - 1


def test_a_machine_that_is_replaced_again_and_again_holds_no_ring() -> None:
    """As Cluster API does with a broken host: its pool counts one machine less for a moment."""
    fewer = dict.fromkeys(("replicas", "upToDateReplicas", "availableReplicas"), 2)
    body, new = POOL, copy.deepcopy(NEW)
    for each in (body, new):
        each["status"] |= fewer
    found = judge(changed(body, "status.conditions.ScalingUp.lastTransitionTime", LATELY), OLD, new)
    assert (found.verdict, len(found.notes)) == (HEALTHY, 1)
    assert found.since == APPLIED + 3600


def test_machines_that_are_made_anew_may_be_on_their_way() -> None:
    body = changed(POOL, "status.conditions.ScalingUp.lastTransitionTime", AFTER)
    broken = machine_set("new", 3, available=2)
    assert judge(body, OLD, broken).verdict is HEALTHY
    assert judge(body, OLD, broken, now=APPLIED + 3500).verdict is WAITING


def test_a_pool_that_is_replaced_by_hand_does_not_wait_for_it() -> None:
    body = changed(pool(3, type="OnDelete"), "status.conditions.RollingOut.status", "True")
    body = changed(body, "status.upToDateReplicas", 1)
    sets = machine_set("old", 2), machine_set("new", 1)
    found = judge(body, *sets)
    assert found.verdict is HEALTHY
    assert "2 machines keep the template before (OnDelete)" in found.notes[0]
    body = changed(body, "status.conditions.Available.status", "False")
    assert judge(body, *sets).verdict is WAITING


def test_a_site_is_as_healthy_as_its_worst_part() -> None:
    bodies = [CLUSTER, changed(PLANE, "status.replicas", 2), pool(made="old")]
    seen = Seen({(e["kind"], e["metadata"]["name"]): e for e in bodies}, APPLIED, NOW, [NEW])
    wanted = [Wanted(Manifest("x", b)) for b in (CLUSTER, PLANE, POOL)]
    found = health(wanted, seen)
    assert (found.verdict, found.done, found.of) == (FAILED, 2, 6)
    assert "KubeadmControlPlane" not in found.why


def test_a_flap_begins_the_soak_anew_whose_clock_may_be_ahead_or_behind() -> None:
    body = changed(POOL, "status.conditions.Available.lastTransitionTime", "soon")
    assert judge(body, OLD, NEW).since == NOW
    body = changed(POOL, "status.conditions.Available.lastTransitionTime", AFTER)
    assert judge(body, OLD, NEW).since == APPLIED + 800
    for ahead in (-300.0, 300.0):
        seen = Seen({("MachineDeployment", "v100"): body}, APPLIED, NOW, [OLD, NEW], ahead)
        assert health([Wanted(Manifest("x", body))], seen).since == APPLIED + 800 - ahead


def test_an_answer_that_is_huge_is_judged_in_time() -> None:
    sets = [machine_set(f"old-{n}", 0) for n in range(1000)]
    assert judge(pool(400), *sets, machine_set("new", 400)).verdict is HEALTHY


def test_a_share_of_the_pool_may_be_missing_in_an_adopted_site() -> None:
    body = pool(8, type="RollingUpdate", rollingUpdate={"maxUnavailable": "25%", "maxSurge": "10%"})
    assert judge(body, OLD, machine_set("new", 8, 6)).verdict is HEALTHY
    assert judge(body, OLD, machine_set("new", 8, 5)).verdict is WAITING
