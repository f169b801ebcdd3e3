"""Consequences of a change of a cache's settings for its users, and the text on one not applied."""

from typing import Any

import pytest

from components.object_cache.effects.consequences import consequences
from preview.differences.compare import compare
from preview.verdict.object_cache import consequences as told
from schemas.facts.site import Site
from tests.kit.object_cache_changes import BUCKETS, side, site, unnamed, without


def clauses(before: Site, after: Site) -> list[str]:
    return [
        each.clause
        for each in consequences(before.file.cache, after.file.cache, before.cache_servers())
    ]


@pytest.mark.parametrize(
    ("changed", "says"),
    [
        ({"buckets": BUCKETS[:1]}, "bucket open ends"),
        # 1 of 4 Ti, and 1 of 2 Ti.
        ({"buckets": [{**BUCKETS[0], "quota": "1Ti"}, BUCKETS[1]]},
         "bucket vision keeps at most 25 % of what it could"),
        ({"capacity": "1Ti"}, "each server keeps at most 50 % of what it could"),
        ({"audience": "other"}, "tokens of running pods are refused until the pods restart"),
        ({"service": "store"}, "running pods do not find the cache until they restart"),
        ({"namespace": "caches"}, "running pods do not find the cache until they restart"),
        ({"server": {"port": 8082}},
         "objects are misses until their servers have restarted at another port"),
        ({"server": {"user": 1000}}, "servers may not read what they stored as user 65532"),
        ({"buckets": [BUCKETS[0], {**BUCKETS[1], "namespaces": []}]},
         "bucket open: every pod that shows a token may write it"),
        ({"buckets": [BUCKETS[0], {**BUCKETS[1], "public": False}]},
         "bucket open: pods of biology and vision may read it"),
    ],
)  # fmt: skip
def test_what_users_feel_is_said(changed: dict[str, Any], says: str) -> None:
    assert clauses(site(capacity="2Ti"), site(**{"capacity": "2Ti", **changed})) == [says]


@pytest.mark.parametrize(
    "changed",
    [
        {"capacity": "3Ti"},
        {"buckets": [*BUCKETS, {**BUCKETS[1], "name": "more"}]},
        {"buckets": [{**BUCKETS[0], "quota": "8Ti"}, BUCKETS[1]]},
        {"buckets": BUCKETS[::-1]},
        {"server": {"cpu": "2"}},
        {"token_seconds": 7200},
    ],
)
def test_what_users_do_not_feel_is_not_said(changed: dict[str, Any]) -> None:
    assert clauses(site(capacity="2Ti"), site(**{"capacity": "2Ti", **changed})) == []


def test_a_cache_that_ends_is_said_once_and_one_that_comes_is_not() -> None:
    assert clauses(site(), without()) == ["the cache ends: every object is a miss"]
    assert clauses(without(), site()) == []


def preview_of(before: Site, after: Site) -> list[tuple[str, bool]]:
    change = compare("osaka-1", side(before), side(after))
    return [(each.clause, each.applied) for each in told(change)]


def hosts(of: Site) -> int:
    return sum(of.replicas(pool) for pool in of.file.pools)


def test_of_a_cache_that_is_not_applied_restarts_are_told_too() -> None:
    servers = sum(site().replicas(pool) for pool in site().cache_pools())
    before, after = site(), site({"cpu": "2"})
    assert preview_of(before, after) == []  # the verdicts of hosts say it
    assert preview_of(unnamed(before), unnamed(after)) == [
        (f"restarts pods on {servers} hosts", False)
    ]
    assert preview_of(unnamed(before), unnamed(without())) == [
        ("the cache ends: every object is a miss", False),
        (f"stops pods for good on {hosts(before)} hosts", False),
    ]


def test_a_cluster_that_is_named_with_the_change_ends_nothing() -> None:
    assert preview_of(unnamed(site()), site(audience="other")) == []
