"""Public keys for SSH: what sshd reads of a line, and refuses without a word to anybody."""

import base64
from collections.abc import Iterator
from typing import Annotated

from pydantic import AfterValidator

from schemas.model.primitives import fault, text_form
from schemas.model.texts import words

_PARTS = {"ssh-ed25519": 2}
"""Strings in a key, its type's name among them; 3 in all others (RFC 4253, 6.6; RFC 5656, 3.1; RFC
8709, 4; OpenSSH PROTOCOL.u2f)."""
_ED25519_BYTES, _LEAST_RSA_BITS = 32, 2048


def _demand_public(value: str) -> str:
    if "PRIVATE KEY" in value:
        raise fault(words("ssh-key-private"))
    return value


def _demand_whole(value: str) -> str:
    """Refuse a key that sshd cannot decode: one cut off, changed, or of another type."""
    kind, data = value.split(" ")[:2]
    try:
        parts = list(_strings(base64.b64decode(data, validate=True)))
    except ValueError:
        parts = []
    if not parts:
        raise fault(words("ssh-key-cut-off"))
    if (named := parts[0].decode("ascii", "replace")) != kind:
        raise fault(words("ssh-key-of-other-type", kind, named[:30]))
    if len(parts) != _PARTS.get(kind, 3) or not _is_sound(kind, parts):
        raise fault(words("ssh-key-damaged", kind))
    return value


def _strings(data: bytes) -> Iterator[bytes]:
    """The strings of SSH's wire format (RFC 4251, 5). Raises ValueError where one is cut off."""
    while data:
        size = 4 + int.from_bytes(data[:4], "big")
        if len(data) < size:
            raise ValueError("cut off")
        yield data[4:size]
        data = data[size:]


def _is_sound(kind: str, parts: list[bytes]) -> bool:
    if kind == "ssh-rsa":
        return int.from_bytes(parts[2], "big").bit_length() >= _LEAST_RSA_BITS
    if "ed25519" in kind:
        return len(parts[1]) == _ED25519_BYTES
    return parts[1].decode("ascii", "replace") == kind.removeprefix("ecdsa-sha2-") and any(parts[2])


PublicKey = Annotated[
    str,
    AfterValidator(_demand_public),
    text_form(
        r"(ssh-ed25519|ssh-rsa|ecdsa-sha2-nistp(256|384|521)|sk-ssh-ed25519@openssh\.com) "
        r"[A-Za-z0-9+/]{40,}={0,2}( [A-Za-z0-9@._+-]{1,100})?",
        "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAI… ops",
        longest=2048,
    ),
    AfterValidator(_demand_whole),
]
"""An OpenSSH public key on one line: type, base64, and a comment if you like."""
