"""The program that records why pods were disrupted: for Python's own image, standard library alone.

A pod that is preempted or drained is deleted, and with it the condition that says why; its events
go after an hour. A line of each goes into an annotation of the Job that it belongs to, which stays.

Sources: Kubernetes 1.34, KEP-3329 (condition DisruptionTarget), pkg/scheduler/framework/preemption
(event Preempted); pfnet/scheduler-plugins f63b46e, plugins/gang (event DeletedAsPartOfGang).
"""

import json
import os
import ssl
import time
from http.client import HTTPException
from pathlib import Path
from typing import Any
from urllib.error import HTTPError
from urllib.parse import quote
from urllib.request import Request, urlopen

Json = dict[str, Any]
ANNOTATION = "foresite.dev/disruptions"
KEPT = 5
"""Lines in an annotation, the newest first."""
SAID = ("Preempted", "DeletedAsPartOfGang", "TaintManagerEviction", "Evicted")
"""Events of a pod that say why it ends."""
OWNERS = (
    *(f"apps/v1 {kind}" for kind in ("ReplicaSet", "Deployment", "StatefulSet")),
    *("batch/v1 Job", "batch.volcano.sh/v1alpha1 Job", "jobset.x-k8s.io/v1alpha2 JobSet"),
    *("kubeflow.org/v2beta1 MPIJob", "trainer.kubeflow.org/v1alpha1 TrainJob"),
)
"""Kinds that get the annotation; of owners above each other the highest."""


def disruption(pod: Json, events: list[Json], node: Json) -> str | None:
    """The line of a pod's disruption, with what is wrong with its node; None where it has none."""
    conditions = pod["status"].get("conditions", ())
    targets = [c for c in conditions if (c["type"], c["status"]) == ("DisruptionTarget", "True")]
    told = [each for each in events if each["reason"] in SAID]
    if not targets and not told:
        return None
    first = (targets or told)[0]
    when = first.get("lastTransitionTime") or pod["metadata"].get("deletionTimestamp", "")
    why = "; ".join(dict.fromkeys(each["message"] for each in (*targets, *told)))
    told_of = node.get("status", {}).get("conditions", ())
    odd = [each for each in told_of if (each["status"] == "True") != (each["type"] == "Ready")]
    bad = [f"{each['type']}: {each.get('message', '')}" for each in odd]
    bad += ["cordoned"] if node.get("spec", {}).get("unschedulable") else []
    where = pod["spec"].get("nodeName", "no node") + (f" ({', '.join(bad)})" if bad else "")
    return f"{when} {pod['metadata']['name']} on {where}: {first['reason']}: {why}"


def add_line(given: str, line: str) -> str:
    """An annotation with a line, in place of that of the same pod: events may come after it."""
    others = [each for each in given.splitlines() if each.split()[1:2] != line.split()[1:2]]
    return "\n".join([line, *others][:KEPT])


def call(path: str, patch: Json | None = None, timeout: float = 30) -> Any:
    """An answer of the API server. The token is read each time, as the kubelet renews it."""
    account = Path(os.environ["ACCOUNT"])
    bearer = f"Bearer {(account / 'token').read_text()}"
    headers = {"Authorization": bearer, "Content-Type": "application/merge-patch+json"}
    data, method = (json.dumps(patch).encode(), "PATCH") if patch else (None, "GET")
    request = Request(os.environ["SERVER"] + path, data, headers, method=method)  # noqa: S310
    context = ssl.create_default_context(cafile=str(account / "ca.crt"))
    return urlopen(request, timeout=timeout, context=context)  # noqa: S310


def ask(path: str, patch: Json | None = None) -> Json:
    """An object, changed where there is a ``patch``; empty where it is gone, or not ours."""
    try:
        with call(path, patch) as answer:
            found: Json = json.load(answer)
            return found
    except HTTPError as error:
        print(json.dumps({"path": path, "error": str(error)}), flush=True)
        return {}


def find_owner(pod: Json) -> tuple[str, Json]:
    """The path of the highest owner that gets the annotation, and the owner; empty without one.

    A pod's author writes its references: so kinds are from a list, and names are no paths.
    """
    found: tuple[str, Json] = ("", {})
    one = pod
    while one:
        refs = (each for each in one["metadata"].get("ownerReferences", ()) if "controller" in each)
        up = next((r for r in refs if f"{r['apiVersion']} {r['kind']}" in OWNERS), None)
        if up is None:
            break
        where = f"/apis/{up['apiVersion']}/namespaces/{pod['metadata']['namespace']}"
        path = f"{where}/{up['kind'].lower()}s/{quote(up['name'], safe='')}"
        one = ask(path)
        found = (path, one) if one else found
    return found


def record(pod: Json) -> bool:
    """Record a pod's disruption, in the log where it has no owner; False where it has none."""
    namespace, uid = pod["metadata"]["namespace"], pod["metadata"]["uid"]
    selector = quote(f"involvedObject.uid={uid}")
    events = ask(f"/api/v1/namespaces/{namespace}/events?fieldSelector={selector}").get("items", [])
    line = disruption(pod, events, ask(f"/api/v1/nodes/{pod['spec'].get('nodeName')}"))
    if line is None:
        return False
    path, owner = find_owner(pod)
    if owner:
        text = add_line(owner["metadata"].get("annotations", {}).get(ANNOTATION, ""), line)
        ask(path, {"metadata": {"annotations": {ANNOTATION: text}}})
    print(json.dumps({"namespace": namespace, "disruption": line}), flush=True)
    return True


def follow() -> None:
    """Watch pods for ten minutes, beginning with all that are there; each is recorded when it is
    first seen to end, and once more when it has."""
    done: set[tuple[str, bool]] = set()
    with call("/api/v1/pods?watch=1&timeoutSeconds=600", timeout=660) as answer:
        print(json.dumps({"watches": "pods"}), flush=True)
        for text in answer:
            event = json.loads(text)
            metadata = event["object"]["metadata"]
            key = (metadata["uid"], event["type"] == "DELETED")
            ends = b"DisruptionTarget" in text or "deletionTimestamp" in metadata
            if ends and key not in done and record(event["object"]):
                done.add(key)


if __name__ == "__main__":
    while True:
        try:
            follow()
        except (OSError, HTTPException) as error:
            print(json.dumps({"error": str(error)}), flush=True)
        time.sleep(1)
