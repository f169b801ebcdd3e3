"""An OpenID Connect provider and a KMS plugin on the loopback, as an API server asks them."""

import base64
import contextlib
import json
import subprocess
import time
from collections.abc import Iterator
from concurrent import futures
from pathlib import Path
from typing import Any

import grpc  # type: ignore[import-untyped]

from components.making.manifest import Json
from controlplane.ports import free_port
from tests.kit.web import Handler, listening


class Issuer:
    """Its key, its certificate (its own authority), and tokens."""

    def __init__(self, directory: Path) -> None:
        self.url = f"https://127.0.0.1:{free_port()}"
        self._key, self.certificate = directory / "issuer.key", directory / "issuer.pem"
        self._openssl(
            *("req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=issuer"),
            *("-addext", "subjectAltName=IP:127.0.0.1"),
            *("-keyout", self._key, "-out", self.certificate),
        )

    def token(self, **claims: Any) -> str:
        """A token of the person ada in the group vision, but for ``claims``."""
        now = int(time.time())
        said = {"iss": self.url, "aud": "kubernetes", "sub": "ada", "groups": ["vision"],
                "kind": "staff", "iat": now, "exp": now + 600, **claims}  # fmt: skip
        head = {"alg": "RS256", "kid": "a"}
        text = ".".join(_encoded(json.dumps(each).encode()) for each in (head, said))
        return f"{text}.{_encoded(self._openssl('dgst', '-sha256', '-sign', self._key, text=text))}"

    def documents(self) -> dict[str, Json]:
        """What it answers, by path."""
        said = self._openssl("rsa", "-in", self._key, "-noout", "-modulus").decode()
        modulus = _encoded(bytes.fromhex(said.strip().partition("=")[2]))
        key = {"kty": "RSA", "alg": "RS256", "use": "sig", "kid": "a", "n": modulus, "e": "AQAB"}
        found = {"issuer": self.url, "jwks_uri": f"{self.url}/keys"}
        return {"/.well-known/openid-configuration": found, "/keys": {"keys": [key]}}

    @contextlib.contextmanager
    def serving(self) -> Iterator[None]:
        """Answer, until the block is left."""
        documents = self.documents()

        class Answers(Handler):
            def do_GET(self) -> None:
                status, kind = 200 if self.path in documents else 404, "application/json"
                self.answer(status, documents.get(self.path), {"Content-Type": kind})

        port = int(self.url.rpartition(":")[2])
        with listening(Answers, port, (self.certificate, self._key)):
            yield

    @staticmethod
    def _openssl(*words: str | Path, text: str = "") -> bytes:
        command = ["openssl", *words]
        return subprocess.run(command, check=True, input=text.encode(), capture_output=True).stdout


@contextlib.contextmanager
def kms(socket: Path) -> Iterator[None]:
    """A KMS v2 plugin (Kubernetes 1.34, kms/apis/v2/api.proto) that turns bytes around."""

    def status(_: bytes, _context: object) -> bytes:
        return _field(1, b"v2") + _field(2, b"ok") + _field(3, b"key-1")

    def encrypt(request: bytes, _: object) -> bytes:
        return _field(1, _first(request)[::-1]) + _field(2, b"key-1")

    def decrypt(request: bytes, _: object) -> bytes:
        return _field(1, _first(request)[::-1])

    methods = {"Status": status, "Encrypt": encrypt, "Decrypt": decrypt}
    handlers = {name: grpc.unary_unary_rpc_method_handler(each) for name, each in methods.items()}
    server = grpc.server(futures.ThreadPoolExecutor(2))
    service = grpc.method_handlers_generic_handler("v2.KeyManagementService", handlers)
    server.add_generic_rpc_handlers((service,))
    server.add_insecure_port(f"unix:{socket}")
    server.start()
    try:
        yield
    finally:
        server.stop(None)


def _field(number: int, data: bytes) -> bytes:
    """A field of a message with a short length, as Protocol Buffers write it."""
    return bytes([number << 3 | 2, len(data)]) + data


def _first(message: bytes) -> bytes:
    """The first field, which is number 1."""
    assert message[0] == 1 << 3 | 2
    return message[2 : 2 + message[1]]


def _encoded(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()
