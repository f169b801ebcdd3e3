"""A fake of the API server's TokenReview: for what the real one cannot be made to do at once."""

import base64
import json
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from cache_server_kit.ports import free_port

AUDIENCE = "cache"
SIGNATURE = "c2ln"


def fake_token(
    namespace: str, audience: str = AUDIENCE, seconds: float = 86400.0, salt: str = "", **more: Any
) -> str:
    """A token in the form of a real one, which the fake believes; ``more`` are other claims, of
    which None leaves one out."""
    claims = {
        "sub": f"system:serviceaccount:{namespace}:default",
        "aud": [audience],
        "exp": time.time() + seconds,
        "salt": salt,
        **more,
    }
    return signed({name: claim for name, claim in claims.items() if claim is not None})


def signed(claims: Any, signature: str = SIGNATURE) -> str:
    """Claims as a token; with another signature the fake refuses it, as it is somebody else's."""
    payload = base64.urlsafe_b64encode(json.dumps(claims).encode()).decode().rstrip("=")
    return f"e30.{payload}.{signature}"


def forged(namespace: str, salt: str = "") -> str:
    """A token that looks good until its signature is checked."""
    return fake_token(namespace, salt=salt).removesuffix(SIGNATURE) + "Zm9yZ2Vk"


class FakeTokenReviews:
    """Judges fake tokens. ``status`` other than 201 is an outage; ``gate`` holds answers back.

    ``answer`` is put in the place of the judgement.
    """

    def __init__(self) -> None:
        self.reviews = 0
        self.own_tokens: list[str] = []
        self.status = 201
        self.answer: dict[str, Any] | None = None
        self.busy = 0
        """So many reviews are answered with 429, and ``retry_after`` where it is not empty."""
        self.retry_after = ""
        self.gate = threading.Event()
        self.gate.set()
        self._lock = threading.Lock()
        self.url = ""

    def judge(self, token: str, audiences: list[str]) -> dict[str, Any]:
        """The status of a TokenReview, as kube-apiserver 1.34 answers it."""
        if self.answer is not None:
            return self.answer
        try:
            _, payload, signature = token.split(".")
            claims = json.loads(base64.urlsafe_b64decode(payload + "=" * (-len(payload) % 4)))
        except ValueError:
            return {"user": {}, "error": "invalid bearer token"}
        common = [each for each in claims["aud"] if each in audiences]
        good = signature == SIGNATURE and claims["exp"] > time.time()
        if not (good and common):
            return {"user": {}, "error": "invalid bearer token"}
        return {"authenticated": True, "user": {"username": claims["sub"]}, "audiences": common}

    def take(self, own: str, review: dict[str, Any]) -> tuple[int, dict[str, Any]]:
        with self._lock:
            self.reviews += 1
            self.own_tokens.append(own)
            if self.busy > 0:
                self.busy -= 1
                return 429, {"kind": "Status", "code": 429}
        self.gate.wait(60)
        spec = review["spec"]
        status = self.judge(spec["token"], spec["audiences"])
        return self.status, {"kind": "TokenReview", "status": status}


@contextmanager
def fake_token_reviews() -> Iterator[FakeTokenReviews]:
    """A fake that listens on the loopback."""
    fake = FakeTokenReviews()

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            assert self.path == "/apis/authentication.k8s.io/v1/tokenreviews"
            body = self.rfile.read(int(self.headers["Content-Length"]))
            own = self.headers["Authorization"].removeprefix("Bearer ")
            status, answer = fake.take(own, json.loads(body))
            text = json.dumps(answer).encode()
            self.send_response(status)
            if status == 429 and fake.retry_after:
                self.send_header("Retry-After", fake.retry_after)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(text)))
            self.end_headers()
            self.wfile.write(text)

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", free_port()), Handler)
    server.daemon_threads = True
    fake.url = f"http://127.0.0.1:{server.server_address[1]}"
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield fake
    finally:
        fake.gate.set()
        server.shutdown()
        server.server_close()
