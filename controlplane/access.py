"""How the API server is reached (address, certificate, token), as a kubeconfig, and secrets of a
throw-away server, made here, used nowhere else, readable by their owner alone."""

import base64
import json
import os
import secrets
import textwrap
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

# The order of the group of P-256, the curve that API servers sign tokens with.
_P256_ORDER = 0xFFFFFFFF00000000FFFFFFFFFFFFFFFFBCE6FAADA7179E84F3B9CAC2FC632551
# SEC 1 in DER: SEQUENCE { INTEGER 1, OCTET STRING (32 bytes), [0] { OID prime256v1 } }. The public
# half may be left out, and then a private key is nothing but a random number in the right frame:
# neither openssl nor a library is needed.
_BEFORE_KEY = bytes.fromhex("30310201010420")
_AFTER_KEY = bytes.fromhex("a00a06082a8648ce3d030107")


def signing_key() -> str:
    """A new private key for service account tokens, as PEM."""
    number = secrets.randbelow(_P256_ORDER - 1) + 1
    der = _BEFORE_KEY + number.to_bytes(32, "big") + _AFTER_KEY
    lines = textwrap.wrap(base64.b64encode(der).decode(), 64)
    return "\n".join(["-----BEGIN EC PRIVATE KEY-----", *lines, "-----END EC PRIVATE KEY-----", ""])


def token() -> str:
    """A new bearer token."""
    return secrets.token_urlsafe(32)


def write_private(path: Path, text: str) -> None:
    """Write a file that only its owner can read, whole or not at all."""
    draft = path.with_name(f".{path.name}.{os.getpid()}")
    draft.unlink(missing_ok=True)
    handle = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(handle, "w", encoding="utf-8") as file:
        file.write(text)
    draft.replace(path)


@dataclass(frozen=True, slots=True)
class Access:
    """Everything that a client needs."""

    server: str
    token: str
    authority: str


def write_kubeconfig(path: Path, access: Access, contexts: Iterable[str]) -> None:
    """A kubeconfig in which each of ``contexts`` means this server; the first is the default. As
    JSON, which every reader of kubeconfigs takes as YAML."""
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
