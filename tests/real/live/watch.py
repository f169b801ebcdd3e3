"""The objects of an API server, followed by watches: a copy in memory, and a call for each
change."""

import contextlib
import http.client
import json
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

from controlplane import ApiError, Client, Manifest
from controlplane.access import Access

Key = tuple[str, str]
Listener = Callable[[str, Manifest | None, Manifest | None], None]
"""Called with the kind, the object as it was and as it is, for each change in its order."""
_CHANGES = ("ADDED", "MODIFIED", "DELETED")
_BROKEN = (OSError, http.client.HTTPException, ValueError, AttributeError, ApiError)
"""Errors that end a watch: a server that goes away, or another thread that closes it."""
_PAUSE_SECONDS = 0.1
_PATIENCE_SECONDS, _TOO_EARLY = 30.0, 429


class WatchingClient(Client):
    """A client that can also wait for changes."""

    def snapshot(self, api_version: str, kind: str) -> tuple[list[Manifest], str]:
        """All objects of a kind, and the version of the list to watch on from."""
        found = self._patiently(self._path(api_version, kind, None))
        version: str = found["metadata"]["resourceVersion"]
        named = {"apiVersion": api_version, "kind": kind}  # a list says that once for all
        return [{**named, **item} for item in found["items"]], version

    def _patiently(self, path: str) -> Manifest:
        """A GET, repeated while the server still prepares to serve a kind that is new to it."""
        deadline = time.monotonic() + _PATIENCE_SECONDS
        while True:
            try:
                return self.request("GET", path)
            except ApiError as error:
                if error.status != _TOO_EARLY or time.monotonic() > deadline:
                    raise
            time.sleep(_PAUSE_SECONDS)

    def stream(self, api_version: str, kind: str, version: str) -> "Stream":
        """The changes of a kind after ``version``."""
        path = self._path(api_version, kind, None)
        connection = http.client.HTTPSConnection(self._host, self._port, context=self._tls)
        connection.request(
            "GET",
            f"{path}?watch=1&resourceVersion={version}",
            headers={"Authorization": f"Bearer {self._token}"},
        )
        return Stream(connection)


class Stream:
    """One watch: type and object of each change, until it breaks or is closed."""

    def __init__(self, connection: http.client.HTTPSConnection) -> None:
        self._connection = connection

    def __iter__(self) -> Iterator[tuple[str, Manifest]]:
        response = self._connection.getresponse()
        while line := response.readline():
            change = json.loads(line)
            if change.get("type") not in _CHANGES:  # such as a version that is too old by now
                return
            yield change["type"], change["object"]

    def close(self) -> None:
        """End it; whoever waits for the next change gets an error."""
        if (sock := self._connection.sock) is not None:
            with contextlib.suppress(OSError):
                sock.shutdown(2)
        self._connection.close()


class Mirror:
    """The objects of some kinds as the server has them; threads may share it."""

    def __init__(self, access: Access) -> None:
        self.changed = threading.Condition(threading.RLock())
        self._client = WatchingClient(access)
        self._objects: dict[str, dict[Key, Manifest]] = {}
        self._listeners: list[Listener] = []
        self._streams: dict[str, Stream] = {}
        self._closed = False

    def close(self) -> None:
        """End all watches."""
        self._closed = True
        for stream in list(self._streams.values()):
            stream.close()

    def listen(self, listener: Listener) -> None:
        """Call ``listener`` for each change from now on, one at a time."""
        with self.changed:
            self._listeners.append(listener)

    def follow(self, api_version: str, kind: str) -> None:
        """Have all objects of a kind from now on; returns when the first list is there."""
        version = self._list(api_version, kind)
        arguments = (api_version, kind, version)
        threading.Thread(target=self._watch, args=arguments, daemon=True, name=kind).start()

    def all(self, kind: str) -> list[Manifest]:
        """The objects of a kind; nobody may change them."""
        with self.changed:
            return list(self._objects[kind].values())

    def get(self, kind: str, name: str, namespace: str = "") -> Manifest | None:
        """One object, or None."""
        with self.changed:
            return self._objects[kind].get((namespace, name))

    def _list(self, api_version: str, kind: str) -> str:
        found, version = self._client.snapshot(api_version, kind)
        with self.changed:
            known = self._objects.setdefault(kind, {})
            new = {key_of(body): body for body in found}
            for key in known.keys() - new.keys():
                self._put(kind, key, None)
            for key, body in new.items():
                self._put(kind, key, body)
        return version

    def _watch(self, api_version: str, kind: str, version: str) -> None:
        while not self._closed:
            with contextlib.suppress(*_BROKEN):
                stream = self._streams[kind] = self._client.stream(api_version, kind, version)
                for change, body in stream:
                    with self.changed:
                        self._put(kind, key_of(body), None if change == "DELETED" else body)
            if not self._closed:
                time.sleep(_PAUSE_SECONDS)
                with contextlib.suppress(*_BROKEN):
                    version = self._list(api_version, kind)

    def _put(self, kind: str, key: Key, body: Manifest | None) -> None:
        known = self._objects[kind]
        old = known.pop(key, None)
        if body is not None:
            known[key] = body
        for listener in self._listeners:
            listener(kind, old, body)
        self.changed.notify_all()


def key_of(body: Manifest) -> Key:
    """Namespace and name of an object."""
    return body["metadata"].get("namespace", ""), body["metadata"]["name"]


def condition(body: Manifest, name: str) -> dict[str, Any]:
    """A condition of an object's status by its type; empty where there is none."""
    for each in body.get("status", {}).get("conditions", ()):
        if each["type"] == name:
            found: dict[str, Any] = each
            return found
    return {}
