"""The files of a stack. Where the backend is a folder of this machine they are found; a state is
edited where Pulumi has no command for it, and older ones are there to go back to."""

import re
from collections.abc import Mapping
from copy import deepcopy
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import unquote

import yaml

from components.making.manifest import Json
from schemas.reading.bounded import parse_json

_FILE = "file://"
_SHARED = ("s3://", "gs://", "azblob://", "postgres://")
"""Stores that hold Pulumi's own files for many machines (pulumi 3.255, backend/diy/backend.go)."""
BACKENDS = (_FILE, *_SHARED, "https://", "http://")
"""All kinds. Whatever else is written, Pulumi takes for the address of its own service."""
_PASSWORD = re.compile(r"(://[^:@/\s]*):\S*@")


class Place(NamedTuple):
    """The files of one stack of one project (pulumi 3.255, backend/diy/store.go and lock.go): a
    backend may hold several projects, and theirs may have stacks of the same name."""

    state: Path
    history: Path
    backups: Path
    locks: Path


def folder(environment: Mapping[str, str]) -> Path | None:
    """The folder that the backend is; None where it is none, such as a bucket."""
    backend = environment.get("PULUMI_BACKEND_URL", "")
    if not backend.startswith(_FILE):
        return None
    return Path(unquote(backend.removeprefix(_FILE).partition("?")[0])).expanduser()


def shared(environment: Mapping[str, str]) -> bool:
    """True if the backend is a bucket or a database, with locks as in a folder."""
    return environment.get("PULUMI_BACKEND_URL", "").startswith(_SHARED)


def without_password(text: str) -> str:
    """Text of Pulumi's, which repeats the URL of a database where it cannot log in."""
    return _PASSWORD.sub(r"\1:***@", text)


def place(environment: Mapping[str, str], program: Path, stack: str) -> Place | None:
    """The place of a stack of the project in ``program``; None where the backend is no folder.
    Raises OSError where ``program`` has no Pulumi.yaml."""
    root = folder(environment)
    if root is None:
        return None
    project = str(yaml.safe_load((program / "Pulumi.yaml").read_text(encoding="utf-8"))["name"])
    kept, folders = root / ".pulumi", ("history", "backups", "locks/organization")
    others = (kept / each / project / stack for each in folders)
    return Place(kept / "stacks" / project / f"{stack}.json", *others)


class Older(NamedTuple):
    """A whole earlier state: its file, write time (seconds of the epoch), number of resources."""

    path: Path
    seconds: float
    resources: int

    @property
    def write_time(self) -> str:
        """The time when the file was written, for a person."""
        return f"{datetime.fromtimestamp(self.seconds, UTC):%Y-%m-%d %H:%M:%S UTC}"


def edit_state(exported: Json, inputs: Mapping[str, Json], drop: set[str]) -> Json:
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
        begun = [each for each in pending if each["resource"]["urn"] not in drop]
        deployment["pending_operations"] = begun
    return state


def _forget(resource: Json, drop: set[str]) -> None:
    """Take what is dropped out of what a resource depends on: Pulumi refuses a state without it."""
    if resource.get("dependencies"):
        resource["dependencies"] = [each for each in resource["dependencies"] if each not in drop]
    for key, urns in (resource.get("propertyDependencies") or {}).items():
        resource["propertyDependencies"][key] = [each for each in urns or () if each not in drop]
    if resource.get("deletedWith") in drop:
        del resource["deletedWith"]


def older(kept: Place | None) -> list[Older]:
    """The whole states before the one that a stack has, the newest first; none of a backend that is
    no folder. Pulumi copies the file to ``.bak`` before it writes, and keeps each run's end in
    history and backups (pulumi 3.255, backend/diy/state.go)."""
    if kept is None:
        return []
    files = [
        kept.state.with_name(f"{kept.state.name}.bak"),
        *kept.history.glob("*.checkpoint.json"),
        *kept.backups.glob("*.json"),
    ]
    whole = [found for path in files if (found := _whole(path)) is not None]
    return sorted(whole, key=lambda each: each.seconds, reverse=True)


def _whole(path: Path) -> Older | None:
    try:
        said: Any = parse_json(path.read_text(encoding="utf-8"))
        latest = said["checkpoint"]["latest"] or {}
        count = len(latest.get("resources") or ())
        when = path.stat().st_mtime
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return None  # damaged as well
    return Older(path, when, count)
