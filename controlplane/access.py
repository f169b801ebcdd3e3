"""How the API server is reached: address, certificate and token, as a kubeconfig."""

import base64
import json
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from controlplane.credentials import write_private


@dataclass(frozen=True, slots=True)
class Access:
    """Everything that a client needs."""

    server: str
    token: str
    authority: str


def write_kubeconfig(path: Path, access: Access, contexts: Iterable[str]) -> None:
    """A kubeconfig in which each of ``contexts`` means this server; the first is the default.

    It is written as JSON, which every reader of kubeconfigs takes as the YAML that it also is.
    """
    names = list(contexts)
    authority = base64.b64encode(access.authority.encode()).decode()
    cluster = {"server": access.server, "certificate-authority-data": authority}
    config = {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": name, "cluster": cluster} for name in names],
        "users": [{"name": name, "user": {"token": access.token}} for name in names],
        "contexts": [{"name": name, "context": {"cluster": name, "user": name}} for name in names],
        "current-context": names[0],
    }
    write_private(path, json.dumps(config, indent=2) + "\n")


def read_kubeconfig(path: Path, context: str | None = None) -> Access:
    """The access that a kubeconfig from :func:`write_kubeconfig` gives for ``context``."""
    config = json.loads(path.read_text(encoding="utf-8"))
    chosen = _entry(config, "contexts", context or config["current-context"])["context"]
    cluster = _entry(config, "clusters", chosen["cluster"])["cluster"]
    user = _entry(config, "users", chosen["user"])["user"]
    authority = base64.b64decode(cluster["certificate-authority-data"]).decode()
    return Access(cluster["server"], user["token"], authority)


def _entry(config: dict[str, Any], section: str, name: str) -> dict[str, Any]:
    """The entry ``name`` of a list of named entries."""
    for entry in config[section]:
        if entry["name"] == name:
            found: dict[str, Any] = entry
            return found
    raise KeyError(f"no {name!r} under {section}")
