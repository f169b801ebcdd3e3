"""Leadership by a Lease: one replica acts, and each change is made under it.

The official client (36) elects by ConfigMaps alone, and its elector leads in a thread that never
learns that its time is over. Here the leader asks before each change: within ``RENEW_SECONDS`` of a
renewal it just goes on, later it renews what it wrote last; where anybody has written since, its
round is over. A change takes ``CHANGE_SECONDS`` at most. Others wait for longer than both
(``SECONDS``), from when they saw the last renewal, so that no clock is compared with another's.
"""

import time
from datetime import UTC, datetime
from http import HTTPStatus

from node_repair.cluster import Cluster, ClusterError, Json
from node_repair.names import DOMAIN
from node_repair.state import part, text

SECONDS = 60
RENEW_SECONDS = 20
GOOD = f"{DOMAIN}/good"
"""Annotation of the Lease: when the leader's last good round ended, as seconds, so that those that
wait are not ready either while its rounds fail."""


class LeaseLost(ClusterError):
    """Another replica leads."""


class Lease:
    """The Lease ``name`` of a namespace, as the replica ``identity`` sees it."""

    def __init__(self, cluster: Cluster, namespace: str, name: str, identity: str) -> None:
        self.good = 0
        """End of the leader's last good round, in seconds since 1970."""
        self._cluster, self._identity = cluster, identity
        self._path = f"/apis/coordination.k8s.io/v1/namespaces/{namespace}/leases"
        self._name = name
        self._seen: tuple[str, str] = "", ""
        self._since = self._renewed = -1e9
        self._version = ""
        """Of the Lease as this replica wrote it last; empty where it does not lead."""

    def hold(self) -> bool:
        """Take or renew the Lease if nobody else leads: what was decided before may be out of date.
        Raises ClusterError without an answer."""
        asked = time.monotonic()
        self._version = ""
        found = self._cluster.get(f"{self._path}/{self._name}")
        spec = part(found, "spec")
        holder, renewed = text(spec, "holderIdentity"), text(spec, "renewTime")
        if (holder, renewed) != self._seen:
            self._seen, self._since = (holder, renewed), asked
        if holder not in ("", self._identity):
            good = text(part(found, "metadata", "annotations"), GOOD)
            self.good = int(good) if good.isdecimal() else 0
            if asked - self._since < SECONDS:
                return False
        version = text(part(found, "metadata"), "resourceVersion")
        return self._write(version, self._identity)

    def check(self) -> None:
        """Raise LeaseLost unless this replica leads, now and while the next change is made, and has
        led without a break since ``hold``."""
        asked = time.monotonic()
        if self._version and asked - self._renewed <= RENEW_SECONDS:
            return
        if not self._version or not self._write(self._version, self._identity):
            raise LeaseLost("another replica leads, or has led")
        if time.monotonic() - asked > RENEW_SECONDS:
            raise LeaseLost("the Lease was renewed too slowly")

    def release(self) -> None:
        """Let another replica lead at once."""
        if self._version:
            self._write(self._version, "")
            self._version = ""

    def _write(self, version: str, holder: str) -> bool:
        """Write the Lease in place of ``version``, or make it where that is empty; False where
        somebody else has written it, or deleted it."""
        asked = time.monotonic()
        self._version = ""
        metadata: Json = {"name": self._name, "annotations": {GOOD: str(self.good)}}
        spec = {
            "holderIdentity": holder,
            "leaseDurationSeconds": SECONDS,
            "renewTime": datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ"),
        }
        body: Json = {"apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "spec": spec}
        if version:
            metadata["resourceVersion"] = version
        method, path = ("PUT", f"{self._path}/{self._name}") if version else ("POST", self._path)
        try:
            written = self._cluster.request(method, path, {**body, "metadata": metadata})
        except ClusterError as error:
            gone = version and error.status == HTTPStatus.NOT_FOUND
            if gone or error.status == HTTPStatus.CONFLICT:
                return False
            raise
        self._version = text(part(written, "metadata"), "resourceVersion")
        self._renewed = asked
        return True
