"""The share of keys that the preview states, held against a real Envoy with what a site makes.

Forty real servers, and an Envoy with the bootstrap and the endpoints of the site before the change
and after it: each key is asked for on both sides, and those that another server answers count.
"""

from pathlib import Path

import pytest

from components.object_cache.effects.moved import CacheMove, cache_move
from components.object_cache.service import FILE, endpoint_text
from preview.differences.compare import compare
from schemas.facts.site import Site
from schemas.model.object_cache import TABLE_SIZE
from tests.kit.envoy import NEEDS_ENVOY, Envoy, Upstreams, ask
from tests.kit.object_cache_changes import side
from tests.kit.object_cache_site import PREFIX, cache_of, of_hosts, on_loopback, routed

pytestmark = [NEEDS_ENVOY, pytest.mark.slow, pytest.mark.cache, pytest.mark.proof]

FORTY = [f"tokyo-1-{n:03}" for n in range(40)]
KEYS = [f"{PREFIX}vision/s3://store/bucket/train/{n:06}.jpg" for n in range(6_000)]
AT_ONCE = {
    "common_lb_config": {"healthy_panic_threshold": {"value": 50}, "update_merge_window": "0s"}
}
"""By itself Envoy tells its workers up to a second later which hosts are healthy
(envoy.config.cluster.v3.Cluster.CommonLbConfig.update_merge_window): a test would ask too early."""
DEVIATIONS = 5
"""Of a sample: chance goes beyond once in two million runs, and the keys are always the same."""


def stated(before: Site, after: Site) -> CacheMove:
    found = cache_move(compare(before.name, side(before), side(after)))
    assert found is not None
    return found


def holds(share: float, before: list[str], after: list[str]) -> None:
    """The share that was counted is that which was stated, but for chance."""
    counted = sum(a != b for a, b in zip(before, after, strict=True)) / len(before)
    bound = DEVIATIONS * (share * (1 - share) / len(before)) ** 0.5
    assert counted == pytest.approx(share, abs=bound)
    assert bound < share / 2 or share == 0  # else the bound would say nothing


def answers(envoy: Envoy, hosts: int, size: int = TABLE_SIZE) -> list[str]:
    """Who answers each key, once the table is that of so many healthy hosts."""
    envoy.until("cluster.cache.membership_healthy", hosts)
    envoy.until("cluster.cache.maglev_lb.min_entries_per_host", size // hosts)
    return ask(envoy.ports["objects"], KEYS)


@pytest.mark.parametrize(
    "left",
    [
        pytest.param(FORTY[:17] + FORTY[18:], id="one host leaves"),
        pytest.param(FORTY[5:], id="five leave"),
    ],
)
def test_an_envoy_moves_the_stated_share_of_keys(tmp_path: Path, left: list[str]) -> None:
    before, after = of_hosts(FORTY), of_hosts(left)
    with (
        Upstreams(FORTY) as nodes,
        routed(before, nodes.ports, tmp_path, AT_ONCE) as (envoy, mount),
    ):
        first = answers(envoy, len(FORTY))
        mount.write({FILE: on_loopback(endpoint_text(after, cache_of(after)), nodes.ports)})
        second = answers(envoy, len(left))
        holds(stated(before, after).moved, first, second)
        assert set(second) == set(left)
        mount.write({FILE: on_loopback(endpoint_text(before, cache_of(before)), nodes.ports)})
        holds(stated(after, before).moved, second, answers(envoy, len(FORTY)))


def test_envoys_with_another_table_move_the_stated_share_of_keys(tmp_path: Path) -> None:
    before, after = of_hosts(FORTY), of_hosts(FORTY, table_size=65_537)
    with (
        Upstreams(FORTY) as nodes,
        routed(before, nodes.ports, tmp_path / "before", AT_ONCE) as (one, _),
        routed(after, nodes.ports, tmp_path / "after", AT_ONCE) as (other, _),
    ):
        sides = answers(one, len(FORTY)), answers(other, len(FORTY), 65_537)
        holds(stated(before, after).moved, *sides)
