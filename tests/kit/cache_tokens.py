"""Tokens of pods from a real API server, and those that it never gives, signed with its key."""

import base64
import hashlib
import json
import secrets
from typing import Any, NamedTuple

from components.making.manifest import Json
from controlplane import Client, ControlPlane

# P-256 (SEC 2, version 2, section 2.4.2).
_FIELD = 0xFFFFFFFF00000001000000000000000000000000FFFFFFFFFFFFFFFFFFFFFFFF
_ORDER = 0xFFFFFFFF00000000FFFFFFFFFFFFFFFFBCE6FAADA7179E84F3B9CAC2FC632551
_POINT = (
    0x6B17D1F2E12C4247F8BCE6E563A440F277037D812DEB33A0F4A13945D898C296,
    0x4FE342E2FE1A7F9B8EE7EB4A7C0F9E162BCE33576B315ECECBB6406837BF51F5,
)


class Pod(NamedTuple):
    """A pod that the API server knows; nothing runs it."""

    client: Client
    namespace: str
    name: str
    uid: str

    def token(self, audience: str, seconds: int = 3600) -> str:
        """A token of the pod, as the kubelet asks for it for a projected volume."""
        bound = {"apiVersion": "v1", "kind": "Pod", "name": self.name, "uid": self.uid}
        spec = {"audiences": [audience], "expirationSeconds": seconds, "boundObjectRef": bound}
        path = f"/api/v1/namespaces/{self.namespace}/serviceaccounts/default/token"
        body = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": spec}
        found = self.client.request("POST", path, body)["status"]["token"]
        assert isinstance(found, str)
        return found

    def delete(self) -> None:
        """Delete the pod at once, as no kubelet would end it."""
        path = f"/api/v1/namespaces/{self.namespace}/pods/{self.name}?gracePeriodSeconds=0"
        self.client.request("DELETE", path)


def new_pod(client: Client, namespace: str, spec: Json) -> Pod:
    """A pod in a namespace, which is made with its account where it is not there.

    The account is what a controller makes, and the pod's naming it what an admission plugin does;
    the embedded server has neither.
    """
    owner = {"name": "default", "namespace": namespace}
    client.apply({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": namespace}})
    client.apply({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": owner})
    name = f"worker-{secrets.token_hex(4)}"
    body = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "namespace": namespace},
        "spec": {"serviceAccountName": "default", **spec},
    }
    return Pod(client, namespace, name, client.create(body)["metadata"]["uid"])


def claims(token: str) -> Json:
    """The claims of a token."""
    found: Json = json.loads(_decoded(token.split(".")[1]))
    return found


def signed(plane: ControlPlane, like: str, **changed: Any) -> str:
    """A token like another with other claims, signed with the API server's own key."""
    head, _, _ = like.partition(".")
    assert json.loads(_decoded(head))["alg"] == "ES256"
    body = _encoded(json.dumps({**claims(like), **changed}).encode())
    signature = _sign(_private_key(plane), f"{head}.{body}".encode())
    return f"{head}.{body}.{_encoded(signature)}"


def _private_key(plane: ControlPlane) -> int:
    pem = (plane.directory / "service-accounts.key").read_text()
    der = base64.b64decode("".join(pem.splitlines()[1:-1]))
    # SEQUENCE { INTEGER 1, OCTET STRING (32 bytes), ...} (controlplane/access.py).
    return int.from_bytes(der[7:39], "big")


def _sign(key: int, text: bytes) -> bytes:
    """ECDSA (FIPS 186-5, section 6.4), as JWS writes it (RFC 7518, section 3.4)."""
    digest = int.from_bytes(hashlib.sha256(text).digest(), "big")
    number = secrets.randbelow(_ORDER - 1) + 1
    x, _ = _times(number)
    r = x % _ORDER
    s = pow(number, -1, _ORDER) * (digest + r * key) % _ORDER
    return r.to_bytes(32, "big") + s.to_bytes(32, "big")


def _times(number: int) -> tuple[int, int]:
    """The base point, so often added to itself."""
    total: tuple[int, int] | None = None
    power = _POINT
    while number:
        if number & 1:
            total = power if total is None else _plus(total, power)
        power, number = _plus(power, power), number >> 1
    assert total is not None
    return total


def _plus(one: tuple[int, int], other: tuple[int, int]) -> tuple[int, int]:
    (x1, y1), (x2, y2) = one, other
    if one == other:
        slope = (3 * x1 * x1 - 3) * pow(2 * y1, -1, _FIELD) % _FIELD
    else:
        slope = (y2 - y1) * pow(x2 - x1, -1, _FIELD) % _FIELD
    x3 = (slope * slope - x1 - x2) % _FIELD
    return x3, (slope * (x1 - x3) - y1) % _FIELD


def _encoded(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


def _decoded(text: str) -> bytes:
    return base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))
