"""A stack's state as Pulumi keeps it: which objects it knows, what a run was in the middle of, and
older states to go back to where it cannot be read."""

import json
from collections.abc import Iterator, Mapping
from copy import deepcopy
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import unquote

from components.manifest import Json, Target


class Ident(NamedTuple):
    """What tells an object from all others, in whatever version it is written: its cluster, group,
    kind, namespace and name."""

    target: Target
    group: str
    kind: str
    namespace: str
    name: str

    def __str__(self) -> str:
        """The object for a person: ``BareMetalHost tokyo-1/tokyo-1-a-001``."""
        named = "/".join(filter(None, (self.namespace, self.name)))
        return f"{self.kind} {named}"


def ident(target: Target, body: Json) -> Ident:
    """The identity of an object's body."""
    metadata = body["metadata"]
    group = body["apiVersion"].rpartition("/")[0]
    return Ident(target, group, body["kind"], metadata.get("namespace", ""), metadata["name"])


class Held(NamedTuple):
    """An object that the state knows. ``leaving``: a run replaced it, and was to delete it."""

    urn: str
    ident: Ident
    inputs: Json
    protect: bool = False
    keep: bool = False
    leaving: bool = False


class Pending(NamedTuple):
    """Something that a run had begun and not ended; ``kind`` is such as ``creating``."""

    kind: str
    name: str

    def __str__(self) -> str:
        return f"{self.kind} {self.name}"


class State(NamedTuple):
    """What a state holds of a site; ``contexts`` are the clusters that it was last applied to."""

    held: tuple[Held, ...] = ()
    pending: tuple[Pending, ...] = ()
    contexts: Mapping[Target, str] = {}


class Older(NamedTuple):
    """An earlier state that is whole: its file, when that was written (seconds of the epoch), and
    how many resources it has."""

    path: Path
    seconds: float
    resources: int

    @property
    def written(self) -> str:
        """When the file was written, for a person."""
        return f"{datetime.fromtimestamp(self.seconds, UTC):%Y-%m-%d %H:%M:%S UTC}"


def read_state(exported: Json) -> State:
    """What ``pulumi stack export`` says."""
    deployment = exported.get("deployment") or {}
    resources = deployment.get("resources") or []
    held = tuple(_held(each) for each in resources if each["type"].startswith("kubernetes:"))
    pending = tuple(_pending(each) for each in deployment.get("pending_operations") or [])
    return State(held, pending, dict(_contexts(resources)))


def _held(resource: Json) -> Held:
    provider = str(resource.get("provider", ""))
    target = Target.SITE if f"::{Target.SITE.value}::" in provider else Target.MANAGEMENT
    flags = (bool(resource.get(key)) for key in ("protect", "retainOnDelete", "delete"))
    inputs = resource.get("inputs") or resource.get("outputs") or {}
    return Held(resource["urn"], ident(target, inputs), inputs, *flags)


def _pending(operation: Json) -> Pending:
    resource = operation.get("resource") or {}
    return Pending(str(operation.get("type", "")), resource.get("urn", "").rpartition("::")[2])


def _contexts(resources: list[Json]) -> Iterator[tuple[Target, str]]:
    for each in resources:
        name = each["urn"].rpartition("::")[2]
        context = (each.get("inputs") or {}).get("context")
        if each["type"] == "pulumi:providers:kubernetes" and context and name in set(Target):
            yield Target(name), str(context)


def edited(exported: Json, inputs: Mapping[str, Json], drop: set[str]) -> Json:
    """An exported state with other inputs for some objects, and without those of ``drop``."""
    state: Json = deepcopy(exported)
    deployment = state.get("deployment") or {}
    kept = [each for each in deployment.get("resources") or [] if each["urn"] not in drop]
    for each in kept:
        if each["urn"] in inputs and not each.get("delete"):
            each["inputs"] = inputs[each["urn"]]
        if drop:
            _forget(each, drop)
    if "resources" in deployment:
        deployment["resources"] = kept
    pending = deployment.get("pending_operations")
    if pending and drop:
        deployment["pending_operations"] = [
            each for each in pending if each["resource"]["urn"] not in drop
        ]
    return state


def _forget(resource: Json, drop: set[str]) -> None:
    """Take what is dropped out of what a resource depends on: Pulumi refuses a state where that is
    missing."""
    if resource.get("dependencies"):
        resource["dependencies"] = [each for each in resource["dependencies"] if each not in drop]
    for key, urns in (resource.get("propertyDependencies") or {}).items():
        resource["propertyDependencies"][key] = [each for each in urns or () if each not in drop]
    if resource.get("deletedWith") in drop:
        del resource["deletedWith"]


def older(environment: Mapping[str, str], stack: str) -> tuple[Path | None, list[Older]]:
    """The file of a stack's state, and the whole ones before it, the newest first.

    Only of a backend that is a folder of this machine: (None, []) else. Pulumi copies the file to
    ``.bak`` before it writes, and keeps each run's end in history and backups (pulumi 3.255,
    backend/diy/state.go).
    """
    backend = environment.get("PULUMI_BACKEND_URL", "")
    if not backend.startswith("file://"):
        return None, []
    folder = Path(unquote(backend.removeprefix("file://"))).expanduser() / ".pulumi"
    current = next(iter(sorted((folder / "stacks").rglob(f"{stack}.json.bak"))), None)
    files = [
        *(folder / "stacks").rglob(f"{stack}.json.bak"),
        *(folder / "history").rglob(f"{stack}/*.checkpoint.json"),
        *(folder / "backups").rglob(f"{stack}/*.json"),
    ]
    whole = [found for path in files if (found := _whole(path)) is not None]
    newest = sorted(whole, key=lambda each: each.seconds, reverse=True)
    return (current.with_suffix("") if current else None), newest


def _whole(path: Path) -> Older | None:
    try:
        said: Any = json.loads(path.read_text(encoding="utf-8"))
        latest = said["checkpoint"]["latest"] or {}
        count = len(latest.get("resources") or ())
        when = path.stat().st_mtime
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return None  # damaged as well
    return Older(path, when, count)
