"""How the API server is reached: address, certificate and token, as a kubeconfig."""

import base64
import json
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

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
    contexts, clusters, users = (
        {entry["name"]: entry[kind] for entry in config[f"{kind}s"]}
        for kind in ("context", "cluster", "user")
    )
    chosen = contexts[context or config["current-context"]]
    cluster, user = clusters[chosen["cluster"]], users[chosen["user"]]
    authority = base64.b64decode(cluster["certificate-authority-data"]).decode()
    return Access(cluster["server"], user["token"], authority)
