"""What disrupted a pod is told on its Job, with the rights that the site's objects give."""

import json
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from components.making.manifest import Json
from components.teams import recorder
from components.teams.disruptions import NAME
from components.teams.disruptions import recorder as objects
from controlplane import ApiError, Client, ControlPlane
from tests.kit.disruption_recorder import recording
from tests.kit.repository import all_sites
from tests.kit.twin.cluster.programs import account_token

SITE = all_sites()["tokyo-1"]
TARGET = {
    "type": "DisruptionTarget",
    "status": "True",
    "reason": "PreemptionByScheduler",
    "message": "gang-scheduler: preempting to accommodate a higher priority pod",
    "lastTransitionTime": "2026-11-23T09:00:00Z",
}
AT = "2026-11-23T09:00:00Z train-0 on n1:"
PREEMPTED = {"reason": "Preempted", "message": "Preempted by pod 1-2-3 on node n1"}


def pod(*conditions: Json) -> Json:
    return {
        "metadata": {"name": "train-0", "deletionTimestamp": "2026-11-23T09:00:01Z"},
        "spec": {"nodeName": "n1"},
        "status": {"conditions": list(conditions)},
    }


def node(unschedulable: bool = False, **conditions: str) -> Json:
    found = [{"type": k, "status": v, "message": "bad"} for k, v in conditions.items()]
    return {"status": {"conditions": found}, "spec": {"unschedulable": unschedulable}}


@pytest.mark.parametrize(
    ("ends", "events", "on", "line"),
    [
        (pod(TARGET), [PREEMPTED], node(Ready="True"),
         f"{AT} PreemptionByScheduler: {TARGET['message']}; {PREEMPTED['message']}"),
        (pod({**TARGET, "reason": "EvictionByEvictionAPI", "message": "Eviction API: evicting"}),
         [], node(unschedulable=True, Ready="True", GPUMissing="True", DiskPressure="False"),
         f"{AT[:-1]} (GPUMissing: bad, cordoned): EvictionByEvictionAPI: Eviction API: evicting"),
        (pod({**TARGET, "reason": "DeletionByTaintManager", "message": "due to NoExecute taint"}),
         [], node(Ready="Unknown"),
         f"{AT[:-1]} (Ready: bad): DeletionByTaintManager: due to NoExecute taint"),
        # Its gang lost a member: the scheduler deletes it, and no condition says so.
        (pod(), [{"reason": "DeletedAsPartOfGang", "message": "member train-1 ended"}], {},
         "2026-11-23T09:00:01Z train-0 on n1: DeletedAsPartOfGang: member train-1 ended"),
        # Deleted by a person, or with its Job; or it was to be disrupted, and was not.
        (pod(), [{"reason": "Killing", "message": "Stopping container"}], {}, None),
        (pod({**TARGET, "status": "False"}), [], {}, None),
    ],
    ids=["preempted", "drained", "tainted", "gang", "deleted", "spared"],
)  # fmt: skip
def test_the_line_of_a_disruption(ends: Json, events: list[Json], on: Json, line: str) -> None:
    assert recorder.disruption(ends, events, on) == line


def test_an_annotation_keeps_the_last_five_pods() -> None:
    given = ""
    for number in range(7):
        given = recorder.add_line(given, f"t train-{number} on n1: why")
    assert [each.split()[1] for each in given.splitlines()] == [
        f"train-{number}" for number in (6, 5, 4, 3, 2)
    ]
    # The event came after the condition: one line a pod.
    assert recorder.add_line(given, "t train-6 on n1: why; by whom").count("train-6") == 1


def test_a_site_that_names_no_image_has_no_recorder() -> None:
    assert SITE.file.scheduling
    none = SITE.file.scheduling.model_copy(update={"disruption_recorder": None})
    assert objects(replace(SITE, file=SITE.file.model_copy(update={"scheduling": none}))) == []


# --- on a real API server ---


@pytest.fixture
def client(api: ControlPlane, tmp_path: Path) -> Iterator[Client]:
    """A client, while the program runs."""
    with api.client() as client, recording(SITE, client, api._access(), tmp_path):
        yield client


def job(client: Client, name: str, owner: Json | None = None) -> Json:
    template = {"spec": {"restartPolicy": "Never", "containers": [{"name": "a", "image": "a"}]}}
    return client.create(owned("batch/v1", "Job", name, owner, template=template))


def owned(version: str, kind: str, name: str, owner: Json | None, **spec: Any) -> Json:
    metadata: Json = {"name": name, "namespace": "default"}
    if owner:
        metadata["ownerReferences"] = [
            {
                "apiVersion": owner["apiVersion"],
                "kind": owner["kind"],
                "name": owner["metadata"]["name"],
                "uid": owner["metadata"]["uid"],
                "controller": True,
            }
        ]
    return {"apiVersion": version, "kind": kind, "metadata": metadata, "spec": spec}


def running(client: Client, name: str, owner: Json) -> None:
    """A pod on a node with a fault."""
    containers = [{"name": "a", "image": "a.example/a:1"}]
    spec = {"nodeName": "lost", "containers": containers, "terminationGracePeriodSeconds": 0}
    client.create(owned("v1", "Pod", name, owner, **spec))


def annotation(client: Client, name: str, holds: Callable[[str], bool]) -> str:
    """The annotation of a Job, once it is as wanted."""
    deadline, found = time.monotonic() + 60, ""
    while time.monotonic() < deadline and not holds(found):
        time.sleep(0.2)
        there = client.get("batch/v1", "Job", name, "default")
        assert there
        found = there["metadata"].get("annotations", {}).get(recorder.ANNOTATION, "")
    return found


@pytest.mark.controlplane
def test_a_job_tells_who_ended_its_pods(client: Client) -> None:
    fault = {"type": "GPUMissing", "status": "True", "reason": "Gone", "message": "7 of 8"}
    client.create({"apiVersion": "v1", "kind": "Node", "metadata": {"name": "lost"}})
    path = "/api/v1/nodes/lost/status"
    there = client.request("GET", path)
    client.request("PUT", path, {**there, "status": {"conditions": [fault]}})
    made = job(client, "drained")
    running(client, "drained-0", made)
    running(client, "drained-1", made)
    eviction = {
        "apiVersion": "policy/v1",
        "kind": "Eviction",
        "metadata": {"name": "drained-0", "namespace": "default"},
    }
    client.request("POST", "/api/v1/namespaces/default/pods/drained-0/eviction", eviction)
    client.delete("v1", "Pod", "drained-1", "default")  # by a person: nothing is said of it
    found = annotation(client, "drained", bool)
    assert "drained-0 on lost (GPUMissing: 7 of 8): EvictionByEvictionAPI: Eviction API" in found
    assert client.get("v1", "Pod", "drained-0", "default") is None
    assert "drained-1" not in found
    assert json.dumps(found).count("drained-0 on lost") == 1


CHANGES: list[Json] = [
    {"metadata": {"labels": {"a": "b"}}},
    {"metadata": {"finalizers": ["example.com/a"]}},
    {"metadata": {"ownerReferences": None}},
    {"metadata": {"annotations": {"told": None}}},
    {"metadata": {"annotations": {"told": "other", recorder.ANNOTATION: "line"}}},
    {"metadata": {"annotations": {"more": "", recorder.ANNOTATION: "line"}}},
    {"spec": {"suspend": True, "paused": True}},
]


def refused(client: Client, path: str, change: Json) -> bool:
    """True if the policy refuses a change, which is not kept either way."""
    why = ""
    try:
        client.request("PATCH", f"{path}?dryRun=All", change, "application/merge-patch+json")
    except ApiError as error:
        why = str(error)
    assert not why or "its own annotations alone" in why
    return bool(why)


@pytest.mark.controlplane
def test_its_account_changes_that_annotation_alone(api: ControlPlane, client: Client) -> None:
    """Who may change a Deployment can run any pod: its rights to patch are bounded by a policy."""
    above = job(client, "above")
    made = [job(client, "bounded", above)]
    template = {
        "metadata": {"labels": {"a": "a"}},
        "spec": {"containers": [{"name": "a", "image": "a.example/a:1"}]},
    }
    spec = {"replicas": 0, "selector": {"matchLabels": {"a": "a"}}, "template": template}
    made.append(client.create(owned("apps/v1", "Deployment", "bounded", above, **spec)))
    token = account_token(client, NAME, NAME)
    with Client(replace(api._access(), token=token)) as account:
        for each in made:
            kind = each["kind"].lower()
            path = f"/apis/{each['apiVersion']}/namespaces/default/{kind}s/bounded"
            merge = "application/merge-patch+json"
            client.request("PATCH", path, {"metadata": {"annotations": {"told": "a"}}}, merge)
            deadline = time.monotonic() + 60
            while time.monotonic() < deadline and not refused(account, path, CHANGES[0]):
                time.sleep(0.2)
            assert [change for change in CHANGES if not refused(account, path, change)] == []
            ours = {"metadata": {"annotations": {recorder.ANNOTATION: "line"}}}
            assert not refused(account, path, ours)
            assert not any(refused(client, path, change) for change in CHANGES)
