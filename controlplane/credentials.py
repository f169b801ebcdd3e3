"""Secrets of a throw-away server: made here, used nowhere else, readable by their owner alone."""

import base64
import os
import secrets
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
    body = base64.encodebytes(der).decode().replace("\n", "")
    lines = [body[start : start + 64] for start in range(0, len(body), 64)]
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
