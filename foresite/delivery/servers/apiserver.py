"""An API server that a context names, asked a few questions by way of ``kubectl proxy``. kubectl
reads the kubeconfig and logs in, whatever plugin that takes; nothing here sees a credential. The
proxy listens on a socket in a folder of its owner's, and passes on neither changes nor deletions.
Every question ends within a given time."""

import http.client
import json
import select
import socket
import subprocess
import tempfile
import time
from collections.abc import Mapping
from dataclasses import dataclass
from email.utils import parsedate_to_datetime
from pathlib import Path
from typing import Any, Self

from controlplane.child_process import tie_to_parent
from schemas.reading.bounded import parse_json

Json = dict[str, Any]

PATIENCE = 15.0
"""Seconds for which a server that does not answer a question, or is too busy, is asked again."""
_PAUSE = 0.25
_CHANGES = "^(PUT|PATCH|DELETE)$"
_BUSY = {429, 500, 502, 503, 504}
"""Answers after which asking again may help: too many requests, and faults of the server; 500 is
also what the proxy says, in plain text, where it does not reach the server."""
_FOR_GOOD = ("tls: ", "getting credentials")
"""Texts of the proxy's errors that a retry cannot mend."""


class NoAnswerError(Exception):
    """The server could not be asked; the message is why."""


class RefusedError(Exception):
    """The server answered that it will not; ``status`` is the HTTP status."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status = status


@dataclass(frozen=True, slots=True)
class Kubectl:
    """The executable and its environment, in which ``KUBECONFIG`` may be named."""

    path: Path
    environment: Mapping[str, str]

    def contexts(self) -> dict[str, str]:
        """The address of the API server by context, as the kubeconfig has it. Raises NoAnswerError
        where kubectl cannot read it."""
        done = self.run("config", "view", "--output", "json")
        if done.returncode:
            raise NoAnswerError(_first(done.stderr))
        config = parse_json(done.stdout)
        servers = {c["name"]: c["cluster"].get("server", "") for c in config["clusters"] or ()}
        return {
            each["name"]: servers.get(each["context"].get("cluster", ""), "")
            for each in config["contexts"] or ()
        }

    def where(self) -> str:
        """The kubeconfig for a person: the variable's files, or kubectl's own."""
        return self.environment.get("KUBECONFIG") or "~/.kube/config"

    def run(self, *arguments: str, given: str = "") -> subprocess.CompletedProcess[str]:
        """A short kubectl command with what it is ``given`` to read, and what it printed."""
        return subprocess.run(
            [str(self.path), *arguments], env=dict(self.environment), capture_output=True,
            text=True, check=False, input=given,
        )  # fmt: skip


class ApiServer:
    """The API server of one context, for the time of a ``with`` block."""

    def __init__(self, kubectl: Kubectl, context: str, patience: float | None = None) -> None:
        self.context = context
        self.ahead: float | None = None
        """Seconds by which its clock is before this machine's; None until it gives a date."""
        self._kubectl = kubectl
        self._patience = PATIENCE if patience is None else patience
        self._gave_up = ""
        self._folder = tempfile.TemporaryDirectory(prefix="foresite-")
        self._socket = Path(self._folder.name) / "api"
        self._complaints = Path(self._folder.name) / "complaints"
        self._process: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> Self:
        command: list[str | Path] = [
            self._kubectl.path, "proxy", "--context", self.context,
            f"--unix-socket={self._socket}", f"--reject-methods={_CHANGES}",
        ]  # fmt: skip
        try:
            with open(self._complaints, "wb") as complaints:
                self._process = subprocess.Popen(
                    tie_to_parent(command), env=dict(self._kubectl.environment),
                    stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=complaints,
                    start_new_session=True,
                )  # fmt: skip
            self._wait(self._process)
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            if self._process.stdout is not None:
                self._process.stdout.close()
        self._folder.cleanup()

    def get(
        self, path: str, accept: str = "application/json", limit: float | None = None
    ) -> Json | None:
        """The server's answer at a path; None where it has nothing. ``limit``: seconds for a path
        whose own server may be away; others go on without. Raises NoAnswerError, RefusedError."""
        return self._ask("GET", path, None, accept, limit)

    def may(self, verb: str, group: str, resource: str, namespace: str) -> bool:
        """True if the account may do something. Raises NoAnswerError and RefusedError."""
        attributes = {"verb": verb, "group": group, "resource": resource, "namespace": namespace}
        review = {"apiVersion": "authorization.k8s.io/v1", "kind": "SelfSubjectAccessReview",
                  "spec": {"resourceAttributes": attributes}}  # fmt: skip
        path = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews"
        answer = self._ask("POST", path, review, "application/json") or {}
        return bool(answer.get("status", {}).get("allowed"))

    def _ask(
        self, method: str, path: str, body: Json | None, accept: str, limit: float | None = None
    ) -> Json | None:
        """One question, asked again while the server is busy or away and there is time."""
        patience = self._patience if limit is None else min(limit, self._patience)
        why = self._gave_up or f"nothing came in {patience:.0f} s"
        began = time.monotonic()
        until = began + (0 if self._gave_up else patience)
        while (left := until - time.monotonic()) > 0:
            pause = _PAUSE
            try:
                status, answer, wait = self._once(method, path, body, accept, left)
            except TimeoutError:
                break
            except (OSError, http.client.HTTPException) as error:
                why = str(error) or type(error).__name__
            else:
                if status == http.client.NOT_FOUND:
                    return None
                if status < http.client.BAD_REQUEST:
                    return _decode(answer)
                why = _message(status, answer)
                if status not in _BUSY:
                    raise RefusedError(status, why)
                if why.startswith(_FOR_GOOD):
                    break
                if status == http.client.TOO_MANY_REQUESTS:
                    until = began + self._patience  # it is there, and makes room
                pause = max(pause, wait)
            time.sleep(max(0.0, min(pause, until - time.monotonic())))
        # Other threads' questions would only wait as long again.
        self._gave_up = why if limit is None else self._gave_up
        raise NoAnswerError(why)

    def _once(
        self, method: str, path: str, body: Json | None, accept: str, seconds: float
    ) -> tuple[int, bytes, float]:
        """Status, answer, and the seconds that the server asks to wait."""
        connection, began = http.client.HTTPConnection("localhost"), time.time()
        connection.sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        headers = {"Accept": accept, "Content-Type": "application/json"}
        try:
            connection.sock.settimeout(seconds)
            connection.sock.connect(str(self._socket))
            data = None if body is None else json.dumps(body).encode()
            connection.request(method, path, data, headers)
            response = connection.getresponse()
            wait = response.headers.get("Retry-After", "")
            if response.status < http.client.INTERNAL_SERVER_ERROR:  # else kubectl proxy's own
                self.ahead = clock_ahead(response.headers.get("Date", ""), began, time.time())
            return response.status, response.read(), float(wait) if wait.isdecimal() else 0.0
        finally:
            connection.close()

    def _wait(self, process: subprocess.Popen[bytes]) -> None:
        """Until the proxy listens; what it says first is where."""
        assert process.stdout is not None  # noqa: S101 it is a pipe
        ready, _, _ = select.select([process.stdout], [], [], self._patience)
        if not ready:
            raise NoAnswerError("kubectl proxy does not start")
        if not process.stdout.readline():
            process.wait()
            text = self._complaints.read_text(encoding="utf-8", errors="replace")
            raise NoAnswerError(_first(text) or "kubectl proxy ended")


def clock_ahead(date: str, began: float, ended: float) -> float | None:
    """Seconds that a clock is ahead of this one at least, behind if negative, by the date of an
    answer, in whole seconds, to a question between two times; None where it is no date."""
    try:
        told = parsedate_to_datetime(date).timestamp()
    except (ValueError, OverflowError):
        return None
    return max(told - ended, 0.0) + min(told + 1 - began, 0.0)


def _decode(answer: bytes) -> Json:
    """A JSON object; text, such as ``ok``, as ``text``."""
    try:
        decoded = parse_json(answer)
    except ValueError:
        decoded = None
    return decoded if isinstance(decoded, dict) else {"text": answer.decode(errors="replace")}


def _message(status: int, answer: bytes) -> str:
    """The complaint of an answer; the proxy's own complaints are plain text."""
    body = _decode(answer)
    text = " ".join(str(body.get("message", body.get("text", ""))).split())[:300]
    return text if status == 500 and "message" not in body else f"HTTP {status}: {text}"


def _first(text: str) -> str:
    """The first line of what kubectl complains of."""
    lines = [line for line in text.splitlines() if line.strip()]
    return lines[0].removeprefix("error: ") if lines else ""
