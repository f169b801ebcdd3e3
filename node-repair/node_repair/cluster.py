"""A cluster's API server: plain objects in and out, by the official client.

That client reads the credentials, renews a pod's token and speaks HTTP. Its typed models are not
used: they take a second to import, and of each list a few fields are read.
"""

import json
import time
from collections.abc import Iterator, Mapping
from http import HTTPStatus
from typing import Any, Self

import urllib3
from kubernetes import config
from kubernetes.client import ApiClient, ApiException, Configuration

Json = dict[str, Any]
MERGE = "application/merge-patch+json"
PAGE = 500
"""Objects of one answer, so that a large cluster's pods are never all in memory."""
CHANGE_SECONDS = 10.0
"""A change takes at most so long: no later leader may see it come (lease.py). The API server gives
it up a little earlier than who asks for it."""


class ClusterError(Exception):
    """The API server refused something, or did not answer (``status`` 0)."""

    def __init__(self, message: str, status: int = 0) -> None:
        super().__init__(message)
        self.status = status


class Cluster:
    """The API server of a kubeconfig, or else of the pod's own cluster. A request takes ``seconds``
    at most, a change ``CHANGE_SECONDS``. Raises ClusterError for an unreadable kubeconfig."""

    def __init__(self, kubeconfig: str = "", seconds: float = 30.0) -> None:
        settings = Configuration()
        try:
            if kubeconfig:
                config.load_kube_config(kubeconfig, client_configuration=settings)
            else:
                config.load_incluster_config(settings)
        except (config.ConfigException, OSError, ValueError, TypeError) as error:
            raise ClusterError(f"no access to the cluster: {error}") from error
        settings.retries = False
        self.begun = time.time()
        """When the last request was begun, in seconds since 1970."""
        self._client, self._seconds = ApiClient(settings), seconds

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._client.close()

    def request(
        self,
        method: str,
        path: str,
        body: Json | None = None,
        query: Mapping[str, str | int] | None = None,
    ) -> Json:
        """One request. Raises ClusterError where it is refused, or nobody answers."""
        self.begun = time.time()
        kind = MERGE if method == "PATCH" else "application/json"
        seconds, asked = self._seconds, dict(query or {})
        if method != "GET":
            seconds = min(seconds, CHANGE_SECONDS)
            asked["timeout"] = f"{int(seconds * 0.8)}s"
        try:
            answer = self._client.call_api(
                path,
                method,
                query_params=list(asked.items()),
                header_params={"Accept": "application/json", "Content-Type": kind},
                body=body,
                auth_settings=["BearerToken"],
                _preload_content=False,
                _return_http_data_only=True,
                _request_timeout=seconds,
            )
            found: Json = json.loads(answer.data)
        except ApiException as error:
            raise ClusterError(f"{method} {path}: {error.reason}", error.status or 0) from error
        except (urllib3.exceptions.HTTPError, OSError, ValueError) as error:
            raise ClusterError(f"{method} {path}: {error}") from error
        return found

    def get(self, path: str) -> Json | None:
        """An object; None where there is none."""
        try:
            return self.request("GET", path)
        except ClusterError as error:
            if error.status == HTTPStatus.NOT_FOUND:
                return None
            raise

    def items(self, path: str, **query: str) -> Iterator[Json]:
        """The objects of a list as of one moment, page by page."""
        more: dict[str, str | int] = {"limit": PAGE, **query}
        while True:
            found = self.request("GET", path, query=more)
            yield from found.get("items") or ()
            token = found.get("metadata", {}).get("continue")
            if not token:
                return
            more["continue"] = token

    def patch(self, path: str, body: Json) -> None:
        """A merge patch: lists are replaced."""
        self.request("PATCH", path, body)
