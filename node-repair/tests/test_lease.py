"""Who leads, and what a leader that was paused may still do."""

from collections.abc import Mapping
from http import HTTPStatus
from typing import Any

import pytest
from node_repair.cluster import CHANGE_SECONDS, Cluster, ClusterError
from node_repair.lease import RENEW_SECONDS, SECONDS, Lease, LeaseLost


class Api(Cluster):
    """An API server with one Lease, and the time; ``takes`` is how long each request takes."""

    def __init__(self) -> None:
        self.now = self.takes = 0.0
        self.lease: dict[str, Any] | None = None
        self.versions = 0

    def monotonic(self) -> float:
        return self.now

    def request(
        self,
        method: str,
        path: str,  # noqa: ARG002
        body: dict[str, Any] | None = None,
        query: Mapping[str, str | int] | None = None,  # noqa: ARG002
    ) -> dict[str, Any]:
        self.now += self.takes
        if method == "GET":
            if self.lease is None:
                raise ClusterError("none", HTTPStatus.NOT_FOUND)
            return self.lease
        assert body is not None
        there = self.lease["metadata"]["resourceVersion"] if self.lease else None
        if body["metadata"].get("resourceVersion") != there:
            raise ClusterError("conflict", HTTPStatus.CONFLICT)
        self.versions += 1
        spec = {**body["spec"], "renewTime": str(self.versions)}
        metadata = {**body["metadata"], "resourceVersion": str(self.versions)}
        self.lease = {**body, "spec": spec, "metadata": metadata}
        return self.lease


@pytest.fixture
def api(monkeypatch: pytest.MonkeyPatch) -> Api:
    found = Api()
    monkeypatch.setattr("node_repair.lease.time.monotonic", found.monotonic)
    return found


def pair(api: Api) -> tuple[Lease, Lease]:
    """The leader, and one that waits."""
    one, two = (Lease(api, "space", "turns", name) for name in ("one", "two"))
    assert one.hold() and not two.hold()
    return one, two


def lost(lease: Lease) -> bool:
    try:
        lease.check()
    except LeaseLost:
        return True
    return False


def test_a_leader_goes_on_while_nobody_else_has_led(api: Api) -> None:
    one, two = pair(api)
    for _ in range(9):
        api.now += RENEW_SECONDS + 1
        one.check()
        assert not two.hold()
    assert lost(two)
    # Even late, where nobody took its place.
    api.now += 10 * SECONDS
    one.check()


@pytest.mark.parametrize("ended", ["leads", "released", "expired", "deleted"])
def test_a_leader_that_was_paused_does_not_go_on_after_another_one(api: Api, ended: str) -> None:
    """Whatever became of the other one's term: the first one's decisions are from before it."""
    one, two = pair(api)
    api.now += SECONDS + 1
    assert two.hold()
    if ended == "released":
        two.release()
    elif ended == "expired":
        api.now += 10 * SECONDS
    elif ended == "deleted":
        api.lease = None
    assert lost(one) and lost(one)
    # A new round decides anew.
    if ended in ("released", "deleted"):
        assert one.hold() and not lost(one)


def test_one_that_has_lost_does_not_release_another_ones_lease(api: Api) -> None:
    one, two = pair(api)
    api.now += SECONDS + 1
    assert two.hold()
    one.release()
    assert api.lease is not None and api.lease["spec"]["holderIdentity"] == "two"
    two.release()
    assert one.hold()


def test_a_renewal_that_takes_too_long_ends_the_round(api: Api) -> None:
    one, _ = pair(api)
    api.now += RENEW_SECONDS + 1
    api.takes = RENEW_SECONDS + 1.0
    assert lost(one)


def test_no_change_is_under_way_when_another_one_may_lead() -> None:
    assert RENEW_SECONDS + CHANGE_SECONDS < SECONDS
