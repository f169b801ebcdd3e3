"""A small client for the API server: plain objects in, plain objects out."""

import contextlib
import http.client
import json
import queue
import ssl
import threading
from collections.abc import Mapping
from typing import Any, Self, TypeAlias
from urllib.parse import quote, urlencode, urlsplit

from controlplane.access import Access
from controlplane.errors import ApiError

Manifest: TypeAlias = dict[str, Any]

MANAGER = "foresite-trial"
_SECONDS = 60.0
_JSON = "application/json"
# Every JSON document is also the YAML that server-side apply asks for.
_APPLY = "application/apply-patch+yaml"
_STALE = (http.client.RemoteDisconnected, BrokenPipeError, ConnectionResetError, ssl.SSLEOFError)
"""Errors of a kept connection that the server has closed in the meantime."""


class Client:
    """Talks to one API server over connections that are kept open; threads may share it."""

    def __init__(self, access: Access) -> None:
        parts = urlsplit(access.server)
        self._host, self._port = parts.hostname or "", parts.port or 443
        self._token = access.token
        self._tls = ssl.create_default_context(cadata=access.authority)
        # Kubernetes' own certificates lack the key identifiers that newer Pythons insist on.
        self._tls.verify_flags &= ~ssl.VERIFY_X509_STRICT
        self._idle: queue.LifoQueue[http.client.HTTPSConnection] = queue.LifoQueue()
        self._paths: dict[tuple[str, str], tuple[str, bool]] = {}
        self._lock = threading.Lock()

    def close(self) -> None:
        """Close the connections that are not in use."""
        with contextlib.suppress(queue.Empty):
            while True:
                self._idle.get_nowait().close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def get(
        self, api_version: str, kind: str, name: str, namespace: str | None = None
    ) -> Manifest | None:
        """The object, or None if there is no such object."""
        return self._known("GET", self._path(api_version, kind, namespace, name))

    def items(self, api_version: str, kind: str, namespace: str | None = None) -> list[Manifest]:
        """All objects of a kind, in ``namespace`` or everywhere."""
        found = self.request("GET", self._path(api_version, kind, namespace))
        items: list[Manifest] = found["items"]
        # A list says once for all what its items are.
        return [{"apiVersion": api_version, "kind": kind, **item} for item in items]

    def apply(self, manifest: Manifest, dry_run: bool = False, strict: bool = True) -> Manifest:
        """Server-side apply; ``strict`` refuses fields that the schema does not have. Returns the
        object as the server has it now, or would have it after a dry run."""
        metadata = manifest["metadata"]
        path = self._path(
            manifest["apiVersion"], manifest["kind"], metadata.get("namespace"), metadata["name"]
        )
        query = {
            "fieldManager": MANAGER,
            "force": "true",
            "fieldValidation": "Strict" if strict else "Ignore",
            **({"dryRun": "All"} if dry_run else {}),
        }
        return self.request("PATCH", f"{path}?{urlencode(query)}", manifest, _APPLY)

    def create(self, manifest: Manifest) -> Manifest:
        """Create the object, and return it as the server has it; ApiError where it is there."""
        namespace = manifest["metadata"].get("namespace")
        path = self._path(manifest["apiVersion"], manifest["kind"], namespace)
        return self.request("POST", path, manifest)

    def delete(self, api_version: str, kind: str, name: str, namespace: str | None = None) -> bool:
        """Delete the object; False if it was not there."""
        path = self._path(api_version, kind, namespace, name)
        return self._known("DELETE", f"{path}?propagationPolicy=Background") is not None

    def _known(self, method: str, path: str) -> Manifest | None:
        """The answer of one request; None where there is no such thing."""
        try:
            return self.request(method, path)
        except ApiError as error:
            if error.status != http.client.NOT_FOUND:
                raise
            return None

    def serves(self, api_version: str, kind: str) -> bool:
        """True if the server knows the kind by now."""
        return self._resource(api_version, kind) is not None

    def request(
        self, method: str, path: str, body: Manifest | None = None, content_type: str = _JSON
    ) -> Manifest:
        """One request; what is answered, or ApiError."""
        headers = {"Authorization": f"Bearer {self._token}", "Accept": _JSON}
        data = None
        if body is not None:
            data = json.dumps(body).encode()
            headers["Content-Type"] = content_type
        status, answer = self._exchange(method, path, data, headers)
        if status >= http.client.BAD_REQUEST:
            raise _api_error(status, answer)
        return _decode(answer)

    def _exchange(
        self, method: str, path: str, data: bytes | None, headers: Mapping[str, str]
    ) -> tuple[int, bytes]:
        """Send and receive; once more where the server had closed a connection that was idle."""
        try:
            connection = self._idle.get_nowait()
        except queue.Empty:
            connection = self._connect()
        stale = () if connection.sock is None else _STALE
        try:
            try:
                connection.request(method, path, data, dict(headers))
                response = connection.getresponse()
            except stale:
                connection.close()
                connection.request(method, path, data, dict(headers))
                response = connection.getresponse()
            found = response.status, response.read()
        except BaseException:
            connection.close()
            raise
        self._idle.put(connection)
        return found

    def _connect(self) -> http.client.HTTPSConnection:
        return http.client.HTTPSConnection(
            self._host, self._port, timeout=_SECONDS, context=self._tls
        )

    def _path(
        self, api_version: str, kind: str, namespace: str | None, name: str | None = None
    ) -> str:
        """The address of an object, or of a collection."""
        resource = self._resource(api_version, kind)
        if resource is None:
            message = f"the server has no kind {kind} in {api_version}"
            raise ApiError(http.client.NOT_FOUND, "NoSuchKind", message, ())
        plural, namespaced = resource
        steps = [_group(api_version)]
        if namespaced and namespace:
            steps += ["namespaces", quote(namespace, safe="")]
        steps.append(plural)
        if name is not None:
            steps.append(quote(name, safe=""))
        return "/".join(steps)

    def _resource(self, api_version: str, kind: str) -> tuple[str, bool] | None:
        """The plural of a kind and whether it is namespaced, from the server's own list."""
        key = (api_version, kind)
        if key not in self._paths:
            listed = self._known("GET", _group(api_version))
            if listed is None:
                return None
            with self._lock:
                for row in listed["resources"]:
                    if "/" not in row["name"]:
                        self._paths[api_version, row["kind"]] = (row["name"], row["namespaced"])
        return self._paths.get(key)


def _group(api_version: str) -> str:
    return f"/apis/{api_version}" if "/" in api_version else f"/api/{api_version}"


def _decode(answer: bytes) -> Manifest:
    """A JSON object as it is; text, such as the answer to a health check, as ``text``."""
    try:
        decoded = json.loads(answer)
    except ValueError:
        decoded = None
    return decoded if isinstance(decoded, dict) else {"text": answer.decode(errors="replace")}


def _api_error(status: int, answer: bytes) -> ApiError:
    body: Manifest = _decode(answer)
    causes = (body.get("details") or {}).get("causes", ())
    return ApiError(
        status,
        str(body.get("reason", "")),
        str(body.get("message", body.get("text", ""))),
        tuple(f"{cause.get('field', '')}: {cause.get('message', '')}" for cause in causes),
    )
