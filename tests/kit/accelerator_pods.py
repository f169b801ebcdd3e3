"""Pods that ask for accelerators, and what a real API server says to them."""

import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any

from components.making.manifest import Json, Manifest
from controlplane import ApiError, Client
from schemas.kubernetes.node_labels import TEAM_LABEL
from tests.kit.accelerator_sites import V100

PLUGIN = "nvidia.com/gpu"
TEAM, PLATFORM = "accelerator-team", "accelerator-platform"
"""A namespace of a team, and one of administrators."""
UNKNOWN = "preferred.jp/none"
SECONDS = 30.0


def namespace(name: str, **labels: str) -> Json:
    return {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name, "labels": labels}}


def apply(client: Client, manifests: list[Manifest], dry_run: bool = False) -> None:
    """Apply every object strictly, namespaces first."""
    spaces = [each.body for each in manifests if each.kind == "Namespace"]
    for each in spaces:
        client.apply(each)
    rest = [each.body for each in manifests if each.kind != "Namespace"]
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda each: client.apply(each, dry_run=dry_run), rest))


def remove(client: Client, manifests: list[Manifest]) -> None:
    """Delete objects again: the API server is shared."""
    for each in manifests:
        client.delete(each.key[0], each.kind, each.key[3], each.key[2] or None)


def namespaces(client: Client) -> None:
    """Make the two namespaces."""
    client.apply(namespace(TEAM, **{TEAM_LABEL: "vision"}))
    client.apply(namespace(PLATFORM))


def in_force(client: Client, model: str = V100, completing: bool = True, **spec: Any) -> None:
    """Wait until the API server has read the policies, each by what it alone does; ``completing``:
    also the one that gives pods that ask for ``model`` the plugin's resource. All pods that ask
    have this ``spec``."""
    good = pod({"limits": {model: "1"}}, **spec)
    made = PLUGIN if completing else model
    until(lambda: answer(client, good), lambda said: made in limits(said))
    unknown, by_device = (pod({"limits": {each: "1"}}, **spec) for each in (UNKNOWN, PLUGIN))
    for body in (unknown, by_device, job(by_device["spec"])):
        until(partial(answer, client, body), lambda said: isinstance(said, str))


def limits(said: Json | str) -> Json:
    """The limits of the last container of a pod that was taken; none of a refusal."""
    if isinstance(said, str):
        return {}
    found: Json = said["spec"]["containers"][-1]["resources"].get("limits", {})
    return found


def pod(*containers: Json, space: str = TEAM, **spec: Any) -> Json:
    """A pod whose containers have these resources; those with ``init`` are init containers."""
    made: dict[str, list[Json]] = {"containers": [], "initContainers": []}
    for number, resources in enumerate(containers):
        more = dict(resources)
        kind = "initContainers" if more.pop("init", False) else "containers"
        always = {"restartPolicy": "Always"} if more.pop("sidecar", False) else {}
        container = {"name": f"c{number}", "image": "registry.example/a:1", "resources": more}
        made[kind].append({**container, **always})
    if not made["containers"]:
        made["containers"].append({"name": "main", "image": "registry.example/a:1"})
    body = {"restartPolicy": "Never", **{k: v for k, v in made.items() if v}, **spec}
    metadata = {"name": "asks", "namespace": space}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": body}


def job(spec: Json) -> Json:
    metadata = {"name": "asks", "namespace": TEAM}
    body = {"template": {"spec": spec}}
    return {"apiVersion": "batch/v1", "kind": "Job", "metadata": metadata, "spec": body}


def answer(client: Client, body: Json) -> Json | str:
    """The object as the API server would store it, or why it refuses."""
    group = "api/v1" if body["apiVersion"] == "v1" else f"apis/{body['apiVersion']}"
    plural = f"{body['kind'].lower()}s"
    space = body["metadata"]["namespace"]
    path = f"/{group}/namespaces/{space}/{plural}?dryRun=All&fieldValidation=Strict"
    try:
        return client.request("POST", path, body)
    except ApiError as error:
        return str(error)


def stored(client: Client, body: Json) -> Json:
    found = answer(client, body)
    assert isinstance(found, dict), found
    spec: Json = found["spec"]
    return spec


def refused(client: Client, body: Json) -> str:
    found = answer(client, body)
    assert isinstance(found, str), found["spec"]
    return found


def until(said: Callable[[], Json | str], right: Callable[[Json | str], bool]) -> Json | str:
    """The answer once it is right: a policy is in force some time after it was made."""
    deadline = time.monotonic() + SECONDS
    while not right(found := said()):
        assert time.monotonic() < deadline, found
        time.sleep(0.1)
    return found
