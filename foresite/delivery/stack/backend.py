"""The place where Pulumi keeps a stack whose backend is a folder of this machine."""

from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple
from urllib.parse import unquote

import yaml

_FILE = "file://"


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


def place(environment: Mapping[str, str], program: Path, stack: str) -> Place | None:
    """The place of a stack of the project in ``program``; None where the backend is no folder.

    Raises OSError where ``program`` has no Pulumi.yaml.
    """
    root = folder(environment)
    if root is None:
        return None
    project = str(yaml.safe_load((program / "Pulumi.yaml").read_text(encoding="utf-8"))["name"])
    kept = root / ".pulumi"
    return Place(
        kept / "stacks" / project / f"{stack}.json",
        kept / "history" / project / stack,
        kept / "backups" / project / stack,
        kept / "locks" / "organization" / project / stack,
    )
