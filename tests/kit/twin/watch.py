"""The events of the twin: pods and nodes as they are, waits for changes, and when pods bind."""

import time
from collections import defaultdict
from collections.abc import Callable, Iterator
from typing import NamedTuple, Self, TypeVar

from controlplane import ApiError, Client, Manifest
from controlplane.access import Access
from tests.real.live.watch import Mirror, condition

T = TypeVar("T")
_SHOWN = 5
"""How many pods, and how many of their events, an error shows."""


class Bind(NamedTuple):
    """A pod was given a node; ``seconds`` on ``time.monotonic``, as seen here."""

    pod: str
    node: str
    seconds: float


class Deletion(NamedTuple):
    """A pod is gone; ``seconds`` on ``time.monotonic``, as seen here."""

    pod: str
    seconds: float


class Watch:
    """Follows all pods and nodes, and remembers every bind and every deletion."""

    def __init__(self, access: Access) -> None:
        self._mirror = Mirror(access)
        self._client = Client(access)
        self._binds: defaultdict[str, list[Bind]] = defaultdict(list)
        self._deletions: defaultdict[str, list[Deletion]] = defaultdict(list)
        self._mirror.listen(self._note)

    def __enter__(self) -> Self:
        for kind in ("Node", "Pod"):
            self._mirror.follow("v1", kind)
        return self

    def __exit__(self, *_: object) -> None:
        self._mirror.close()
        self._client.close()

    def nodes(self) -> list[Manifest]:
        """All nodes; nobody may change them."""
        return self._mirror.all("Node")

    def ready_nodes(self) -> set[str]:
        """The nodes that pods can be bound to: Ready, and without a taint of Kubernetes' own."""
        return {body["metadata"]["name"] for body in self.nodes() if _ready(body)}

    def pods(self, namespace: str, **labels: str) -> list[Manifest]:
        """The pods of a namespace with these labels; nobody may change them."""
        return [
            body
            for body in self._mirror.all("Pod")
            if body["metadata"]["namespace"] == namespace
            and labels.items() <= body["metadata"].get("labels", {}).items()
        ]

    def pod(self, namespace: str, name: str) -> Manifest | None:
        """One pod, or None."""
        return self._mirror.get("Pod", name, namespace)

    def bound(self, namespace: str, **labels: str) -> dict[str, str]:
        """The node of each bound pod of a namespace with these labels."""
        return {
            body["metadata"]["name"]: body["spec"]["nodeName"]
            for body in self.pods(namespace, **labels)
            if "nodeName" in body["spec"]
        }

    def refused(self, namespace: str) -> dict[str, str]:
        """The scheduler's message on each pod that it has tried in vain."""
        return {
            body["metadata"]["name"]: why
            for body in self.pods(namespace)
            if "nodeName" not in body["spec"] and (why := _refusal(body))
        }

    def binds(self, namespace: str) -> list[Bind]:
        """Every bind that there ever was in a namespace, of pods that are gone too, in order."""
        with self._mirror.changed:
            return list(self._binds[namespace])

    def deletions(self, namespace: str) -> list[Deletion]:
        """Every pod that went from a namespace, in order."""
        with self._mirror.changed:
            return list(self._deletions[namespace])

    def until(self, what: str, done: Callable[[], T], seconds: float = 60.0) -> T:
        """Wait for changes of pods and nodes until ``done()`` is true; what it then gives.

        Raises TimeoutError that names ``what`` and the pods that wait.
        """
        if found := self.within(seconds, done):
            return found
        raise self.late(what, seconds)

    def within(self, seconds: float, done: Callable[[], T]) -> T:
        """Wait as :meth:`until` does; what ``done()`` gave last where it did not get true."""
        deadline = time.monotonic() + seconds
        with self._mirror.changed:
            while not (found := done()) and (left := deadline - time.monotonic()) > 0:
                self._mirror.changed.wait(left)
        return found

    def late(self, what: str, seconds: float) -> TimeoutError:
        """An error that says what has not come within ``seconds``, and which pods wait."""
        said = "\n".join(self._waiting())
        return TimeoutError(f"after {seconds:g} s still waiting for {what}\n{said}")

    def _note(self, kind: str, old: Manifest | None, new: Manifest | None) -> None:
        """Remember a bind or a deletion; the mirror calls it with one change at a time."""
        if kind != "Pod":
            return
        body = new or old
        if body is None:
            return
        metadata = body["metadata"]
        if new is None:
            gone = Deletion(metadata["name"], time.monotonic())
            self._deletions[metadata["namespace"]].append(gone)
        elif "nodeName" in new["spec"] and (old is None or "nodeName" not in old["spec"]):
            bind = Bind(metadata["name"], new["spec"]["nodeName"], time.monotonic())
            self._binds[metadata["namespace"]].append(bind)

    def _waiting(self) -> Iterator[str]:
        """The first pods that are not bound, with what is said of them."""
        pending = [body for body in self._mirror.all("Pod") if "nodeName" not in body["spec"]]
        yield f"{len(pending)} pods are not bound, {len(self.ready_nodes())} nodes are ready"
        for body in pending[:_SHOWN]:
            metadata = body["metadata"]
            yield f"{metadata['namespace']}/{metadata['name']}: {_refusal(body) or 'not tried'}"
            yield from (f"  {line}" for line in self._events(metadata))

    def _events(self, metadata: Manifest) -> list[str]:
        """The last events of a pod."""
        path = f"/api/v1/namespaces/{metadata['namespace']}/events"
        selector = f"fieldSelector=involvedObject.name%3D{metadata['name']}"
        try:
            found = self._client.request("GET", f"{path}?{selector}")["items"]
        except (ApiError, OSError) as error:
            return [f"no events: {error}"]
        return [f"{each['reason']}: {each.get('message', '')}" for each in found[-_SHOWN:]]


def _refusal(body: Manifest) -> str:
    """The reason why the scheduler has not bound a pod; empty where it has not tried."""
    said = condition(body, "PodScheduled")
    return f"{said['reason']}: {said.get('message', '')}" if said.get("status") == "False" else ""


def _ready(body: Manifest) -> bool:
    taints = body["spec"].get("taints", ())
    troubled = any(each["key"].startswith("node.kubernetes.io/") for each in taints)
    return condition(body, "Ready").get("status") == "True" and not troubled
